/** The input of a plan of removals as it would be after a person's changes. Nothing is edited in place. */
import { podName, type NodeGroupId, type NodeName } from '../../../domain/ids.ts';
import type { NodeGroup, NodeGroupOptions } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { ClusterView, CloudView, Observation } from '../../../domain/observation.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import type { Policy } from '../../../domain/policy.ts';
import { CPU } from '../../../domain/resources.ts';
import type { BudgetDemand, DisruptionBudget } from '../../../domain/workloads.ts';
import { matchesSelector } from '../../../domain/labels.ts';
import { compareText } from '../../../lib/comparison.ts';
import { withFork } from '../../../scheduling/snapshot/snapshot.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { Change } from '../fix.ts';
import { isOf, isRemovalChange, type RemovalChange, type Workload } from '../removal-changes.ts';
import { changeShape } from '../advice/apply-changes.ts';
import { withoutRepulsion } from '../advice/repelling-pods.ts';
import type { RemovalInput } from './after-removals.ts';
import type { RemovalSimulator } from './simulate-removals.ts';

type ChangeOf<Kind extends RemovalChange['kind']> = Extract<RemovalChange, { readonly kind: Kind }>;

interface RemovalChanges {
  readonly changes: readonly Change[];
  /** Whose pods get the changes that are not of one workload by themselves. */
  readonly workload: Workload | undefined;
}

/** undefined: what the changes add finds no place, such as further replicas on nodes that are full. */
export function applyRemovalChanges(
  input: RemovalInput,
  { changes, workload }: RemovalChanges,
  simulator: RemovalSimulator,
): RemovalInput | undefined {
  let changed: RemovalInput | undefined = input;
  for (const change of changes) {
    if (changed === undefined) return undefined;
    changed = isRemovalChange(change) ? applyOne(changed, change, simulator) : withShapes(changed, change, workload);
  }
  return changed;
}

function applyOne(input: RemovalInput, change: RemovalChange, simulator: RemovalSimulator): RemovalInput | undefined {
  switch (change.kind) {
    case 'scale-workload':
      return withReplicas(input, change, simulator.modelOf(input));
    case 'relax-budget':
      return withBudgets(input, (budget) => (isNamed(budget, change) ? demanding(budget, change.to) : budget));
    case 'delete-budget':
      return withBudgetList(
        input,
        input.observation.cluster.disruptionBudgets.filter((budget) => !isNamed(budget, change)),
      );
    case 'add-budget':
      return withBudgetList(input, [...input.observation.cluster.disruptionBudgets, newBudget(input, change)]);
    case 'annotate-workload':
      return withPods(input, change.workload, (pod) => annotated(pod, change.key, change.value));
    case 'own-pod':
      return withPods(input, change.workload, (pod) => ({ ...pod, controller: { kind: 'Job', name: pod.name, uid: '' } }));
    case 'delete-pod':
      return withoutPod(input, change);
    case 'drop-repulsion':
      return withCluster(input, ({ podsByNode }) => ({ podsByNode: withoutRepulsion(podsByNode, change.workload, change.topologyKey) }));
    case 'lower-minimum':
      return withGroup(input, change.group, (group) => ({ ...group, minSize: change.to }));
    case 'raise-threshold': {
      const key = change.devices ? 'gpuUtilizationThreshold' : 'utilizationThreshold';
      return withOptions(input, change.group, { [key]: change.to });
    }
    case 'ignore-daemon-sets':
      return withOptions(input, change.group, { ignoreDaemonSetsUtilization: true });
    case 'set-removal-setting':
      return { ...input, policy: withSetting(input.policy, change) };
    case 'remove-node-annotation':
      return withNode(input, change.node, ({ disabledBecause: _why, ...node }) => ({ ...node, scaleDownDisabled: false }));
    case 'uncordon-node':
      return withNode(input, change.node, (node) => ({ ...node, unschedulable: false }));
    case 'unprotect-instance':
      return withGroup(input, change.group, (group) => withoutProtection(group, change));
  }
}

function withCluster(input: RemovalInput, edit: (cluster: ClusterView) => Partial<ClusterView>): RemovalInput {
  const { observation } = input;
  return { ...input, observation: { ...observation, cluster: { ...observation.cluster, ...edit(observation.cluster) } } };
}

/** Lists of nodes without such pods keep their identity: the model of the cluster reads only the others again. */
function withPods(input: RemovalInput, workload: Workload, edit: (pod: Pod) => Pod): RemovalInput {
  return withCluster(input, ({ podsByNode }) => {
    const changed = [...podsByNode].flatMap(([name, pods]) =>
      pods.some((pod) => isOf(pod, workload)) ? [[name, pods.map((pod) => (isOf(pod, workload) ? edit(pod) : pod))] as const] : [],
    );
    return { podsByNode: new Map([...podsByNode, ...changed]) };
  });
}

function withoutPod(input: RemovalInput, gone: ChangeOf<'delete-pod'>): RemovalInput {
  return withCluster(input, ({ podsByNode }) => {
    const [node, pods = []] = [...podsByNode].find(([, all]) => all.some((pod) => podName(pod) === podName(gone))) ?? [];
    const left = pods.filter((pod) => podName(pod) !== podName(gone));
    return node === undefined ? {} : { podsByNode: new Map([...podsByNode, [node, left]]) };
  });
}

/** A change of the pod template, of those that help pods that are pending. */
function withShapes(input: RemovalInput, change: Change, workload: Workload | undefined): RemovalInput | undefined {
  if (workload === undefined) return undefined;
  const shapes = new Map<PodShape, PodShape>();
  return withPods(input, workload, (pod) => {
    const shape = shapes.get(pod.shape) ?? changeShape(pod.shape, [change], input.names);
    shapes.set(pod.shape, shape);
    return { ...pod, shape };
  });
}

const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
const LOCAL_VOLUMES = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';

function annotated(pod: Pod, key: string, value: string | undefined): Pod {
  if (key === SAFE_TO_EVICT) return { ...pod, safeToEvict: value === 'true' ? 'true' : undefined };
  if (key === LOCAL_VOLUMES) return { ...pod, safeToEvictVolumes: (value ?? '').split(',') };
  return key === 'karpenter.sh/do-not-disrupt' ? { ...pod, doNotDisrupt: false } : pod;
}

/** The new pods are ready, where kube-scheduler is likely to place them: on the nodes that are used least, even if these are to go. */
function withReplicas(
  input: RemovalInput,
  { workload, from, to }: ChangeOf<'scale-workload'>,
  model: ClusterSnapshot,
): RemovalInput | undefined {
  const { cluster } = input.observation;
  const sample = [...cluster.podsByNode.values()].flat().find((pod) => isOf(pod, workload));
  if (sample === undefined) return undefined;
  const added = placeCopies({ sample, from, to }, cluster, model);
  if (added === undefined) return undefined;
  const podsByNode = new Map(cluster.podsByNode);
  for (const pod of added) podsByNode.set(pod.nodeName, [...(podsByNode.get(pod.nodeName) ?? []), pod]);
  const withAll = withCluster(input, () => ({ podsByNode, ...scaledOwners(cluster, workload, to) }));
  return withBudgets(withAll, (budget) => (selects(budget, sample) ? grown(budget, to - from) : budget));
}

type PlacedPod = Pod & { readonly nodeName: NodeName };

function placeCopies(
  { sample, from, to }: { readonly sample: Pod; readonly from: number; readonly to: number },
  { nodes, podsByNode }: ClusterView,
  model: ClusterSnapshot,
): readonly PlacedPod[] | undefined {
  const open = [...nodes.values()].filter(({ unschedulable, readiness }) => !unschedulable && readiness.ready);
  const shares = new Map(open.map((node) => [node.name, usedShare(node, podsByNode.get(node.name) ?? [])]));
  const emptiest = open.sort(
    (left, right) => (shares.get(left.name) ?? 0) - (shares.get(right.name) ?? 0) || compareText(left.name, right.name),
  );
  return withFork(model, () => {
    const added: PlacedPod[] = [];
    for (let at = from; at < to; at++) {
      const copy = { ...sample, uid: `${sample.uid} copy ${at}`, name: `${sample.name} copy ${at}` };
      const nodeName = emptiest.find(({ name }) => model.check(copy, name).length === 0)?.name;
      if (nodeName === undefined) return undefined;
      model.addPod({ ...copy, nodeName }, nodeName);
      added.push({ ...copy, nodeName });
    }
    return added;
  });
}

function usedShare({ allocatable }: Node, pods: readonly Pod[]): number {
  return pods.reduce((sum, { shape }) => sum + (shape.requests[CPU] ?? 0), 0) / Math.max(1, allocatable[CPU] ?? 0);
}

function scaledOwners({ owners }: ClusterView, { namespace, controller = '' }: Workload, desired: number): Pick<ClusterView, 'owners'> {
  const key = controller.replace(' ', ` ${namespace}/`);
  return owners?.has(key) === true ? { owners: new Map([...owners, [key, { exists: true, desired }]]) } : {};
}

function withBudgetList(input: RemovalInput, disruptionBudgets: readonly DisruptionBudget[]): RemovalInput {
  return withCluster(input, () => ({ disruptionBudgets }));
}

function withBudgets(input: RemovalInput, edit: (budget: DisruptionBudget) => DisruptionBudget): RemovalInput {
  return withBudgetList(input, input.observation.cluster.disruptionBudgets.map(edit));
}

function isNamed({ namespace, name }: DisruptionBudget, change: { readonly namespace: string; readonly budget: string }): boolean {
  return namespace === change.namespace && name === change.budget;
}

export function selects({ namespace, selector }: DisruptionBudget, pod: Pod): boolean {
  return namespace === pod.namespace && selector !== undefined && matchesSelector(selector, pod.shape.labels);
}

const ONE_UNAVAILABLE: BudgetDemand = { kind: 'maxUnavailable', value: 1 };

/** The demand that lets one pod be unavailable, in the form that the budget has: a number stays a number, a percentage a percentage. */
export function relaxed({ demand, expectedPods }: Pick<DisruptionBudget, 'demand' | 'expectedPods'>): BudgetDemand {
  if (demand?.kind !== 'minAvailable') return ONE_UNAVAILABLE;
  const required = Math.max(0, expectedPods - 1);
  const isShare = typeof demand.value === 'string' && demand.value.endsWith('%');
  return { kind: 'minAvailable', value: isShare ? `${Math.floor((100 * required) / Math.max(1, expectedPods))}%` : required };
}

/** The budget with so many more pods, all of them healthy. */
export function grown(budget: DisruptionBudget, more: number): DisruptionBudget {
  const expectedPods = budget.expectedPods + more;
  const wider = { ...budget, expectedPods, currentHealthy: budget.currentHealthy + more };
  return demanding(wider, budget.demand ?? { kind: 'minAvailable', value: budget.desiredHealthy });
}

/** As the disruption controller computes it: percentages are rounded up. */
function demanding(budget: DisruptionBudget, demand: BudgetDemand): DisruptionBudget {
  const { neverAllows: _never, ...rest } = budget;
  const { expectedPods, currentHealthy } = budget;
  const pods = typeof demand.value === 'number' ? demand.value : countOf(demand.value, expectedPods);
  const desiredHealthy = Math.max(0, demand.kind === 'minAvailable' ? pods : expectedPods - pods);
  return { ...rest, demand, desiredHealthy, disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy) };
}

function countOf(written: string, expectedPods: number): number {
  const value = Number.parseInt(written, 10);
  return written.endsWith('%') ? Math.ceil((value * expectedPods) / 100) : value;
}

function newBudget({ observation }: RemovalInput, { namespace, name, labels }: ChangeOf<'add-budget'>): DisruptionBudget {
  const requirements = Object.entries(labels).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] }));
  const empty = {
    namespace,
    name,
    selector: { requirements },
    disruptionsAllowed: 0,
    expectedPods: 0,
    currentHealthy: 0,
    desiredHealthy: 0,
  };
  const selected = [...observation.cluster.podsByNode.values()].flat().filter((pod) => selects(empty, pod));
  return demanding(
    { ...empty, expectedPods: selected.length, currentHealthy: selected.filter(({ ready }) => ready).length },
    ONE_UNAVAILABLE,
  );
}

function withGroup(input: RemovalInput, id: NodeGroupId, edit: (group: NodeGroup) => NodeGroup): RemovalInput {
  const { observation } = input;
  const cloud: CloudView = {
    ...observation.cloud,
    groups: observation.cloud.groups.map((group) => (group.id === id ? edit(group) : group)),
  };
  return { ...input, observation: { ...observation, cloud } satisfies Observation };
}

function withOptions(input: RemovalInput, id: NodeGroupId, options: NodeGroupOptions): RemovalInput {
  return withGroup(input, id, (group) => ({ ...group, options: { ...group.options, ...options } }));
}

function withNode(input: RemovalInput, name: NodeName, edit: (node: Node) => Node): RemovalInput {
  return withCluster(input, ({ nodes }) => ({ nodes: new Map([...nodes].map(([key, node]) => [key, key === name ? edit(node) : node])) }));
}

function withoutProtection(group: NodeGroup, { instance }: ChangeOf<'unprotect-instance'>): NodeGroup {
  const instances = group.instances?.map((each) => {
    const { protectedFrom: _guard, ...open } = each;
    return each.key === instance ? open : each;
  });
  return { ...group, instances };
}

function withSetting(policy: Policy, { setting, to }: ChangeOf<'set-removal-setting'>): Policy {
  const key = setting.replace('scaleDown.', '');
  const value = key === 'minMemoryTotalGib' && typeof to === 'number' ? { minMemoryTotalBytes: to * 2 ** 30 } : { [key]: to };
  return { ...policy, scaleDown: { ...policy.scaleDown, ...value } };
}
