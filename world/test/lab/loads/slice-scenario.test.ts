import { describe, expect, it } from 'vitest';
import type { LoadEvent, LoadPool, Scenario } from '../../../lab/loads/load.ts';
import { sliceScenario } from '../../../lab/loads/slice-scenario.ts';

const POOL: LoadPool = { name: 'a', vmSize: 'Standard_D4s_v5', count: 2, min: 1, max: 5 };
const POD = { containers: [{}] };
const OTHER_POD = { containers: [{ requests: { cpu: '1' } }] };

function sliced(events: readonly LoadEvent[], fromMs = 100, durationMs = 50): Scenario {
  const scenario: Scenario = {
    name: 's',
    startMs: 1_000,
    durationMs: 1_000,
    currency: 'USD',
    pools: [POOL],
    workloads: [{ id: 'w', name: 'w', namespace: 'n', kind: 'Deployment', pod: POD }],
    events,
  };
  return sliceScenario(scenario, { fromMs, durationMs });
}

const replicas = (atMs: number, count: number): LoadEvent => ({ kind: 'replicas', atMs, workload: 'w', count });

describe('a window of a scenario', () => {
  it.each<{ what: string; events: readonly LoadEvent[]; expected: readonly LoadEvent[] }>([
    { what: 'the last replicas before it', events: [replicas(0, 1), replicas(90, 7), replicas(160, 9)], expected: [replicas(0, 7)] },
    {
      what: 'what comes within it, moved',
      events: [replicas(100, 1), replicas(101, 2), replicas(150, 3)],
      expected: [replicas(0, 1), replicas(1, 2)],
    },
    {
      what: 'the rest of a job that runs',
      events: [
        { kind: 'run', atMs: 20, workload: 'w', runMs: 100, count: 3 },
        { kind: 'run', atMs: 20, workload: 'w', runMs: 80 },
      ],
      expected: [{ kind: 'run', atMs: 0, workload: 'w', runMs: 20, count: 3 }],
    },
    {
      what: 'stock that is short',
      events: [
        { kind: 'stock', atMs: 5, vmSize: 'x', zone: '1', count: 0 },
        { kind: 'stock', atMs: 6, vmSize: 'x', zone: '2', count: 0 },
        { kind: 'stock', atMs: 7, vmSize: 'x', zone: '1', count: null },
      ],
      expected: [
        { kind: 'stock', atMs: 0, vmSize: 'x', zone: '1', count: null },
        { kind: 'stock', atMs: 0, vmSize: 'x', zone: '2', count: 0 },
      ],
    },
    {
      what: 'the rest of a refusal, of a failure of a node and of a lost zone',
      events: [
        { kind: 'refusal', atMs: 20, pool: 'a', why: 'quota', forMs: 100 },
        { kind: 'refusal', atMs: 20, pool: 'a', why: 'throttled', forMs: 80 },
        { kind: 'node-failure', atMs: 60, pool: 'a', forMs: 41 },
        { kind: 'node-failure', atMs: 60, pool: 'a' },
        { kind: 'zone-outage', atMs: 50, zone: '1', forMs: 80 },
      ],
      expected: [
        { kind: 'refusal', atMs: 0, pool: 'a', why: 'quota', forMs: 20 },
        { kind: 'node-failure', atMs: 0, pool: 'a', forMs: 1 },
        { kind: 'zone-outage', atMs: 0, zone: '1', forMs: 30 },
      ],
    },
    {
      what: 'stock of Spot VMs beside that of regular ones',
      events: [
        { kind: 'stock', atMs: 5, vmSize: 'x', priority: 'Spot', count: 0 },
        { kind: 'stock', atMs: 6, vmSize: 'x', count: null },
      ],
      expected: [
        { kind: 'stock', atMs: 0, vmSize: 'x', priority: 'Spot', count: 0 },
        { kind: 'stock', atMs: 0, vmSize: 'x', count: null },
      ],
    },
    { what: 'no eviction of the past', events: [{ kind: 'spot-eviction', atMs: 50, pool: 'a', count: 1 }], expected: [] },
  ])('has $what', ({ events, expected }) => {
    expect(sliced(events).events).toEqual(expected);
  });

  it('has the pools and templates of its begin', () => {
    const { pools, workloads, startMs } = sliced([
      { kind: 'pool', atMs: 10, pool: { ...POOL, max: 9, count: 4 } },
      { kind: 'pool', atMs: 11, pool: { ...POOL, name: 'b', count: 4 } },
      { kind: 'pool', atMs: 12, pool: { ...POOL, name: 'c' } },
      { kind: 'pool-removed', atMs: 13, pool: 'c' },
      { kind: 'template', atMs: 14, workload: 'w', pod: OTHER_POD },
    ]);
    expect(pools).toEqual([
      { ...POOL, max: 9, count: 2 },
      { ...POOL, name: 'b', count: 4 },
    ]);
    expect(workloads[0]?.pod).toEqual(OTHER_POD);
    expect(startMs).toBe(1_100);
  });

  it.each([
    { fromMs: 0, durationMs: 2_000, lasts: 1_000 },
    { fromMs: 900, durationMs: 200, lasts: 100 },
    { fromMs: 2_000, durationMs: 200, lasts: 0 },
  ])('from $fromMs for $durationMs lasts $lasts', ({ fromMs, durationMs, lasts }) => {
    expect(sliced([], fromMs, durationMs).durationMs).toBe(lasts);
  });
});
