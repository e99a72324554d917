import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import { afterClockShift } from '../../../src/planning/state/after-restart.ts';
import { emptyLoopState } from '../../../src/planning/state/loop-state.ts';
import { aNode, keyOf, START_MS } from '../../support/builders.ts';

const G = nodeGroupId('g');
const N = aNode({ name: 'n' }).name;

const ASKED = { class: 'c', count: 1, firstAskedAtMs: START_MS };
const PROMISE = {
  difference: { node: 'n', resources: [], labels: [], taints: [], ports: [] },
  nodes: ['n'],
  template: 't',
  model: 'm',
  classes: ['c'],
  sinceMs: START_MS,
  untilMs: START_MS,
  reportedAtMs: START_MS,
};

const FULL: Required<LoopState> = {
  ...emptyLoopState(START_MS),
  stopped: { searched: [], estimateFrom: 3 },
  unneededSince: new Map([[N, START_MS]]),
  unremovable: new Map([[N, { reason: 'BlockedByPod' as const, untilMs: START_MS }]]),
  backoffs: new Map([[G, { untilMs: START_MS, durationMs: 7, lastFailureMs: START_MS, cause: 'x' }]]),
  stockouts: [{ scope: { vmSize: 's' }, code: 'x', sinceMs: START_MS, untilMs: START_MS }],
  increases: new Map([[G, { group: G, nodes: 3, requestedAtMs: START_MS, expectedByMs: START_MS }]]),
  accepted: new Map([[G, [{ nodes: 3, acceptedAtMs: START_MS, joinedAtMs: START_MS, readyAtMs: START_MS, pods: [ASKED] }]]]),
  deleting: new Map([[N, { group: G, instance: keyOf('n'), sinceMs: START_MS }]]),
  broken: new Map([[G, PROMISE]]),
  brokenZones: new Map([[G, PROMISE]]),
  readyTimes: new Map([[G, [90_000]]]),
  asked: new Map([[G, [{ atMs: START_MS, nodes: 2 }]]]),
  lastScaleUpMs: START_MS,
  lastScaleDownMs: START_MS,
  lastScaleDownFailureMs: START_MS,
  groupTimes: new Map([[G, { scaleUpMs: START_MS, scaleDownMs: START_MS, scaleDownFailureMs: START_MS, nodeCameMs: START_MS }]]),
  removals: [START_MS],
  emptyRemovals: [START_MS],
  unregisteredSince: new Map([[keyOf('n'), START_MS]]),
  targets: new Map([[G, 5]]),
  marks: new Map([[N, { sinceMs: START_MS, text: 'x' }]]),
  held: new Map([[G, { kind: 'frozen', reason: 'Upgrading', sinceMs: START_MS }]]),
  requests: { served: true, retries: new Map([['r', { durationMs: 60_000, untilMs: START_MS }]]) },
};

/** Every number of the state that is a time, wherever it stands. */
function timesIn(value: unknown): readonly number[] {
  if (value instanceof Map) return [...value.values()].flatMap(timesIn);
  if (Array.isArray(value)) return value.flatMap(timesIn);
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(timesIn);
  return typeof value === 'number' && value > 1_000_000 ? [value] : [];
}

describe('a wall clock that is set', () => {
  it('moves every time of the state by as much, and nothing else', () => {
    expect(timesIn(FULL).length).toBe(33);
    fc.assert(
      fc.property(fc.integer({ min: -7_200_000, max: 7_200_000 }), (shiftMs) => {
        const moved = Math.abs(shiftMs) < 1_000 ? 0 : shiftMs;
        const after = afterClockShift(FULL, shiftMs);
        expect(timesIn(after)).toEqual(timesIn(FULL).map((atMs) => atMs + moved));
        expect([after.targets, after.backoffs.get(G)?.durationMs, after.increases.get(G)?.nodes]).toEqual([FULL.targets, 7, 3]);
        expect(afterClockShift(after, -moved)).toEqual(FULL);
      }),
    );
  });

  it('that is only kept in step moves nothing', () => expect(afterClockShift(FULL, -999)).toBe(FULL));
});
