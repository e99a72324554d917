import type { Labels } from './labels.ts';
import type { NodeName } from './ids.ts';
import type { Resources } from './resources.ts';
import { hasTaint, TO_BE_DELETED_TAINT, type Taint } from './taints.ts';
import type { NodeDevices } from './devices.ts';
import type { AttachLimits } from './volumes.ts';
import { hasProtectionEnded, PROTECTED, type Protection } from './annotations.ts';

/** A registered node with the fields that decisions read. */
export interface Node extends Protection {
  readonly name: NodeName;
  readonly uid: string;
  /** As spelled by the cluster; empty until the cloud set it. Compare only through an InstanceKey. */
  readonly providerId: string;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  /** `spec.unschedulable`: cordoned. */
  readonly unschedulable: boolean;
  readonly createdAtMs: number;
  readonly deletionAtMs: number | undefined;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly readiness: NodeReadiness;
  /** Volumes that can be attached, by the node's CSINode. */
  readonly attachLimits: AttachLimits;
  /** CSI drivers that the node has not registered, of those that no pod may do without. */
  readonly missingDrivers: readonly string[];
  /** Devices that drivers publish for the node. */
  readonly devices: NodeDevices;
  /** The platform deallocated the node: it is neither running nor gone. */
  readonly suspended: boolean;
  /** Features that its kubelet declares, of those that pods require. */
  readonly declaredFeatures: readonly string[];
  /** Until `protectedUntilMs`, if that is set: see {@link isScaleDownDisabled}. */
  readonly scaleDownDisabled: boolean;
  /** What disabled it, for people. If empty, the annotation named after that. */
  readonly disabledBecause: string;
  /** The suffix of each delay-deletion annotation: who asks to wait before the instance is deleted. */
  readonly delayDeletion: readonly string[];
  /** Who wrote its deletion taint, by the annotation. Empty if the writer left no name. */
  readonly deletionOwner: string;
  /** When its last reimage was sent, or was about to be, by the annotation: milliseconds since the epoch. undefined: none was. */
  readonly reimagedAtMs: number | undefined;
  /** What the autoscaler wrote about why it is not removed. undefined: it has no such annotation. */
  readonly unremovableNote: string | undefined;
  /** undefined: the platform has not announced that it takes the instance back. */
  readonly preemption: Preemption | undefined;
  /** Those that rules about sick nodes name, with a status that they name. */
  readonly conditions: readonly NodeCondition[];
}

/** What a node has of these if nothing is said of it. */
export const UNREMARKABLE = {
  ...PROTECTED,
  attachLimits: {},
  missingDrivers: [],
  devices: { pools: [], incomplete: [], held: [] },
  suspended: false,
  declaredFeatures: [],
  disabledBecause: '',
  delayDeletion: [],
  deletionOwner: '',
  unremovableNote: undefined,
  reimagedAtMs: undefined,
  preemption: undefined,
  conditions: [],
} as const satisfies Partial<Node>;

/** One condition of a node's status. */
export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  /** The reason that its author gives, in one word. Empty if there is none. */
  readonly reason: string;
  /** When it came to this status, by its author: milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Whether the node, or its machine, is being deleted. */
export function isBeingRemoved({ deletionAtMs, taints }: Pick<Node, 'deletionAtMs' | 'taints'>): boolean {
  return deletionAtMs !== undefined || hasTaint(taints, TO_BE_DELETED_TAINT);
}

/** Whether an annotation keeps the node from being removed now. */
export function isScaleDownDisabled(node: Pick<Node, 'scaleDownDisabled' | 'protectedUntilMs'>, nowMs: number): boolean {
  return node.scaleDownDisabled && !hasProtectionEnded(node, nowMs);
}

/** A client by the name under which the API server keeps it. */
export interface FieldWriter {
  readonly manager: string;
  /** Milliseconds since the epoch. undefined: the server did not keep it. */
  readonly atMs: number | undefined;
}

/** Who wrote parts of a node last. undefined: no client did, or it is not known. */
export interface NodeWriters {
  /** The list of taints, as a whole. */
  readonly taints: FieldWriter | undefined;
  readonly cordon: FieldWriter | undefined;
}

/** The announced end of a Spot instance. Milliseconds since the epoch. */
export interface Preemption {
  readonly noticedAtMs: number;
  /** The instance does not end before this time. */
  readonly deadlineMs: number;
  /** The source of the announcement, for messages. */
  readonly notice: string;
}

/** Why a node is not ready that only lacks the devices which its labels promise. The Cluster Autoscaler's name. */
export const RESOURCE_NOT_READY = 'cluster-autoscaler.kubernetes.io/resource-not-ready';

/** Ready by the Cluster Autoscaler's rules: Ready=True, no disk pressure, network available, and none of its taints. */
export interface NodeReadiness {
  readonly ready: boolean;
  readonly sinceMs: number;
  /** Empty if ready. */
  readonly reason: string;
}

/** AKS sets both on a node whose drain failed at an upgrade, if the pool's `undrainableNodeBehavior` is `Cordon`: another node took its place. */
const UPGRADE_STATUS_LABEL = 'kubernetes.azure.com/upgrade-status';
const QUARANTINED = 'Quarantined';

/** Whether AKS left the node aside at an upgrade. It ends when the node is made schedulable again. */
export function isQuarantined({ labels, unschedulable }: Pick<Node, 'labels' | 'unschedulable'>): boolean {
  return unschedulable && labels[UPGRADE_STATUS_LABEL] === QUARANTINED;
}

/** AKS sets it on each Spot node. */
const PRIORITY_LABEL = 'kubernetes.azure.com/scalesetpriority';

export function isSpotNode({ labels }: { readonly labels: Readonly<Record<string, string>> }): boolean {
  return labels[PRIORITY_LABEL] === 'spot';
}
