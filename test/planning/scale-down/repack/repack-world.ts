/** Small clusters for tests of repacking. */
import type { ClusterView } from '../../../../src/domain/observation.ts';
import { DEFAULT_REPACK, NOTHING_REPACKED, type RepackMemory, type RepackPolicy } from '../../../../src/domain/repack.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { REMOVALS_ALONE, makeScaleDownContext, type ScaleDownContext } from '../../../../src/planning/scale-down/plan-context.ts';
import { planRepacks, type RepackDecision } from '../../../../src/planning/scale-down/repack/repack.ts';
import { growablePools } from '../../../../src/planning/scale-down/repack/growable-pools.ts';
import { findRepackCandidates } from '../../../../src/planning/scale-down/repack/repack-candidates.ts';
import { searchRepacks, type FoundSets } from '../../../../src/planning/scale-down/repack/repack-search.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aNode, aPod, aTemplate, resourceNames } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { aState } from '../../../support/state.ts';
import { observe, pool, type World } from '../world.ts';

export interface SmallCluster {
  /** CPU of pods and sizes is in tenths of a core. */
  readonly nodes: readonly { readonly pool: string; readonly pods: readonly number[] }[];
  /** How many nodes each pool may add. */
  readonly most: Readonly<Record<string, number>>;
}

export type Sizes = Readonly<Record<string, { readonly cpu: number; readonly price: number }>>;

const cpuOf = (tenths: number): string => `${tenths * 100}m`;

/** Pools of sizes that have prices of the user. */
export function worldOf({ nodes, most }: SmallCluster, sizes: Sizes): World {
  const counts = new Map<string, number>();
  const named = nodes.map(({ pool: id, pods }) => {
    const index = counts.get(id) ?? 0;
    counts.set(id, index + 1);
    return { id, name: `${id}-${index}`, pods };
  });
  const groups = Object.entries(sizes).map(([id, { cpu }]): NodeGroup => {
    const count = counts.get(id) ?? 0;
    const isSpot = id.startsWith('spot');
    return pool(id, count, {
      maxSize: count + (most[id] ?? 0),
      vmSize: `Standard_${id}`,
      priority: isSpot ? 'Spot' : 'Regular',
      template: aTemplate({ cpu: cpuOf(cpu), memory: '64Gi' }),
    });
  });
  const prices = Object.fromEntries(
    Object.entries(sizes).map(([id, { price }]) => [`standard_${id}${id.startsWith('spot') ? '/spot' : ''}`, price]),
  );
  return {
    groups,
    nodes: named.map(({ id, name }) => aNode({ name, cpu: cpuOf(sizes[id]?.cpu ?? 0), memory: '64Gi' })),
    pods: named.flatMap(({ name, pods }) =>
      pods.map((cpu, index) => aPod({ name: `${name}-pod-${index}`, nodeName: name, cpu: cpuOf(cpu), memory: '1Mi' })),
    ),
    policy: aPolicy({ scaleUp: { prices } }),
  };
}

export function contextOf(world: World, seen: (cluster: ClusterView) => ClusterView = (cluster) => cluster): ScaleDownContext {
  const plain = observe(world);
  const observation = { ...plain, cluster: seen(plain.cluster) };
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const policy = world.policy ?? aPolicy();
  return makeScaleDownContext({
    ...REMOVALS_ALONE,
    observation,
    state: aState(world.state),
    policy,
    names: resourceNames,
    snapshot,
    inSequence: true,
  });
}

/** `seen`: what the loop makes of the view of the cluster. */
export function searchIn(world: World, seen: (cluster: ClusterView) => ClusterView = (cluster) => cluster): FoundSets {
  const context = contextOf(world, seen);
  const { candidates } = finishAtOnce(findRepackCandidates(context));
  return finishAtOnce(
    searchRepacks({ context, candidates, pools: growablePools(context, resourceNames), closed: new Set(), mostAtOnce: Infinity }),
  );
}

export function found(cluster: SmallCluster, sizes: Sizes): FoundSets {
  return searchIn(worldOf(cluster, sizes));
}

export function savedPerHour({ sets }: FoundSets): number {
  return sets.reduce((sum, { saved }) => sum + (saved.perHour ?? 0), 0);
}

export interface Step {
  readonly world: World;
  readonly memory?: RepackMemory;
  readonly afterMs?: number;
  readonly rules?: Partial<RepackPolicy>;
  readonly podsWait?: boolean;
  readonly inhibited?: string;
}

/** One plan of repacks. */
export function step({ world, memory = NOTHING_REPACKED, afterMs = 0, rules = {}, podsWait = false, inhibited }: Step): RepackDecision {
  const seen = observe(world);
  const observation = { ...seen, nowMs: seen.nowMs + afterMs };
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const policy = { ...(world.policy ?? aPolicy()), repack: { ...DEFAULT_REPACK, minScore: 0.5, ...rules } };
  const state = { ...aState(world.state), repacks: memory };
  const context = makeScaleDownContext({ ...REMOVALS_ALONE, observation, state, policy, names: resourceNames, snapshot, inSequence: true });
  return finishAtOnce(planRepacks({ context, names: resourceNames, plan: { unneeded: new Map(), inhibited }, podsWait }));
}
