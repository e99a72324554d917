import { describe, expect, it } from 'vitest';
import type { ScaleUpProgress } from '../../../src/domain/history.ts';
import { anInstance, aNode, aPod, START_MS } from '../../support/builders.ts';
import { aHistory } from '../../support/history.ts';
import { inSequence } from '../../support/loop-report.ts';
import { aRecord, aReport, GROUP, type Look } from './support.ts';

const SECOND = 1_000;
const pending = aPod({ name: 'web' });
const bound = { ...pending, nodeName: 'a-1', unschedulable: undefined };
const machine = (afterMs: number) => anInstance({ node: 'a-1', state: 'creating', firstSeenMs: START_MS + afterMs });
const node = (readyMs?: number) =>
  aNode({
    name: 'a-1',
    createdAtMs: START_MS + 50 * SECOND,
    readiness: { ready: readyMs !== undefined, sinceMs: START_MS + (readyMs ?? 50 * SECOND), reason: '' },
  });

/** Decided at once, accepted after 2 s, created after 42 s, registered after 50 s, ready after 82 s, and bound after 90 s. */
const STORY: readonly Look[] = [
  { pods: [pending], records: [aRecord([pending], 2 * SECOND)] },
  { afterMs: 45 * SECOND, pods: [pending], instances: [machine(42 * SECOND)] },
  { afterMs: 60 * SECOND, pods: [pending], instances: [machine(42 * SECOND)], nodes: [node()] },
  { afterMs: 85 * SECOND, pods: [pending], instances: [machine(42 * SECOND)], nodes: [node(82 * SECOND)] },
  { afterMs: 90 * SECOND, pods: [bound], instances: [machine(42 * SECOND)], nodes: [node(82 * SECOND)] },
];

function after(looks: readonly Look[]) {
  const history = aHistory();
  const next = inSequence();
  for (const look of looks) history.observe(next(aReport(look)));
  return history;
}

function reached({ stages }: ScaleUpProgress): readonly string[] {
  return stages.flatMap(({ stage, atMs, count }) => (atMs === undefined ? [] : [`${stage} ${count} ${(atMs - START_MS) / SECOND}`]));
}

describe('the progress of a scale-up', () => {
  it.each([
    [1, ['decided 1 0', 'accepted 1 2']],
    [2, ['decided 1 0', 'accepted 1 2', 'created 1 42']],
    [3, ['decided 1 0', 'accepted 1 2', 'created 1 42', 'registered 1 50']],
    [4, ['decided 1 0', 'accepted 1 2', 'created 1 42', 'registered 1 50', 'ready 1 82']],
    [5, ['decided 1 0', 'accepted 1 2', 'created 1 42', 'registered 1 50', 'ready 1 82', 'bound 1 90']],
  ])('after %s loops', (loops, stages) => {
    const [progress] = after(STORY.slice(0, loops)).scaleUps();
    expect(progress === undefined ? [] : reached(progress)).toEqual(stages);
    expect(progress?.endedMs).toBe(loops === 5 ? START_MS + 90 * SECOND : undefined);
  });

  it('teaches how long each stage takes', () => {
    const history = after(STORY);
    const stages = Object.fromEntries(history.durations(GROUP).map(({ stage, p50Ms, count }) => [stage, [p50Ms / SECOND, count]]));
    // The pod was unschedulable for 30 s before the loop.
    expect(stages).toEqual({ decided: [30, 1], accepted: [2, 1], created: [40, 1], registered: [8, 1], ready: [32, 1], bound: [8, 1] });
  });

  it('is expected to end as earlier ones did, by the memory of the loop', () => {
    const readyTimes = new Map([[GROUP, [200 * SECOND, 80 * SECOND, 90 * SECOND]]]);
    const history = after([{ records: [aRecord([pending])], state: { readyTimes } }]);
    expect(history.timeToReady(GROUP)).toEqual({ count: 3, p50Ms: 90 * SECOND, p90Ms: 200 * SECOND });
    expect(history.scaleUps()[0]).toMatchObject({ expectedReadyMs: START_MS + 90 * SECOND, lateAfterMs: START_MS + 200 * SECOND });
  });

  it('is compared with earlier starts if it starts stopped instances', () => {
    const outcome = { kind: 'accepted', group: GROUP, target: 2, started: 1 } as const;
    const state = { readyTimes: new Map([[GROUP, [200 * SECOND]]]), startTimes: new Map([[GROUP, [40 * SECOND]]]) };
    const history = after([{ records: [aRecord([pending], 0, outcome)], state }]);
    expect(history.scaleUps()[0]).toMatchObject({ expectedReadyMs: START_MS + 40 * SECOND });
  });

  it('a list that comes after the node does not make the instance younger than its node', () => {
    const history = after([
      { records: [aRecord([pending])], pods: [pending] },
      { afterMs: 210 * SECOND, pods: [pending], instances: [machine(200 * SECOND)], nodes: [node(82 * SECOND)] },
    ]);
    expect(history.durations(GROUP).find(({ stage }) => stage === 'created')?.p50Ms).toBe(50 * SECOND);
  });

  it.each<[string, Look]>([
    ['an instance that was there before', { instances: [machine(-60 * SECOND)] }],
    ['an instance that failed', { instances: [{ ...machine(20 * SECOND), state: 'failed' }] }],
  ])('%s is not part of it', (_, look) => {
    const [progress] = after([
      { records: [aRecord([pending])], pods: [pending] },
      { afterMs: 30 * SECOND, pods: [pending], ...look },
    ]).scaleUps();
    expect(progress?.stages.find(({ stage }) => stage === 'created')?.count).toBe(0);
  });

  it('ends with the failure that Azure reports', () => {
    const error = { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: '' } as const;
    const failed = { kind: 'increase-failed', group: GROUP, requested: 1, error, atMs: START_MS + 9 * SECOND } as const;
    const [progress] = after([
      { records: [aRecord([pending])], pods: [pending] },
      { afterMs: 10 * SECOND, events: [failed] },
    ]).scaleUps();
    expect(progress).toMatchObject({ failure: 'AllocationFailed', endedMs: START_MS + 9 * SECOND });
  });

  it('has no failure if its nodes are ready: a later increase of the group failed', () => {
    const error = { detail: { kind: 'out-of-capacity', scope: {} }, code: 'AllocationFailed', message: '' } as const;
    const failed = { kind: 'increase-failed', group: GROUP, requested: 1, error, atMs: START_MS + 88 * SECOND } as const;
    const ready = { pods: [pending], instances: [machine(42 * SECOND)], nodes: [node(82 * SECOND)] };
    const [later, first] = after([
      ...STORY.slice(0, 3),
      { ...ready, afterMs: 85 * SECOND, records: [aRecord([], 86 * SECOND)] },
      { ...ready, afterMs: 89 * SECOND, events: [failed] },
    ]).scaleUps();
    expect([later?.failure, first?.failure, first?.endedMs]).toEqual(['AllocationFailed', undefined, undefined]);
  });

  it('ends after an hour without its nodes', () => {
    const [progress] = after([
      { records: [aRecord([pending])], pods: [pending] },
      { afterMs: 3_601 * SECOND, pods: [pending] },
    ]).scaleUps();
    expect(progress?.endedMs).toBe(START_MS + 3_601 * SECOND);
  });

  it('learns from the last hundred nodes', () => {
    const history = aHistory();
    const next = inSequence();
    for (let at = 0; at < 150; at++)
      history.observe(next(aReport({ afterMs: at, records: [aRecord([], at + (at < 50 ? 9_000 : 1_000))] })));
    expect(history.durations(GROUP).find(({ stage }) => stage === 'accepted')).toMatchObject({ count: 100, p90Ms: 1_000 });
  });
});
