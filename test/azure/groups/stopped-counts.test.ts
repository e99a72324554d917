/** Whether the count of a VMs pool includes its stopped machines, as the pool shows it. */
import { describe, expect, it } from 'vitest';
import { StoppedCounts, type CountOfSize } from '../../../src/azure/groups/stopped-counts.ts';
import { START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;

/** The count, the machines that run, and those that are stopped. */
type Numbers = readonly [count: number, running: number, stopped: number];

function setUp() {
  const clock = { nowMs: START_MS, now: () => clock.nowMs };
  const counts = new StoppedCounts(clock);
  const read = (
    count: number,
    running: number,
    stopped: number,
    change: Partial<CountOfSize> & { readonly areChanging?: boolean } = {},
  ) => {
    const { areChanging = false, ...size } = change;
    const reading = counts.read('a/size', { count, isAtRest: true, listedAtMs: clock.nowMs, ...size }, { running, stopped, areChanging });
    return reading.known ? (reading.how ?? 'equal') : reading.why;
  };
  return { read, pass: (ms: number) => (clock.nowMs += ms) };
}

describe('the count of a size', () => {
  it.each([
    ['no machine is stopped', 3, 3, 0, 'equal'],
    ['it is that of those that run', 3, 3, 2, 'left-out'],
    ['it is that of all, for the first time', 5, 3, 2, 'AKS counts 5 where 3 run and 2 are stopped, which has not lasted yet'],
    ['it is neither', 4, 3, 2, 'AKS counts 4 where 3 run and 2 are stopped'],
    ['it is above all', 6, 3, 2, 'AKS counts 6 where 3 run and 2 are stopped'],
    ['it is below those that run', 2, 3, 2, 'AKS counts 2 where 3 run and 2 are stopped'],
  ])('shows how stopped ones count, if %s', (_what, count, running, stopped, expected) => {
    expect(setUp().read(count, running, stopped)).toBe(expected);
  });

  it.each([
    ['an operation runs', { isAtRest: false }],
    ['a machine changes', { areChanging: true }],
  ])('shows nothing while %s', (_what, change) => {
    const { read } = setUp();
    expect(read(3, 3, 2, change)).toBe('its pool has not been at rest since one was stopped');
    expect(read(3, 3, 2)).toBe('left-out');
    expect(read(5, 3, 2, change)).toBe('left-out');
  });

  it('includes stopped ones only if a later list shows it, too', () => {
    const { read, pass } = setUp();
    read(5, 3, 2);
    pass(3 * MINUTE);
    expect(read(5, 3, 2, { listedAtMs: START_MS })).toContain('has not lasted yet');
    expect(read(5, 3, 2)).toBe('included');
    expect(read(5, 5, 0)).toBe('included');
  });

  it('that looked as if it included them while a list lacked machines leaves them out', () => {
    const { read, pass } = setUp();
    read(5, 3, 2);
    pass(MINUTE);
    expect(read(5, 5, 2)).toBe('left-out');
  });

  it.each<[string, Numbers, Numbers, string]>([
    ['left-out', [3, 3, 2], [4, 3, 2], 'left-out'],
    ['left-out', [3, 3, 2], [6, 3, 2], 'left-out'],
    ['left-out', [3, 3, 2], [2, 3, 2], 'AKS counts 2 where 3 run and 2 are stopped'],
    ['included', [5, 3, 2], [6, 3, 2], 'included'],
    ['included', [5, 3, 2], [4, 3, 2], 'AKS counts 4 where 3 run and 2 are stopped'],
  ])('that was %s by %j, and is above it by what AKS could not fill (%j), is %s', (_how, first, then, expected) => {
    const { read, pass } = setUp();
    read(...first);
    pass(3 * MINUTE);
    read(...first);
    expect(read(...then)).toBe(expected);
  });

  it('is believed to have changed its form after ten minutes, and nothing is known meanwhile', () => {
    const { read, pass } = setUp();
    read(3, 3, 2);
    expect(read(5, 3, 2)).toContain('has not lasted yet');
    pass(9 * MINUTE);
    expect(read(5, 3, 2)).toContain('has not lasted yet');
    pass(MINUTE);
    expect(read(5, 3, 2)).toBe('included');
  });
});
