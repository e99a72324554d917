/** What is stopped, as our own starts and stops are laid over what Azure showed. */
import { describe, expect, it } from 'vitest';
import type { Row, Seen } from '../../../src/cache/table/row.ts';
import { StoppedInstances, type StopRule } from '../../../src/azure/groups/stopped-instances.ts';
import { projectInstance, type InstanceRow } from '../../../src/azure/rows/scale-set.ts';
import { START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;
const SET = '/subscriptions/s/resourceGroups/mc/providers/Microsoft.Compute/virtualMachineScaleSets/set';
const STOPS: StopRule = { kind: 'stops', max: 10 };

function row(id: string, power: string, { vmId = `vm-${id}`, provisioningState = 'Succeeded' } = {}): Row<InstanceRow> {
  const instanceView = { statuses: [{ code: `PowerState/${power}` }] };
  const value = projectInstance(
    { id: `${SET}/virtualMachines/${id}`, location: 'westeurope', vmId, provisioningState, instanceView },
    'set',
  );
  if (value === undefined) throw new Error('no instance');
  return { key: value.ref.key, scope: 'set', agentId: 'a', value, etag: undefined };
}

function setUp(rule: StopRule = STOPS) {
  const clock = { nowMs: START_MS, now: () => clock.nowMs };
  let seq = 0;
  const rows = new Map<string, Row<InstanceRow>>();
  const seen = new Map<string, Seen>();
  const reads: string[] = [];
  const stopped = new StoppedInstances({
    clock,
    order: { tick: () => (seq += 1) },
    instances: { scope: () => rows, get: (key) => rows.get(key), seen: (key) => seen.get(key), removalOf: () => 'none' },
    ruleOf: () => rule,
    sizeOf: () => undefined,
    readAgain: (group) => reads.push(group),
  });
  /** Azure shows this in a read that begins now. */
  const show = (...shown: readonly Row<InstanceRow>[]): void => {
    seq += 1;
    for (const each of shown) {
      rows.set(each.key, each);
      seen.set(each.key, { restSeq: seq, fencedSeq: seq, existenceSeq: seq, atMs: clock.now(), via: 'list' });
    }
  };
  const states = () => [...rows.values()].map((each) => stopped.stateOf(each));
  return { clock, stopped, show, states, reads };
}

describe('the state of an instance', () => {
  it('is what Azure shows, if nothing of ours is in progress', () => {
    const { show, states, stopped } = setUp();
    show(row('0', 'running'), row('1', 'deallocated'), row('2', 'deallocating'), row('3', 'stopped'));
    expect(states()).toEqual(['up', 'stopped', 'stopped', 'up']);
    expect(stopped.of('set')).toMatchObject({ counted: 2, confirmed: true });
  });

  it('is stopping until a read after the end of the stop, whatever reads from before it show', () => {
    const { show, states, stopped, reads } = setUp();
    const running = row('0', 'running');
    show(running);
    const stop = stopped.begin('stop', 'set', [running]);
    show(running);
    expect(states()).toEqual(['stopping']);
    expect(stopped.of('set')).toMatchObject({ counted: 1, stopped: [] });
    stop.settle('succeeded');
    expect([states(), reads]).toEqual([['stopped'], ['set']]);
    show(row('0', 'deallocated'));
    expect(states()).toEqual(['stopped']);
  });

  it('is starting until a read after the end of the start, which then decides', () => {
    const { show, states, stopped } = setUp();
    const down = row('0', 'deallocated');
    show(down);
    const start = stopped.begin('start', 'set', [down]);
    show(down);
    expect([states(), stopped.of('set').counted]).toEqual([['starting'], 0]);
    start.settle('failed');
    expect(stopped.of('set')).toMatchObject({ counted: 0, confirmed: false });
    show(down);
    expect([states(), stopped.of('set')]).toMatchObject([['stopped'], { counted: 1, confirmed: true }]);
  });

  it('is as before after a refusal, and after half an hour without an end', () => {
    const { show, states, stopped, clock } = setUp();
    const running = row('0', 'running');
    show(running);
    stopped.begin('stop', 'set', [running]).settle('refused');
    expect(states()).toEqual(['up']);
    stopped.begin('stop', 'set', [running]);
    clock.nowMs = START_MS + 31 * MINUTE;
    expect(states()).toEqual(['up']);
  });

  it('is stopped if its start failed, and failed if its creation did', () => {
    const { show, states, stopped } = setUp();
    const down = row('0', 'deallocated');
    show(down);
    stopped.sinceMs(down);
    show(row('0', 'deallocated', { provisioningState: 'Failed' }), row('1', 'deallocated', { provisioningState: 'Failed' }));
    expect(states()).toEqual(['stopped', 'up']);
  });

  it('of another instance under the same number is what Azure shows', () => {
    const { show, states, stopped } = setUp();
    const first = row('0', 'running');
    show(first);
    stopped.begin('stop', 'set', [first]);
    show(row('0', 'running', { vmId: 'another' }));
    expect(states()).toEqual(['up']);
  });

  it('counts nowhere in a group that deletes its nodes', () => {
    const { show, stopped } = setUp({ kind: 'deletes', why: 'a reason' });
    show(row('0', 'deallocated'));
    expect(stopped.of('set')).toMatchObject({ counted: 0, inSize: 0, stopped: [], confirmed: true });
  });
});

describe('starts of a group', () => {
  it('are closed for longer after each failure, and open after a success or a step of the clock', () => {
    const { stopped, clock } = setUp();
    const minutes = Array.from({ length: 4 }, () => stopped.closeStarts('set', 'no').durationMs / MINUTE);
    expect(minutes).toEqual([5, 10, 20, 30]);
    expect(stopped.startClosure('set')).toMatchObject({ message: 'no', failures: 4 });
    clock.nowMs = START_MS + 30 * MINUTE;
    expect(stopped.startClosure('set')).toBeUndefined();
    clock.nowMs = START_MS - 60 * MINUTE;
    expect(stopped.startClosure('set')).toBeUndefined();
    stopped.openStarts('set');
    expect(stopped.closeStarts('set', 'no').durationMs).toBe(5 * MINUTE);
  });
});

describe('an instance that others started', () => {
  const old = { ready: false, sinceMs: START_MS - MINUTE };

  it('is awaited from when this process saw it run, and counts as stopped from then on when it is stopped again', () => {
    const { clock, show, stopped } = setUp();
    show(row('0', 'deallocated'));
    expect(stopped.sinceMs(row('0', 'deallocated'))).toBe(START_MS);
    clock.nowMs += MINUTE;
    show(row('0', 'running'));
    stopped.noteRuns(row('0', 'running'));
    expect([stopped.startedAtMs(row('0', 'running')), stopped.isNodeAbsent(row('0', 'running'), old)]).toEqual([START_MS + MINUTE, true]);
    clock.nowMs += 6 * MINUTE;
    expect(stopped.isNodeAbsent(row('0', 'running'), old)).toBe(false);
    show(row('0', 'deallocated'));
    expect(stopped.sinceMs(row('0', 'deallocated'))).toBe(clock.nowMs);
  });

  it('is another one, if Azure gave its number to a new VM', () => {
    const { show, stopped } = setUp();
    stopped.sinceMs(row('0', 'deallocated'));
    const other = row('0', 'running', { vmId: 'another' });
    show(other);
    stopped.noteRuns(other);
    expect(stopped.startedAtMs(other)).toBeUndefined();
  });

  it.each([
    ['before this process looked', {}, 0, true],
    ['later than that', { sinceMs: START_MS + 1 }, 0, false],
    ['but its node is ready', { ready: true }, 0, false],
    ['and the process is old', {}, 6 * MINUTE, false],
  ])('by an earlier process, %s, is awaited or not', (_what, readiness, ageMs, expected) => {
    const { clock, show, stopped } = setUp();
    show(row('0', 'running'));
    expect(stopped.mayInherit()).toBe(true);
    clock.nowMs += ageMs;
    stopped.noteInherited(row('0', 'running'), { ...old, ...readiness });
    expect(stopped.startedAtMs(row('0', 'running')) !== undefined).toBe(expected);
  });
});
