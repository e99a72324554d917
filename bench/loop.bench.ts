/** One full loop, I/O aside: 1,000 nodes, 30,000 bound pods, 20 groups; quiet, with 500 pods that need nodes, and half idle. */
import type { Node } from '../src/domain/node.ts';
import type { LoopState } from '../src/domain/loop-state.ts';
import type { Observation } from '../src/domain/observation.ts';
import type { Pod } from '../src/domain/pod.ts';
import type { Policy } from '../src/domain/policy.ts';
import { adviseClass, helplessClasses } from '../src/planning/explain/advice/advice.ts';
import { planScaleDown } from '../src/planning/scale-down/plan.ts';
import { planScaleUp } from '../src/planning/scale-up/plan.ts';
import { reduceObservation, reduceScaleDownPlan } from '../src/planning/state/loop-state.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aShape, resourceNames } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import type { BenchRow } from './row.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../src/planning/scale-down/plan-context.ts';
import { aState } from '../test/support/state.ts';

const GROUPS = 20;
const NODES_PER_GROUP = 50;
const PODS_PER_NODE = 30;
const WORKLOADS = 300;
const RUNS = 31;
/** A daemon runs for weeks: what is measured is compiled. */
const WARM_UP = 60;
const REFUSED_CLASSES = 100;

export async function loopBench(): Promise<readonly BenchRow[]> {
  const policy = aPolicy();
  const quiet = observationOf({ podsPerNode: PODS_PER_NODE, pending: 0 });
  const busy = observationOf({ podsPerNode: PODS_PER_NODE, pending: 500 });
  const idle = observationOf({ podsPerNode: PODS_PER_NODE / 3, pending: 0 });
  const refused = withRefusedClasses(quiet);
  const filled = Array.from({ length: RUNS }, () => time(() => new ClusterSnapshot({ names: resourceNames }).sync(quiet.cluster)));
  return [
    { name: 'snapshot filled, 1,000 nodes / 30,000 pods', samples: filled, unit: 'ms' },
    { name: 'loop without news, same cluster', samples: loopsOf(quiet, policy), unit: 'ms' },
    { name: 'loop with 500 pending pods that need new nodes', samples: loopsOf(busy, policy), unit: 'ms' },
    {
      name: `loop with ${REFUSED_CLASSES} classes of pods that all ${GROUPS} groups refuse, with every obstacle`,
      samples: loopsOf(refused, policy),
      unit: 'ms',
    },
    {
      name: 'advice for one class of pods that no group can take, same cluster',
      samples: adviceOf(withRefusedClasses(quiet), policy),
      unit: 'ms',
    },
    { name: 'loop over 1,000 nodes that could all be emptied, 10,000 pods', samples: loopsOf(idle, policy), unit: 'ms' },
  ];
}

function loopsOf(observation: Observation, policy: Policy): readonly number[] {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  let state = aState();
  const loop = (): void => {
    state = oneLoop(observation, state, snapshot, policy);
  };
  for (let count = 0; count < WARM_UP; count++) loop();
  return Array.from({ length: RUNS }, () => time(loop));
}

/** The search for the smallest change that helps, with all its simulations. */
function adviceOf(observation: Observation, policy: Policy): readonly number[] {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const state = reduceObservation(aState(), observation, policy);
  const input = { ...FIRST_PLAN, observation, state, policy, names: resourceNames, snapshot };
  const plan = planScaleUp(input);
  const [helpless] = helplessClasses(plan);
  return helpless === undefined ? [] : Array.from({ length: RUNS }, () => time(() => void adviseClass({ input, plan }, helpless)));
}

/** Everything of a loop that is not I/O. The state is carried from loop to loop, as the daemon does. */
function oneLoop(observation: Observation, before: LoopState, snapshot: ClusterSnapshot, policy: Policy): LoopState {
  const state = reduceObservation(before, observation, policy);
  snapshot.sync(observation.cluster);
  const scaleUp = planScaleUp({ ...FIRST_PLAN, observation, state, policy, names: resourceNames, snapshot });
  const scaleUpPlanned = scaleUp.increases.length > 0;
  const scaleDown = planScaleDown({ ...REMOVALS_ALONE, observation, state, policy, names: resourceNames, snapshot, scaleUpPlanned });
  return reduceScaleDownPlan(state, scaleDown, observation);
}

function observationOf({ podsPerNode, pending }: { readonly podsPerNode: number; readonly pending: number }): Observation {
  const shapes = Array.from({ length: WORKLOADS }, (_, index) =>
    aShape({ cpu: `${50 + (index % 7) * 10}m`, memory: `${64 + (index % 5) * 32}Mi` }),
  );
  const nodes: Node[] = [];
  const pods: Pod[] = [];
  for (let group = 0; group < GROUPS; group++) {
    for (let index = 0; index < NODES_PER_GROUP; index++) {
      const name = `group${group}-${index}`;
      nodes.push(aNode({ name }));
      for (let slot = 0; slot < podsPerNode; slot++) pods.push(podOf(pods.length, shapes, name));
    }
  }
  const large = [aShape({ cpu: '3', memory: '4Gi' })];
  for (let index = 0; index < pending; index++) pods.push(podOf(pods.length, large, undefined));
  const groups = Array.from({ length: GROUPS }, (_, group) => aGroup({ id: `group${group}`, target: NODES_PER_GROUP, maxSize: 100 }));
  return anObservation(groups, aCluster({ nodes, pods }));
}

/** Five pods of each class; each class lacks CPU, memory and a label in every group. */
function withRefusedClasses(observation: Observation): Observation {
  const pendingPods = Array.from({ length: REFUSED_CLASSES }, (_, at) =>
    aShape({ cpu: `${5 + at}`, memory: '64Gi', nodeSelector: { disk: 'ssd' } }),
  ).flatMap((shape, at) => Array.from({ length: 5 }, (__, index) => aPod({ name: `refused-${at}-${index}`, shape })));
  return { ...observation, cluster: { ...observation.cluster, pendingPods } };
}

function podOf(serial: number, shapes: readonly Pod['shape'][], nodeName: string | undefined): Pod {
  const workload = serial % shapes.length;
  const shape = shapes[workload] ?? aShape();
  const controller = { kind: 'ReplicaSet', name: `w${workload}`, uid: `rs-${workload}` };
  return aPod({ name: `pod-${serial}`, shape, controller, ...(nodeName === undefined ? {} : { nodeName }) });
}

function time(action: () => void): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}
