/** Changes that a person could make so that a node can be removed, as data and in words. Where a change is made is in `removal-steps.ts`. */
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { Labels } from '../../domain/labels.ts';
import type { Pod } from '../../domain/pod.ts';
import type { BudgetDemand } from '../../domain/workloads.ts';

/** What a person edits to change pods: a Deployment rather than its ReplicaSet; the pod itself if it has no controller. */
export interface Workload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The controller that its pods name. Absent for a pod without a controller. */
  readonly controller?: string;
}

/** The pods that a budget selects now. */
export interface BudgetCoverage {
  readonly pods: number;
  /** Those that are not of the workload whose pod the budget keeps in place. */
  readonly others: number;
  /** The selector is empty, so every pod of the namespace is selected, also those that come later. */
  readonly wholeNamespace?: true;
}

/** Keys of our configuration, as files spell them, with the value to set. */
export type RemovalSetting =
  | 'scaleDown.enabled'
  | 'scaleDown.unreadyEnabled'
  | 'scaleDown.minCoresTotal'
  | 'scaleDown.minMemoryTotalGib'
  | 'scaleDown.minReplicaCount';

export type RemovalChange =
  | { readonly kind: 'scale-workload'; readonly workload: Workload; readonly from: number; readonly to: number }
  /** The budget allows one pod at a time to be unavailable: `to` takes the place of `from`. Without `from`, its demand is unknown. */
  | {
      readonly kind: 'relax-budget';
      readonly namespace: string;
      readonly budget: string;
      readonly from?: BudgetDemand;
      readonly to: BudgetDemand;
      readonly covers: BudgetCoverage;
    }
  | { readonly kind: 'delete-budget'; readonly namespace: string; readonly budget: string; readonly covers: BudgetCoverage }
  | { readonly kind: 'add-budget'; readonly namespace: string; readonly name: string; readonly labels: Labels }
  /** For all pods of the workload. Without a value, the annotation is removed. */
  | { readonly kind: 'annotate-workload'; readonly workload: Workload; readonly key: string; readonly value?: string }
  /** The pod is created by a controller from now on. */
  | { readonly kind: 'own-pod'; readonly workload: Workload }
  | { readonly kind: 'delete-pod'; readonly namespace: string; readonly name: string }
  /** The workload's pods no longer require to be apart from others by this label. */
  | { readonly kind: 'drop-repulsion'; readonly workload: Workload; readonly topologyKey: string }
  | { readonly kind: 'lower-minimum'; readonly group: NodeGroupId; readonly from: number; readonly to: number }
  /** Shares from 0 to 1. */
  | { readonly kind: 'raise-threshold'; readonly group: NodeGroupId; readonly devices: boolean; readonly from: number; readonly to: number }
  | { readonly kind: 'ignore-daemon-sets'; readonly group: NodeGroupId }
  | { readonly kind: 'set-removal-setting'; readonly setting: RemovalSetting; readonly to: number | boolean }
  | { readonly kind: 'remove-node-annotation'; readonly node: string; readonly key: string }
  | { readonly kind: 'uncordon-node'; readonly node: string }
  | {
      readonly kind: 'unprotect-instance';
      readonly node: string;
      readonly group: NodeGroupId;
      readonly instance: InstanceKey;
      readonly from: 'scale-in' | 'actions';
    };

const KINDS: ReadonlySet<string> = new Set<RemovalChange['kind']>([
  'scale-workload',
  'relax-budget',
  'delete-budget',
  'add-budget',
  'annotate-workload',
  'own-pod',
  'delete-pod',
  'drop-repulsion',
  'lower-minimum',
  'raise-threshold',
  'ignore-daemon-sets',
  'set-removal-setting',
  'remove-node-annotation',
  'uncordon-node',
  'unprotect-instance',
]);

export function isRemovalChange(change: { readonly kind: string }): change is RemovalChange {
  return KINDS.has(change.kind);
}

/** What a person edits to change the pod. A ReplicaSet of a Deployment has the Deployment's name and the hash of the pod template. */
export function workloadOf({ namespace, name, controller, shape }: Pod): Workload {
  if (controller === undefined) return { kind: 'Pod', namespace, name };
  const suffix = `-${shape.labels['pod-template-hash'] ?? ''}`;
  const isDeployment = controller.kind === 'ReplicaSet' && suffix !== '-' && controller.name.endsWith(suffix);
  const owner = isDeployment
    ? { kind: 'Deployment', name: controller.name.slice(0, -suffix.length) }
    : { kind: controller.kind, name: controller.name };
  return { ...owner, namespace, controller: `${controller.kind} ${controller.name}` };
}

export function isOf(pod: Pod, { namespace, name, controller }: Workload): boolean {
  if (pod.namespace !== namespace) return false;
  if (controller === undefined) return pod.controller === undefined && pod.name === name;
  return pod.controller !== undefined && `${pod.controller.kind} ${pod.controller.name}` === controller;
}

export function describeRemovalChange(change: RemovalChange): string {
  switch (change.kind) {
    case 'scale-workload':
      return `run ${change.to} replicas of ${change.workload.namespace}/${change.workload.name}`;
    case 'relax-budget':
      return `let PodDisruptionBudget ${change.namespace}/${change.budget}${describeOthers(change.covers, ',')} allow 1 unavailable pod`;
    case 'delete-budget':
      return `delete PodDisruptionBudget ${change.namespace}/${change.budget}${describeOthers(change.covers, '')}`;
    case 'add-budget':
      return `add a PodDisruptionBudget that allows 1 unavailable pod of ${change.namespace}/${change.name}`;
    case 'annotate-workload':
      return describeAnnotation(change);
    case 'own-pod':
      return `run pod ${change.workload.namespace}/${change.workload.name} as a Deployment, StatefulSet or Job`;
    case 'delete-pod':
      return `delete pod ${change.namespace}/${change.name}, which nothing would create again`;
    case 'drop-repulsion':
      return `make the anti-affinity rule for ${change.topologyKey} of ${change.workload.kind} ${change.workload.namespace}/${change.workload.name} preferred instead of required`;
    case 'lower-minimum':
      return `lower the minimum of ${change.group} from ${change.from} to ${change.to}`;
    case 'raise-threshold':
      return `raise the utilization threshold of ${change.group} from ${percent(change.from)} to ${percent(change.to)}`;
    case 'ignore-daemon-sets':
      return `leave DaemonSet pods out of the utilization of ${change.group}`;
    case 'set-removal-setting':
      return `set ${change.setting} to ${change.to}`;
    case 'remove-node-annotation':
      return `remove the annotation ${change.key} from the node`;
    case 'uncordon-node':
      return `uncordon node ${change.node}, which has room for its pods`;
    case 'unprotect-instance':
      return `remove the protection of its instance from ${change.from === 'scale-in' ? 'scale-in' : 'scale set actions'}`;
  }
}

function describeOthers({ others }: BudgetCoverage, end: ',' | ''): string {
  return others === 0 ? '' : `, which covers ${others} other ${others === 1 ? 'pod' : 'pods'}${end}`;
}

function describeAnnotation({ workload, key, value }: Extract<RemovalChange, { kind: 'annotate-workload' }>): string {
  const of = `${workload.kind} ${workload.namespace}/${workload.name}`;
  return value === undefined ? `remove the annotation ${key} from the pods of ${of}` : `annotate the pods of ${of} with ${key}: "${value}"`;
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}
