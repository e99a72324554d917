/**
 * The workloads by which the Cluster Autoscaler measures itself (its `core/bench` and `estimator` packages), in our words, and the
 * mixed ones. Each runs one plan on a model of its own and returns what the plan did and how many operations it took.
 */
import type { Observation } from '../src/domain/observation.ts';
import type { Pod } from '../src/domain/pod.ts';
import type { Policy } from '../src/domain/policy.ts';
import { makeTemplate } from '../src/planning/scale-up/groups/template-node.ts';
import { finishAtOnce } from '../src/lib/slices.ts';
import { estimate } from '../src/planning/scale-up/packing/estimate.ts';
import { planScaleUp } from '../src/planning/scale-up/plan.ts';
import { groupPods } from '../src/planning/scale-up/pods/equivalence-groups.ts';
import { planScaleDown } from '../src/planning/scale-down/plan.ts';
import { reduceObservation } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { noOperations, type OperationCounts } from '../src/scheduling/snapshot/operation-counts.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aShape, aTemplate, resourceNames } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import { FULL_SIZE, mixedObservation, type MixedSize } from './mixed-world.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../src/planning/scale-down/plan-context.ts';
import { aState } from '../test/support/state.ts';

export interface PeerResult {
  /** New nodes, or nodes that are unneeded. Fewer of these go at once here than upstream, since drains that share a destination take turns. */
  readonly nodes: number;
  readonly operations: OperationCounts;
}

export interface PeerWorkload {
  readonly name: string;
  /** The name of upstream's benchmark without `Benchmark`. For sizes that upstream lacks, CONTRIBUTING.md changes its numbers. */
  readonly rival?: string;
  /** Builds the world; the function that it returns is what is measured. */
  readonly prepare: () => () => PeerResult;
}

export const PEER_WORKLOADS: readonly PeerWorkload[] = [
  { name: 'scale-up: 10,000 pods to 200 nodes', rival: 'RunOnceScaleUp', prepare: () => scaleUp(200) },
  { name: 'scale-up: 50,000 pods to 1,000 nodes', rival: 'RunOnceScaleUp1000', prepare: () => scaleUp(1_000) },
  { name: 'scale-down: 400 nodes, 240 unneeded', rival: 'RunOnceScaleDown', prepare: () => scaleDown(400) },
  { name: 'scale-down: 2,000 nodes, 1,200 unneeded', rival: 'RunOnceScaleDown2000', prepare: () => scaleDown(2_000) },
  { name: 'estimate: 51,000 pods', rival: 'BinpackingEstimate', prepare: estimateOnly },
  { name: 'mixed: a tenth of the full size', prepare: () => mixed({ pods: 2_000, nodes: 500, pools: 10 }) },
  { name: 'mixed: 20,000 pods, 5,000 nodes, 100 pools', prepare: () => mixed(FULL_SIZE) },
];

const NODE = { cpu: '10', memory: '10Gi', pods: '110' } as const;

function scaleUp(nodes: number): () => PeerResult {
  const shape = aShape({ cpu: '200m', memory: '204Mi' });
  const pods = Array.from({ length: nodes * 50 }, () => aPod({ shape }));
  const group = aGroup({ id: 'ng1', target: 0, maxSize: 10_000, template: aTemplate(NODE) });
  return growing(anObservation([group], aCluster({ pods })), aPolicy({ scaleUp: { maxNodesPerScaleUp: 10_000 } }));
}

function mixed(size: MixedSize): () => PeerResult {
  return growing(mixedObservation(size), aPolicy({ scaleUp: { maxNodesPerScaleUp: 10_000, enforceMinSize: false } }));
}

function growing(observation: Observation, policy: Policy): () => PeerResult {
  return () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const state = reduceObservation(aState(), observation, policy);
    const { increases } = planScaleUp({ ...FIRST_PLAN, observation, state, policy, names: resourceNames, snapshot });
    return { nodes: increases.reduce((sum, { from, to }) => sum + to - from, 0), operations: snapshot.operations };
  };
}

/** Each node has 40 pods, which use 40 % of it: they fit on 40 % of the nodes. */
function scaleDown(count: number): () => PeerResult {
  const shape = aShape({ cpu: '100m', memory: '102Mi' });
  const nodes = Array.from({ length: count }, (_, index) => aNode({ name: `ng1-${index}`, ...NODE }));
  const pods = nodes.flatMap(({ name: nodeName }) => Array.from({ length: 40 }, (): Pod => aPod({ nodeName, shape, safeToEvict: 'true' })));
  const observation = anObservation([aGroup({ id: 'ng1', target: count, maxSize: 10_000 })], aCluster({ nodes, pods }));
  const limits = { maxParallel: 2_000, maxParallelDrains: 2_000, maxRemovalsPerWindow: 2_000, delayAfterAddMs: 0, unneededForMs: -1 };
  const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: limits });
  return () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const state = reduceObservation(aState(), observation, policy);
    const plan = planScaleDown({ ...REMOVALS_ALONE, observation, state, policy, names: resourceNames, snapshot, scaleUpPlanned: false });
    return { nodes: plan.unneeded.size, operations: snapshot.operations };
  };
}

function estimateOnly(): () => PeerResult {
  const shapes = [aShape({ cpu: '50m', memory: '100' }), aShape({ cpu: '95m', memory: '190' })];
  const pods = [50_000, 1_000].flatMap((count, index) => Array.from({ length: count }, () => aPod({ shape: shapes[index] ?? aShape() })));
  const group = aGroup({ id: 'ng1', maxSize: 3_000, template: aTemplate({ cpu: '1', memory: '5000', pods: '100' }) });
  const template = makeTemplate(group, group.template ?? aTemplate(), { daemonSets: [] }, new Set());
  return () => {
    const operations = { ...noOperations(), templatesPacked: 1 };
    return { nodes: finishAtOnce(estimate(groupPods(pods, new Map()), template, 3_000, operations)).nodes, operations };
  };
}
