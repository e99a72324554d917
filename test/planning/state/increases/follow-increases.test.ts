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

  it('are forgotten with it after an hour', () => {
    expect(look(two, START_MS + 3_600 * SECOND, [])).toHaveLength(1);
    expect(look(two, START_MS + 3_610 * SECOND, [])).toEqual([]);
  });

  it('belong to one increase at most, and none is lost while an increase misses it', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('increase' as const), nodes: fc.integer({ min: 0, max: 4 }) }),
      fc.record({ kind: fc.constant('arrive' as const), nodes: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('ready' as const), nodes: fc.integer({ min: 1, max: 4 }) }),
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
          if (kind === 'give-back') seen = seen.slice(count);
          if (kind === 'ready') {
            const ready = seen.slice(0, count).map(({ hostName }) => hostName ?? '');
            nodes = ready.map((name) => aNode({ name, createdAtMs: nowMs, readiness: { ready: true, sinceMs: nowMs, reason: '' } }));
          }
          const before = followed;
          followed = look(followed, nowMs, seen, nodes, kind === 'fail' ? 1 : 0);
          const all = followed.flatMap((each) => [...instancesOf(each).keys()]);
          expect(new Set(all).size).toBe(all.length);
          for (const [at, increase] of followed.entries()) {
            expect(instancesOf(increase).size).toBeLessThanOrEqual(increase.nodes);
            // What an increase got stays its own, also after a failure and after the instance is gone.
            expect([...(before[at]?.followed?.instances.keys() ?? [])].every((key) => instancesOf(increase).has(key))).toBe(true);
          }
          const free = seen.filter(({ key }) => !all.includes(key));
          const open = followedIncreases({ increases: new Map([[G, followed]]) }).filter((increase) => missingInstances(increase) > 0);
          expect(open.flatMap(({ answeredAtMs }) => free.filter(({ firstSeenMs }) => firstSeenMs >= answeredAtMs))).toEqual([]);
        }
      }),
      { seed: 27, numRuns: 300 },
    );
  });
});
