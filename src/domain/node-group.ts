import type { InstanceKey, NodeGroupId } from './ids.ts';
import type { Labels } from './labels.ts';
import type { HostPort } from './pod.ts';
import type { Resources } from './resources.ts';
import type { Taint } from './taints.ts';
import type { ErrorKind, SizeFamily } from '../lib/errors.ts';
import type { QuotaDraw } from './quotas-and-prices.ts';
import type { DevicePool } from './devices.ts';
import type { AttachLimits } from './volumes.ts';

export type NodeGroupKind = 'vmss-uniform' | 'vmss-flexible' | 'vms-pool';

/** What the cloud says one instance is doing. `failed` carries why. */
export type InstanceState = 'creating' | 'running' | 'deleting' | 'failed' | 'deallocated' | 'unknown';

export interface Instance {
  readonly key: InstanceKey;
  /** What the node's `spec.providerID` says or will say. */
  readonly providerId: string;
  /** The id that a delete call names. */
  readonly instanceId: string;
  readonly state: InstanceState;
  readonly zone: string | undefined;
  readonly error: { readonly detail: ErrorKind; readonly code: string; readonly message: string } | undefined;
  /** When we first saw it, milliseconds since the epoch. */
  readonly firstSeenMs: number;
  /** When the cloud says that it made it, milliseconds since the epoch. Absent: it does not say. */
  readonly createdAtMs?: number;
  /** Its owner protects it: from being chosen when a group shrinks, or from all that is asked of the group. Absent: it is not. */
  readonly protectedFrom?: 'scale-in' | 'actions';
}

/**
 * A tag of the set; what AKS keeps of the pool; AKS's own doing, by its published rules; the VM size in Azure's list, or by its
 * name alone; a node that was; one that is.
 */
export type TemplateOrigin = 'tag' | 'agent-pool' | 'aks' | 'sku' | 'size-name' | 'learned' | 'live';

export interface TemplateOrigins {
  readonly labels: Readonly<Record<string, TemplateOrigin>>;
  readonly taints: Readonly<Record<string, TemplateOrigin>>;
  readonly capacity: Readonly<Record<string, TemplateOrigin>>;
  readonly allocatable: Readonly<Record<string, TemplateOrigin>>;
}

/** A pod from the kubelet's own manifests: the API only mirrors it, and no scheduler or taint keeps it away. */
export interface StaticPod {
  readonly namespace: string;
  /** Without the node's. */
  readonly name: string;
  readonly requests: Resources;
  readonly hostPorts: readonly HostPort[];
}

/**
 * What nobody can tell of a new node before one was seen: names of labels and of resources, a `*` at the end standing for any
 * rest. That the template lacks them says nothing.
 */
export interface Untold {
  readonly labels: readonly string[];
  readonly resources: readonly string[];
}

/** The node a group *would* add: labels, taints and allocatable included, and where that knowledge came from. */
export interface NodeTemplate {
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
  /** Zones a new node may land in; empty: regional. A template stands for any of them. */
  readonly zones: readonly string[];
  /** Volumes that can be attached, from a living node or from what Azure says of the size. */
  readonly attachLimits?: AttachLimits;
  /** Devices that drivers publish for such a node, from one that was seen. Absent: none is known. */
  readonly devicePools?: readonly DevicePool[];
  /** As in Node. Absent: none, or, of a template from the cloud, not known. */
  readonly declaredFeatures?: readonly string[];
  /** Set, and `devicePools` is not: new nodes are not believed to get their devices, and why. */
  readonly devicesDoubted?: string;
  /** `learned`: from a node that the group had once. */
  readonly source: 'live-node' | 'learned' | 'cloud';
  /** Where each part is known from, by label, taint key and resource. For people; nothing is decided by it. */
  readonly origins?: TemplateOrigins;
  /** What pods of these DaemonSets (`namespace/name`) asked for on a real node where that was more than their DaemonSet says. */
  readonly daemonRequests?: ReadonlyMap<string, Resources>;
  /** What the kubelets of its nodes run by themselves, from a real node. Absent: nothing is known to. */
  readonly staticPods?: readonly StaticPod[];
  /** New nodes are taken to be cordoned: all that is known of the group is a node that is. */
  readonly unschedulable?: true;
  /** Keys of taints that nodes of the group were seen to lose while they start. Absent: none is known beyond those known by name. */
  readonly startupTaints?: readonly string[];
  /** Absent: everything that matters is known. */
  readonly untold?: Untold;
  /** What may go otherwise than planned on such a node, as sentences for people. Absent: nothing is known to. */
  readonly cautions?: readonly string[];
  /** What the node takes of the quotas of its region; absent: not known. */
  readonly draws?: readonly QuotaDraw[];
}

/**
 * The target size: what Azure was asked for, our unconfirmed changes included. Unknown is not a number.
 * `version` is opaque to everyone but the adapter; a write hands it back and is refused when it is no longer true.
 */
export type TargetSize =
  | { readonly known: true; readonly value: number; readonly version: string; readonly confirmed: boolean; readonly observedAtMs: number }
  | { readonly known: false; readonly reason: string };

/** Per-group overrides of the policy, from tags or configuration. */
export interface NodeGroupOptions {
  readonly utilizationThreshold?: number;
  /** Of nodes with GPUs. */
  readonly gpuUtilizationThreshold?: number;
  readonly ignoreDaemonSetsUtilization?: boolean;
  readonly unneededForMs?: number;
  readonly unreadyForMs?: number;
  readonly maxProvisionMs?: number;
  /** For how long a new node that is not ready counts as starting. */
  readonly maxStartupMs?: number;
  /** The group is of use only as a whole: it grows to its maximum in one write, and its nodes go together or not at all. */
  readonly zeroOrMax?: boolean;
  /** Of a zero-or-max group: what did come up is kept when the rest did not. */
  readonly keepsPartOfMax?: boolean;
}

/** One pool, as frozen in an Observation. */
export interface NodeGroup {
  readonly id: NodeGroupId;
  readonly kind: NodeGroupKind;
  readonly minSize: number;
  readonly maxSize: number;
  readonly target: TargetSize;
  /** undefined: the list of instances has never been read. */
  readonly instances: readonly Instance[] | undefined;
  /** Milliseconds since the epoch of the list that `instances` came from. */
  readonly instancesObservedAtMs: number | undefined;
  readonly template: NodeTemplate | undefined;
  readonly vmSize: string;
  readonly priority: 'Regular' | 'Spot';
  /** The hardware that sizes share, and how much of it one takes. Absent: not known. */
  readonly sizeFamily?: SizeFamily;
  readonly zones: readonly string[];
  readonly options: NodeGroupOptions;
  /** Set: neither grown nor shrunk, and why (being deleted, upgrading, unreadable, throttled). */
  readonly frozen: string | undefined;
  /** Set: cannot grow for now, and why; removals are not touched by it. */
  readonly growthHeld?: string;
}

/** Of use only as a whole: its nodes come and go together or not at all. */
export function isWhole({ options }: Pick<NodeGroup, 'options'>): boolean {
  return options.zeroOrMax === true;
}
