import type { Labels } from './labels.ts';
import type { HostPort } from './pod.ts';
import type { Resources } from './resources.ts';
import type { Taint } from './taints.ts';
import type { QuotaDraw } from './quotas-and-prices.ts';
import type { DevicePool } from './devices.ts';
import type { AttachLimits } from './volumes.ts';

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
export interface TemplateUnknowns {
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
  readonly untold?: TemplateUnknowns;
  /** What may go otherwise than planned on such a node, as sentences for people. Absent: nothing is known to. */
  readonly cautions?: readonly string[];
  /** What the node takes of the quotas of its region; absent: not known. */
  readonly draws?: readonly QuotaDraw[];
}

/** The zone's number without its region: `westeurope-1` and `1` are the same zone. */
export function zonePart(zone: string): string {
  return zone.slice(zone.lastIndexOf('-') + 1);
}
