import { describe, expect, it } from 'vitest';
import { DAY, HOUR, officeHours } from '../../../lab/loads/generators.ts';
import type { LoadEvent } from '../../../lab/loads/load.ts';
import { parseLine } from '../../../lab/loads/recording-lines.ts';
import { linuxPricePerHour } from '../../../simulator/arm/other/retail-prices.ts';
import { findVmSize } from '../../../simulator/arm/state/vm-sizes.ts';
import { generateScenario, nearestScenario, SCENARIO_NAMES } from '../../../lab/loads/scenario-catalogue.ts';

function scenarioOf(name: string, seed = 1, days?: number) {
  const scenario = generateScenario(name, seed, days);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  return scenario;
}

/** Replicas of a workload at a time. */
function replicasAt(events: readonly LoadEvent[], workload: string, atMs: number): number {
  const before = events.filter((event) => event.kind === 'replicas' && event.workload === workload && event.atMs <= atMs);
  const last = before.at(-1);
  return last?.kind === 'replicas' ? last.count : 0;
}

describe('generated scenarios', () => {
  it.each(SCENARIO_NAMES)('$name is a valid load in order of time', ({ name, days }) => {
    const { events, workloads, pools, durationMs } = scenarioOf(name);
    expect(durationMs).toBe(days * DAY);
    const lines = [
      ...pools.map((pool) => ({ kind: 'start-pool', pool })),
      ...workloads.map((workload) => ({ kind: 'workload', workload })),
      ...events,
    ];
    expect(lines.map((line) => parseLine(JSON.stringify(line))).filter((line) => typeof line === 'string')).toEqual([]);
    const times = events.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect(times.at(-1)).toBeLessThan(durationMs);
    expect(events.filter((event) => 'workload' in event).every((event) => workloads.some(({ id }) => id === event.workload))).toBe(true);
    const listed = pools.map(({ vmSize, priority }) => {
      const size = findVmSize(vmSize);
      return size === undefined ? undefined : linuxPricePerHour(size, priority === 'Spot');
    });
    pools.forEach(({ pricePerHour }, at) => expect(pricePerHour).toBeCloseTo(listed[at] ?? 0, 6));
  });

  it('are the same for the same seed, and differ for another one', () => {
    expect(scenarioOf('ci-bursts', 4)).toEqual(scenarioOf('ci-bursts', 4));
    expect(scenarioOf('ci-bursts', 4).events).not.toEqual(scenarioOf('ci-bursts', 5).events);
  });

  it('shorter ones begin like the long ones', () => {
    const { events } = scenarioOf('office-week', 2);
    const hours = scenarioOf('office-week', 2, 0.25).events;
    expect(hours).toEqual(events.filter(({ atMs }) => atMs < DAY / 4));
  });

  it('follow office hours from Monday to Friday', () => {
    const { events } = scenarioOf('office-week');
    const at = (day: number, hour: number): number => replicasAt(events, 'web', day * DAY + hour * HOUR);
    expect(at(0, 12)).toBeGreaterThan(40);
    expect(at(0, 3)).toBeLessThan(10);
    expect(at(5, 12)).toBeLessThan(20);
    expect([0, 6, 13, 20, 24].map((hour) => Math.round(officeHours(hour * HOUR) * 100) / 100)).toEqual([0, 0, 1, 0, 0]);
  });

  it('lose one zone for a while in an afternoon, and take back Spot VMs for hours', () => {
    for (const seed of [1, 2, 3]) {
      const [outage, ...others] = scenarioOf('zone-outage', seed).events.filter(({ kind }) => kind === 'zone-outage');
      expect(others).toEqual([]);
      expect(outage).toMatchObject({ zone: expect.stringMatching(/^[123]$/) as string });
      expect(outage!.atMs).toBeGreaterThanOrEqual(12 * HOUR);
      expect(outage!.atMs).toBeLessThan(15 * HOUR);
    }
    const spot = scenarioOf('spot-gone', 1).events.filter((event) => event.kind === 'stock');
    expect(spot.length).toBeGreaterThan(2);
    expect(new Set(spot.map(({ priority }) => priority))).toEqual(new Set(['Spot']));
  });

  it('have the same demand with and without a share on regular nodes', () => {
    expect(scenarioOf('spot-shares', 2).events).toEqual(scenarioOf('spot-waves', 2).events);
  });

  it('return stock that was sold out', () => {
    const { events } = scenarioOf('sold-out', 1, 7);
    const left = new Map<string, number | null>();
    for (const event of events) if (event.kind === 'stock') left.set(`${event.vmSize} ${event.zone ?? ''}`, event.count);
    expect(events.filter((event) => event.kind === 'stock' && event.count === 0).length).toBeGreaterThan(10);
    expect([...left.values()].filter((count) => count === null).length).toBeGreaterThan(0);
  });

  it.each([
    { given: 'office-wek', nearest: 'office-week' },
    { given: 'constructor', nearest: undefined },
  ])('$given is not a scenario; the nearest is $nearest', ({ given, nearest }) => {
    expect(generateScenario(given, 1)).toBeUndefined();
    expect(nearestScenario(given)).toBe(nearest);
  });
});
