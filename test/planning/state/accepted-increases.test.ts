import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { AcceptedIncrease, LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { awaitedPods, schedulerWaitMs } from '../../../src/planning/state/accepted-increases.ts';
import { podClass } from '../../../src/planning/state/increases/pods-of-increases.ts';
import { reduceIncrease, reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { aCloud, aCluster, aGroup, anInstance, aNode, anObservation, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { anAcceptedIncrease, aState } from '../../support/state.ts';
import { ownIncreases } from '../../../src/planning/state/increases/increase-records.ts';

const G = nodeGroupId('g');
const policy = aPolicy();
const SECOND = 1_000;
const MINUTE = 60_000;

interface Look {
  readonly target?: number;
  readonly nodes?: readonly Node[];
  readonly pods?: readonly Pod[];
  readonly group?: Partial<NodeGroup>;
}

const groupOf = (target: number, rest: Partial<NodeGroup> = {}): NodeGroup => ({ ...aGroup({ id: 'g', target }), ...rest });

function look(state: LoopState, afterMs: number, { target = 3, nodes = [], pods = [], group }: Look): LoopState {
  const groups = [groupOf(target, group)];
  const cluster = aCluster({ nodes, pods });
  return reduceObservation(state, anObservation(groups, cluster, { nowMs: START_MS + afterMs, cloud: aCloud(groups, cluster) }), policy);
}

function grow(
  state: LoopState,
  afterMs: number,
  { from, to, pods }: { readonly from: number; readonly to: number; readonly pods: readonly Pod[] },
) {
  const increase = { group: G, from, to, version: '"1"', pods, cause: 'pods' as const };
  return reduceIncrease(
    state,
    { increase, outcome: { kind: 'accepted', group: G, target: to }, group: groupOf(from), followed: undefined },
    START_MS + afterMs,
    policy,
  );
}

const entriesOf = (state: LoopState): readonly AcceptedIncrease[] => ownIncreases(state, G);
const awaited = (state: LoopState, afterMs: number) => [...awaitedPods(state, START_MS + afterMs, new Set()).keys()];
const joined = (index: number, afterMs: number, readiness: Partial<Node['readiness']> = {}): Node => {
  const node = aNode({ name: `g-${index}` });
  return { ...node, createdAtMs: START_MS + afterMs, readiness: { ...node.readiness, ...readiness } };
};
const START = look(aState(), 0, { target: 0 });

describe('accepted increases', () => {
  const [big, small, other] = [aPod({ cpu: '3' }), aPod({ cpu: '1' }), aPod({ cpu: '1' })];
  const pods = [big, small, other];

  it('remember their pods by class and uid', () => {
    const state = grow(START, 1, { from: 0, to: 2, pods });
    expect(entriesOf(state)).toEqual([
      anAcceptedIncrease({
        nodes: 2,
        acceptedAtMs: START_MS + 1,
        coming: { nodes: 2, expectedByMs: START_MS + 1 + 15 * MINUTE },
        pods: [
          { class: podClass(big.shape), count: 1, uids: [big.uid] },
          { class: podClass(small.shape), count: 2, uids: [small.uid, other.uid] },
        ],
      }),
    ]);
    expect(awaited(state, 2)).toEqual(pods.map(({ uid }) => uid));
  });

  it('add up, and a pod belongs to the last one that was made for it', () => {
    const first = grow(START, 1, { from: 0, to: 2, pods: [big, small] });
    const second = grow(first, 2, { from: 2, to: 3, pods: [small, other] });
    expect(entriesOf(second).map((entry) => entry.pods.flatMap(({ uids }) => uids))).toEqual([[big.uid], [small.uid, other.uid]]);
  });

  it('remember pods that exist only in plans until all nodes are ready', () => {
    const planned = [
      { ...small, origin: 'expected' as const },
      { ...other, origin: 'buffer' as const },
      { ...big, origin: 'request' as const },
    ];
    const asked = grow(START, 1, { from: 0, to: 1, pods: planned });
    expect(entriesOf(asked)).toMatchObject([{ nodes: 1, pods: [], planned: [small.uid, other.uid, big.uid] }]);
    const unready = look(asked, MINUTE, { target: 1, nodes: [joined(0, MINUTE, { ready: false })] });
    expect(awaited(unready, MINUTE)).toEqual([small.uid, other.uid, big.uid]);
    expect(entriesOf(look(unready, 2 * MINUTE, { target: 1, nodes: [joined(0, MINUTE)] }))).toEqual([]);
  });

  it('give the places of copies to pods that their controllers create, and not to earlier ones', () => {
    const controller = { kind: 'ReplicaSet', name: 'web', uid: 'rs-7' };
    const copies = [1, 2, 3].map((number) => aPod({ uid: `rs-7-${number}`, origin: 'expected', controller }));
    const made = (name: string, afterMs: number): Pod => aPod({ uid: name, name, controller, createdAtMs: START_MS + afterMs });
    const state = grow(START, 0, { from: 0, to: 2, pods: copies });
    const seen = look(state, 20 * SECOND, { pods: [made('before', -5 * SECOND), made('created', 10 * SECOND)] });
    expect(entriesOf(seen)).toMatchObject([{ pods: [{ count: 1, uids: ['created'] }], planned: ['rs-7-1', 'rs-7-2'] }]);
    const all = look(seen, 30 * SECOND, { pods: ['created', 'b', 'c', 'd'].map((name) => made(name, 10 * SECOND)) });
    expect(awaited(all, 30 * SECOND).sort()).toEqual(['b', 'c', 'created']);
  });

  it('forget pods that were bound or deleted, and end with the last node', () => {
    const asked = grow(START, 1, { from: 0, to: 2, pods });
    const part = look(asked, MINUTE, { target: 2, nodes: [joined(0, MINUTE)], pods: [big] });
    expect(entriesOf(part)).toMatchObject([{ pods: [{ count: 1, uids: [big.uid] }] }]);
    const all = look(part, 2 * MINUTE, { target: 2, nodes: [joined(0, MINUTE), joined(1, MINUTE)], pods: [] });
    expect(entriesOf(all)).toEqual([]);
  });

  it('await kube-scheduler from when the last node is ready and has no startup taint', () => {
    const asked = grow(START, 1, { from: 0, to: 1, pods });
    const group = { template: { ...aTemplate(), startupTaints: ['agent'] } };
    const unready = look(asked, MINUTE, { target: 1, nodes: [joined(0, MINUTE, { ready: false })], pods, group });
    expect(entriesOf(unready)[0]).toMatchObject({ joinedAtMs: START_MS + MINUTE });
    expect(awaited(unready, 10 * MINUTE)).toHaveLength(3);
    const tainted = { ...joined(0, MINUTE), taints: [{ key: 'agent', value: '', effect: 'NoSchedule' as const }] };
    const starting = look(unready, 2 * MINUTE, { target: 1, nodes: [tainted], pods, group });
    expect(entriesOf(starting)[0]?.readyAtMs).toBeUndefined();
    const ready = look(starting, 3 * MINUTE, { target: 1, nodes: [joined(0, MINUTE)], pods, group });
    expect(entriesOf(ready)[0]).toMatchObject({ joinedAtMs: START_MS + MINUTE, readyAtMs: START_MS + 3 * MINUTE });
    expect([starting, ready].map(({ readyTimes }) => readyTimes?.get(G))).toEqual([undefined, [3 * MINUTE - 1]]);
    const again = look(ready, 4 * MINUTE, { target: 1, nodes: [joined(0, MINUTE)], pods, group });
    expect(again.readyTimes?.get(G)).toEqual([3 * MINUTE - 1]);
    expect(awaited(ready, 3 * MINUTE + schedulerWaitMs(3) - 1)).toHaveLength(3);
    expect(awaited(ready, 3 * MINUTE + schedulerWaitMs(3))).toEqual([]);
    expect(schedulerWaitMs(3)).toBeLessThan(25 * SECOND);
  });

  it.each([
    ['created', 0, 0, [[2 * MINUTE], undefined]],
    ['created beside started ones', 1, 0, [[2 * MINUTE], undefined]],
    ['all started', 2, 0, [undefined, [2 * MINUTE]]],
    ['all started, by the cloud', 0, 2, [undefined, [2 * MINUTE]]],
    ['created beside one that the cloud started', 0, 1, [[2 * MINUTE], undefined]],
  ])('say how long new nodes and starts take, if they were %s', (_what, started, byCloud, expected) => {
    const increase = { group: G, from: 0, to: 2, version: '"1"', pods: [], cause: 'pods' as const };
    const outcome = { kind: 'accepted', group: G, target: 2, started } as const;
    const asked = reduceIncrease(START, { increase, outcome, group: groupOf(0), followed: undefined }, START_MS, policy);
    const nodes = [joined(0, MINUTE), joined(1, MINUTE)];
    const instances = nodes.map(({ name }, at) => anInstance({ node: name, startedAtMs: at < byCloud ? START_MS + SECOND : START_MS - 1 }));
    const { readyTimes, startTimes } = look(asked, 2 * MINUTE, { target: 2, nodes, group: { instances } });
    expect([readyTimes.get(G), startTimes.get(G)]).toEqual(expected);
  });

  it('are joined in their order: later nodes do not prolong an earlier one', () => {
    const asked = grow(grow(START, 1, { from: 0, to: 1, pods: [big] }), 2, { from: 1, to: 3, pods: [small] });
    const part = look(asked, MINUTE, { nodes: [joined(0, MINUTE)], pods: [big, small] });
    expect(entriesOf(part).map((entry) => entry.readyAtMs)).toEqual([START_MS + MINUTE, undefined]);
    const more = look(part, 2 * MINUTE, { nodes: [joined(0, MINUTE), joined(1, 2 * MINUTE, { ready: false })], pods: [big, small] });
    expect(awaited(more, 2 * MINUTE)).toEqual([small.uid]);
  });

  it('await nothing for their pods once a node failed or was given back', () => {
    const asked = grow(START, 1, { from: 0, to: 2, pods });
    const seen = look(asked, SECOND, { target: 2, pods });
    expect(awaited(seen, SECOND)).toHaveLength(3);
    const error = { code: 'AllocationFailed', message: 'no', detail: { kind: 'out-of-capacity', scope: {} } } as const;
    const instances = [anInstance({ node: 'g-0', state: 'failed', firstSeenMs: START_MS + MINUTE, error })];
    expect(awaited(look(seen, MINUTE, { target: 2, pods, group: { instances } }), MINUTE)).toEqual([]);
    expect(awaited(look(seen, MINUTE, { target: 1, pods }), MINUTE)).toEqual([]);
    expect(awaited(look(seen, 16 * MINUTE, { target: 2, pods }), 16 * MINUTE)).toEqual([]);
  });

  it('find their pods after a restart by class and age', () => {
    const old = [1, 2].map(() => aPod({ cpu: '1', createdAtMs: START_MS }));
    const late = aPod({ cpu: '1', createdAtMs: START_MS + MINUTE });
    const saved = anAcceptedIncrease({ nodes: 2, acceptedAtMs: START_MS + 1, pods: [{ class: podClass(late.shape), count: 3 }] });
    const state = look({ ...START, increases: new Map([[G, [saved]]]), knowsAccepted: true }, 2 * MINUTE, {
      target: 2,
      pods: [late, ...old],
    });
    expect(awaited(state, 2 * MINUTE)).toEqual(old.map(({ uid }) => uid));
  });

  it('of a group that vanished are forgotten', () => {
    const asked = grow(START, 1, { from: 0, to: 2, pods });
    const cluster = aCluster({ pods });
    expect(entriesOf(reduceObservation(asked, anObservation([], cluster, { nowMs: START_MS + MINUTE }), policy))).toEqual([]);
  });
});
