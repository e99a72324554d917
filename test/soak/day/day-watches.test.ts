import { describe, expect, it } from 'vitest';
import type { PodObject } from '../../../world/simulator/cluster/store/objects.ts';
import { PodWaits } from '../../../world/lab/judge/pod-waits.ts';
import { FallbackTimes } from './fallback.ts';
import { HeapGrowth } from './heap-growth.ts';
import { replicasAt, WORKLOADS } from './load.ts';
import { cpuMillisOf } from './pod-cpu.ts';
import { RetryAfterWatch } from './retry-after.ts';

const MINUTE = 60_000;

describe('the watch over Retry-After', () => {
  const request = (at: number, change: object = {}) => ({ at, method: 'GET', path: '/a', route: 'GET a', status: 200, ...change });
  const refused = (at: number) => request(at, { status: 429, retryAfterSeconds: 10 });

  it.each([
    { what: 'again when the time is over', requests: [refused(0), request(10_000)], found: 0 },
    { what: 'again too soon', requests: [refused(0), request(9_999)], found: 1 },
    { what: 'another path', requests: [refused(0), request(5, { path: '/b' })], found: 0 },
    { what: 'another method', requests: [refused(0), request(5, { method: 'PUT' })], found: 0 },
    { what: 'another filter', requests: [refused(0), request(5, { filter: 'x' })], found: 0 },
    { what: 'the same path in other letters', requests: [refused(0), request(5, { path: '/A' })], found: 1 },
    { what: 'a refusal without a time', requests: [request(0, { status: 503 }), request(5)], found: 0 },
    { what: 'a success that names the next poll', requests: [request(0, { retryAfterSeconds: 10 }), request(5)], found: 0 },
  ])('$what: $found', ({ requests, found }) => {
    const watch = new RetryAfterWatch();
    for (const each of requests) watch.record(each);
    expect(watch.violations).toHaveLength(found);
  });

  it('a new process does not know what was said to the one before it', () => {
    const watch = new RetryAfterWatch();
    watch.record(refused(0));
    watch.forget();
    watch.record(request(5));
    expect([watch.violations, watch.refusals]).toEqual([[], 1]);
  });
});

describe('the time to another pool', () => {
  const shown = (atMs: number, failed: number, isWaiting = true) => ({ atMs, failed: new Map([['a', failed]]), isWaiting });

  it('runs from the failed machine to the increase of another pool', () => {
    const times = new FallbackTimes();
    times.look(shown(0, 0));
    times.look(shown(5, 1));
    times.increased('a', 10);
    times.increased('b', 25);
    times.increased('b', 30);
    expect(times.tookMs).toEqual([20]);
  });

  it('runs from the refusal, the first of several', () => {
    const times = new FallbackTimes();
    times.refused('a', 5);
    times.refused('a', 10);
    times.increased('b', 25);
    expect(times.tookMs).toEqual([20]);
  });

  it.each([
    { what: 'nobody waits', looks: [shown(0, 0), shown(5, 1, false)] },
    { what: 'what was short is there in the meantime', looks: [shown(0, 0), shown(5, 1), shown(10, 1, false)] },
    { what: 'the machine failed before', looks: [shown(0, 1, false), shown(5, 1)] },
  ])('does not count when $what', ({ looks }) => {
    const times = new FallbackTimes();
    for (const look of looks) times.look(look);
    times.increased('b', 30);
    expect(times.tookMs).toEqual([]);
  });
});

describe('the waits of pods', () => {
  const pod = (uid: string, nodeName?: string): PodObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, uid, resourceVersion: '1', creationTimestamp: '' },
    spec: {
      containers: [
        { name: 'c', resources: { requests: { cpu: '250m' } } },
        { name: 'd', resources: { requests: { cpu: '2' } } },
      ],
      ...(nodeName === undefined ? {} : { nodeName }),
    },
    status: { phase: 'Pending' },
  });

  it('end when the pod has a node, or goes', () => {
    const waits = new PodWaits();
    waits.record({ type: 'ADDED', object: pod('a') }, 0);
    waits.record({ type: 'MODIFIED', object: pod('a') }, 10);
    waits.record({ type: 'ADDED', object: pod('b') }, 0);
    expect(waits.waiting).toBe(2);
    waits.record({ type: 'MODIFIED', object: pod('a', 'node') }, 2 * MINUTE);
    waits.record({ type: 'MODIFIED', object: pod('a', 'node') }, 3 * MINUTE);
    waits.record({ type: 'DELETED', object: pod('b') }, 4 * MINUTE);
    expect(waits.waiting).toBe(0);
    expect(waits.summary()).toMatchObject({ pods: 2, podMinutes: 6, longestMinutes: 4 });
  });

  it('CPU is read in cores and in millicores', () => expect(cpuMillisOf(pod('a'))).toBe(2_250));
});

describe('the growth of memory', () => {
  const MIB = 1_048_576;
  const HOUR = 3_600_000;
  const grown = (hours: number, perHour: number): number => {
    let atMs = 0;
    const heap = new HeapGrowth(0, () => (50 + (perHour * atMs) / HOUR) * MIB);
    for (; atMs <= hours * HOUR; atMs += HOUR) heap.look(atMs);
    return heap.perHour();
  };

  it.each([
    { hours: 24, perHour: 4, found: 4 },
    { hours: 24, perHour: 0, found: 0 },
    { hours: 4, perHour: 4, found: 0 },
  ])('$perHour MiB in each of $hours hours are reported as $found', ({ hours, perHour, found }) =>
    expect(grown(hours, perHour)).toBeCloseTo(found, 6),
  );
});

describe('the load of a day', () => {
  const day = (seed: number) =>
    WORKLOADS.map((workload) => Array.from({ length: 288 }, (_, index) => replicasAt(seed, workload, index * 5 * MINUTE)));

  it('depends on the seed alone, and moves', () => {
    expect(day(3)).toEqual(day(3));
    expect(day(4)).not.toEqual(day(3));
    for (const replicas of day(3)) expect(new Set(replicas).size).toBeGreaterThan(1);
  });
});
