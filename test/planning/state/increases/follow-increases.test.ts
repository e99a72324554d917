import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { AcceptedIncrease } from '../../../../src/domain/loop-state.ts';
import type { Instance } from '../../../../src/domain/node-group.ts';
import type { Node } from '../../../../src/domain/node.ts';
import { followIncreases, missingInstances } from '../../../../src/planning/state/increases/follow-increases.ts';
import { aCluster, aGroup, anInstance, anObservation, aNode, START_MS } from '../../../support/builders.ts';
import { followedIncreases } from '../../../../src/planning/state/increases/increase-records.ts';
import { withMade } from '../../../support/state.ts';

const G = nodeGroupId('g');
const SECOND = 1_000;

function made(nodes: number, atMs: number, loopId = 1): readonly AcceptedIncrease[] {
  const increase = { group: G, from: 0, to: nodes, version: '"1"', pods: [], cause: 'pods' as const };
  return withMade(new Map(), [{ increase, outcome: { kind: 'accepted', group: G, target: nodes }, atMs }], loopId).get(G) ?? [];
}

/** The increases that are still followed. */
function look(before: readonly AcceptedIncrease[], nowMs: number, seen: readonly Instance[], nodes: readonly Node[] = [], failures = 0) {
  const observation = anObservation([aGroup({ id: 'g', target: seen.length, instances: seen })], aCluster({ nodes }), { nowMs });
  const error = { code: 'AllocationFailed', message: '', detail: { kind: 'out-of-capacity', scope: {} } } as const;
  const events = Array.from({ length: failures }, () => ({ kind: 'increase-failed', group: G, requested: 1, error, atMs: nowMs }) as const);
  const after = followIncreases(new Map([[G, before]]), { ...observation, cloud: { ...observation.cloud, events } });
  return (after.get(G) ?? []).filter(({ followed }) => followed !== undefined);
}

const instance = (name: string, atMs: number, state: Instance['state'] = 'running') => anInstance({ node: name, state, firstSeenMs: atMs });
const instancesOf = ({ followed }: AcceptedIncrease) => followed?.instances ?? new Map();
const keysOf = (increases: readonly AcceptedIncrease[]) => increases.map((each) => instancesOf(each).size);

describe('the instances of an increase', () => {
  const two = [...made(1, START_MS), ...made(2, START_MS + 10 * SECOND, 2)];

  it('are those that came after it, the oldest increase first', () => {
    const at = START_MS + 20 * SECOND;
    const seen = [instance('g-0', START_MS - 60 * SECOND), ...[1, 2, 3, 4].map((number) => instance(`g-${number}`, at))];
    expect(keysOf(look(two, at, seen))).toEqual([1, 2]);
    expect(keysOf(look(two, at, [instance('g-1', START_MS + SECOND), instance('g-2', START_MS + SECOND)]))).toEqual([1, 0]);
  });

  it('are told apart if one loop increased the group twice at one moment', () => {
    const both = [...made(1, START_MS), ...made(2, START_MS)];
    const at = START_MS + SECOND;
    const seen = ['g-1', 'g-2', 'g-3'].map((name) => instance(name, at));
    expect(new Set(both.map(({ followed }) => followed?.id)).size).toBe(2);
    expect(keysOf(look(both, at, seen))).toEqual([1, 2]);
  });

  it('do not include failed ones, and an increase that failed gets no more', () => {
    const at = START_MS + 20 * SECOND;
    expect(keysOf(look(two, at, [instance('g-1', at, 'failed'), instance('g-2', at, 'deleting')]))).toEqual([0, 0]);
    const failed = look(two, at, [], [], 1);
    expect(failed.map(({ followed }) => followed?.failed)).toEqual([true, false]);
    expect(keysOf(look(failed, at, [instance('g-1', at)]))).toEqual([0, 1]);
  });

  it('have their first times, and the same value while nothing is new', () => {
    const at = START_MS + 60 * SECOND;
    const node = (ready: boolean, sinceMs: number) =>
      aNode({ name: 'g-1', createdAtMs: START_MS + 30 * SECOND, readiness: { ready, sinceMs, reason: '' } });
    const first = look(made(1, START_MS), at, [instance('g-1', START_MS + 40 * SECOND)], [node(false, 0)]);
    const stages = { createdAtMs: START_MS + 30 * SECOND, registeredAtMs: START_MS + 30 * SECOND };
    expect([...((first[0] && instancesOf(first[0]).values()) ?? [])]).toEqual([{ ...stages, readyAtMs: undefined }]);
    const second = look(first, at, [instance('g-1', START_MS + 40 * SECOND)], [node(true, START_MS + 50 * SECOND)]);
    expect([...((second[0] && instancesOf(second[0]).values()) ?? [])]).toEqual([{ ...stages, readyAtMs: START_MS + 50 * SECOND }]);
    expect(look(second, at, [instance('g-1', START_MS + 40 * SECOND)], [node(false, at)])[0]).toBe(second[0]);
  });

  describe('that is started after a stop', () => {
    const started = (name: string, startedAtMs: number, state: Instance['state'] = 'running') =>
      anInstance({ node: name, state, firstSeenMs: startedAtMs, createdAtMs: startedAtMs, startedAtMs });
    const readyNode = (name: string, sinceMs: number) =>
      aNode({ name, createdAtMs: START_MS + SECOND, readiness: { ready: true, sinceMs, reason: '' } });
    const first = look(
      made(1, START_MS),
      START_MS + 20 * SECOND,
      [instance('g-1', START_MS + 10 * SECOND)],
      [readyNode('g-1', START_MS + 20 * SECOND)],
    );
    const stops = [...first, ...made(1, START_MS + 600 * SECOND, 2)];

    it.each<[string, number, readonly [number, number]]>([
      ['by a later increase', 600, [1, 1]],
      ['while the requests of a later increase were sent', 570, [1, 1]],
      ['by another writer, long before the later increase', 500, [1, 0]],
    ])('are those of the increase that started them: %s', (_what, seconds, expected) => {
      expect(keysOf(look(stops, START_MS + 610 * SECOND, [started('g-1', START_MS + seconds * SECOND)]))).toEqual(expected);
    });

    it('are those of an increase although none that is still followed had them before', () => {
      const at = START_MS + 5 * SECOND;
      const seen = look(made(1, START_MS), at + SECOND, [started('g-1', at, 'creating')]);
      expect([...instancesOf(seen[0]!).values()]).toEqual([{ createdAtMs: at, registeredAtMs: undefined, readyAtMs: undefined }]);
      const ready = look(seen, at + 90 * SECOND, [started('g-1', at)], [readyNode('g-1', at + 80 * SECOND)]);
      expect([...instancesOf(ready[0]!).values()]).toEqual([{ createdAtMs: at, registeredAtMs: at, readyAtMs: at + 80 * SECOND }]);
    });

    it('are those of the only increase although they were started while its requests were sent', () => {
      expect(keysOf(look(made(1, START_MS), START_MS + SECOND, [started('g-1', START_MS - 30 * SECOND, 'creating')]))).toEqual([1]);
    });

    it('leave what the earlier increase reached as it was, and its place taken', () => {
      const at = START_MS + 600 * SECOND;
      const [earlier, later] = look(
        stops,
        at + 90 * SECOND,
        [started('g-1', at), instance('g-2', at)],
        [readyNode('g-1', at + 80 * SECOND)],
      );
      expect(earlier).toBe(stops[0]);
      expect([...instancesOf(later!).values()].map(({ readyAtMs }) => readyAtMs)).toEqual([at + 80 * SECOND]);
    });
  });

  it('are forgotten with it after an hour', () => {
    expect(look(two, START_MS + 3_600 * SECOND, [])).toHaveLength(1);
    expect(look(two, START_MS + 3_610 * SECOND, [])).toEqual([]);
  });

  it('belong to one increase at most, and none is lost while an increase misses it', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('increase' as const), nodes: fc.integer({ min: 0, max: 4 }) }),
      fc.record({ kind: fc.constant('arrive' as const), nodes: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('ready' as const), nodes: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('start-again' as const), nodes: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('give-back' as const), nodes: fc.integer({ min: 1, max: 2 }) }),
      fc.record({ kind: fc.constant('fail' as const), nodes: fc.constant(1) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let followed: readonly AcceptedIncrease[] = [];
        let seen: readonly Instance[] = [];
        let nodes: readonly Node[] = [];
        let born = 0;
        let nowMs = START_MS;
        for (const { kind, nodes: count } of steps) {
          nowMs += 10 * SECOND;
          if (kind === 'increase') followed = [...followed, ...made(count, nowMs, nowMs)];
          if (kind === 'arrive') seen = [...seen, ...Array.from({ length: count }, () => instance(`g-${(born += 1)}`, nowMs))];
          if (kind === 'start-again')
            seen = seen.map((each, at) => (at < count ? { ...each, firstSeenMs: nowMs, createdAtMs: nowMs, startedAtMs: nowMs } : each));
          if (kind === 'give-back') seen = seen.slice(count);
          if (kind === 'ready') {
            const ready = seen.slice(0, count).map(({ hostName }) => hostName ?? '');
            nodes = ready.map((name) => aNode({ name, createdAtMs: nowMs, readiness: { ready: true, sinceMs: nowMs, reason: '' } }));
          }
          const before = followed;
          followed = look(followed, nowMs, seen, nodes, kind === 'fail' ? 1 : 0);
          // An instance that is started again is another one.
          const all = followed.flatMap((each) => [...instancesOf(each)].map(([key, { createdAtMs }]) => `${key} ${createdAtMs}`));
          expect(new Set(all).size).toBe(all.length);
          for (const [at, increase] of followed.entries()) {
            expect(instancesOf(increase).size).toBeLessThanOrEqual(increase.nodes);
            // What an increase got stays its own, also after a failure and after the instance is gone.
            expect([...(before[at]?.followed?.instances.keys() ?? [])].every((key) => instancesOf(increase).has(key))).toBe(true);
          }
          const free = seen.filter(({ key, firstSeenMs }) => !all.includes(`${key} ${firstSeenMs}`));
          const lost = followedIncreases({ increases: new Map([[G, followed]]) }).flatMap((increase, at, every) =>
            missingInstances(increase) === 0
              ? []
              : free.filter(
                  ({ key, firstSeenMs }) =>
                    firstSeenMs >= increase.answeredAtMs && !every.some(({ instances }, other) => other >= at && instances.has(key)),
                ),
          );
          expect(lost).toEqual([]);
        }
      }),
      { seed: 27, numRuns: 300 },
    );
  });
});
