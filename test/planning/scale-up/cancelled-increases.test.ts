/** Nodes on their way that nothing needs any more: when they may be deleted, and when that would be a guess. */
import { assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AcceptedIncrease, InstanceStages } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { nodeGroupId, type NodeGroupId } from '../../../src/domain/ids.ts';
import { NOTHING_REPACKED, NOTHING_SAVED, type NodeRoom, type RepackMemory, type RunningRepack } from '../../../src/domain/repack.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { cancellableInstances } from '../../../src/planning/scale-up/cancelled-increases.ts';
import { planScaleDown } from '../../../src/planning/scale-down/plan.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aGroup, aNode, anInstance, aPod, aTemplate, keyOf, resourceNames, START_MS } from '../../support/builders.ts';
import { anAcceptedIncrease } from '../../support/state.ts';
import { casesOf } from '../../support/property-runs.ts';
import { REMOVALS_ALONE } from '../../../src/planning/scale-down/plan-context.ts';
import { inputFor, type World } from './world.ts';

const MINUTE = 60_000;
const stages = (registeredAtMs?: number): InstanceStages => ({ createdAtMs: START_MS - MINUTE, registeredAtMs, readyAtMs: undefined });
const labels = { agentpool: 'a', 'kubernetes.io/os': 'linux' };

/** Three nodes of which `joined` have registered; a minute ago an increase from 1 to 3 was made, whose pods are gone for half a minute. */
function onTheWay(change: Partial<AcceptedIncrease> = {}, group: Partial<NodeGroup> = {}, joined = 1): World {
  const instances = [0, 1, 2].map((at) =>
    anInstance({ node: `a-${at}`, state: at < joined ? 'running' : 'creating', firstSeenMs: START_MS - MINUTE }),
  );
  const followed = {
    id: '1/a',
    to: 3,
    answeredAtMs: START_MS - MINUTE,
    instances: new Map([1, 2].map((at) => [keyOf(`a-${at}`), stages(at < joined ? START_MS - 1_000 : undefined)])),
    started: 0,
    failed: false,
    request: undefined,
  };
  const record = anAcceptedIncrease({
    nodes: 2,
    acceptedAtMs: START_MS - MINUTE,
    podsGoneSinceMs: START_MS - MINUTE / 2,
    coming: { nodes: 3 - joined, expectedByMs: START_MS + 10 * MINUTE },
    followed,
    ...change,
  });
  const template = aTemplate({ cpu: '4', memory: '16Gi', labels });
  const only = { ...aGroup({ id: 'a', target: 3, instances, template }), ...group };
  const nodes = Array.from({ length: joined }, (_, at) => aNode({ name: `a-${at}`, cpu: '4', memory: '16Gi', labels }));
  const busy = nodes.map(({ name }) => aPod({ name: `busy-${name}`, nodeName: name, cpu: '3' }));
  return { groups: [only], nodes, pods: busy, state: { increases: new Map([[only.id, [record]]]), knowsAccepted: true } };
}

function cancelled(world: World, change: Partial<{ cancelIncreases: boolean; enabled: boolean }> = {}) {
  const given = inputFor(world);
  const policy = { ...given.policy, scaleDown: { ...given.policy.scaleDown, cancelIncreases: true, ...change } };
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(given.observation.cluster);
  const input = { ...given, policy, snapshot };
  const plan = planScaleUp(input);
  const cancellable = finishAtOnce(cancellableInstances(input, plan));
  const scaleDown = planScaleDown({ ...REMOVALS_ALONE, ...input, scaleUpPlanned: plan.increases.length > 0, cancellable });
  const removed = scaleDown.instanceRemovals.map(({ instance, cause }) => `${instance.slice(instance.lastIndexOf('|') + 1)} ${cause}`);
  return { cancellable: [...cancellable], removed };
}

const withPods = (world: World, ...pods: NonNullable<World['pods']>): World => ({ ...world, pods: [...(world.pods ?? []), ...pods] });
const withRepacks = (world: World, repacks: Partial<RepackMemory>): World => ({
  ...world,
  state: { ...world.state, repacks: { ...NOTHING_REPACKED, ...repacks } },
});
const adding: RunningRepack = {
  set: { remove: [], add: { group: nodeGroupId('a'), nodes: 2 }, saved: NOTHING_SAVED, pods: 2, disruption: 2, score: 9 },
  stage: 'adding',
  sinceMs: START_MS - 10 * MINUTE,
  stageSinceMs: START_MS - MINUTE,
  before: [],
};
const roomBy = (added: NodeGroupId): NodeRoom => ({
  closure: { untilMs: START_MS + MINUTE, durationMs: MINUTE },
  added,
  failed: undefined,
  why: undefined,
});
const unfollowed = { followed: undefined };
const other = anAcceptedIncrease({ by: 'other', coming: { nodes: 1, expectedByMs: START_MS + MINUTE } });

describe('nodes on their way whose pods are gone', () => {
  it.each<readonly [string, World, readonly string[]]>([
    ['are deleted', onTheWay(), ['a-1 not-needed', 'a-2 not-needed']],
    ['stay once they have joined', onTheWay({}, {}, 2), ['a-2 not-needed']],
    ['stay within the minimum size', onTheWay({}, { minSize: 2 }), ['a-1 not-needed']],
    ['stay for other pods', withPods(onTheWay(), aPod({ cpu: '3' })), []],
    ['stay for headroom', onTheWay({}, { options: { headroom: [{ kind: 'nodes', nodes: 1 }] } }), []],
    ['stay for a repack that adds them', withRepacks(onTheWay(), { running: [adding] }), []],
    ['are deleted once it is undone', withRepacks(onTheWay(), { running: [] }), ['a-1 not-needed', 'a-2 not-needed']],
    ['stay for room that they make', withRepacks(onTheWay(), { rooms: new Map([['n', roomBy(nodeGroupId('a'))]]) }), []],
    ['stay while some of its pods are pending', onTheWay({ podsGoneSinceMs: undefined }), []],
    ['stay while pods may be replaced', onTheWay({ podsGoneSinceMs: START_MS - 5_000 }), []],
    ['stay if an earlier process requested them', onTheWay(unfollowed), []],
    ['stay if some were stopped and started again', onTheWay({ started: 1 }), []],
    ['stay if a part of them failed', onTheWay({ incomplete: true }), []],
    ['stay in a pool whose removals are held', onTheWay({}, { blocks: aGroup({ removalsHeld: 'paused' }).blocks }), []],
    [
      'stay if the size was changed since',
      onTheWay({}, { target: { known: true, value: 4, version: '"2"', confirmed: true, observedAtMs: START_MS } }),
      [],
    ],
    ['stay in an atomic pool', onTheWay({}, { options: { zeroOrMax: true } }), []],
  ])('%s', (_what, world, expected) => {
    expect(cancelled(world).removed).toEqual(expected);
  });

  it('stay beside an increase of another writer, and unless the setting is on', () => {
    const world = onTheWay();
    const records = [...(world.state?.increases?.values() ?? [])].flat();
    const beside = {
      ...world,
      state: { ...world.state, increases: new Map([[world.groups[0]?.id ?? ('' as never), [other, ...records]]]) },
    };
    expect(cancelled(beside).removed).toEqual([]);
    expect(cancelled(world, { cancelIncreases: false }).removed).toEqual([]);
    expect(cancelled(world, { enabled: false }).removed).toEqual([]);
  });

  it('are never nodes, and never below the minimum, whatever has joined and whatever is pending', () => {
    const cases = property(
      record({ joined: integer({ min: 0, max: 3 }), min: integer({ min: 0, max: 3 }), pods: integer({ min: 0, max: 3 }) }),
      ({ joined, min, pods }) => {
        const world = withPods(onTheWay({}, { minSize: min }, joined), ...Array.from({ length: pods }, () => aPod({ cpu: '3' })));
        const { removed } = cancelled(world);
        expect(3 - removed.length).toBeGreaterThanOrEqual(Math.max(min, joined));
        if (pods > 0 && joined < 3) expect(removed).toEqual([]);
      },
    );
    assert(cases, casesOf(30, 20));
  });
});
