import type { Labels } from './labels.ts';
import type { HostPort } from './pod.ts';
import type { Resources } from './resources.ts';
import type { Taint } from './taints.ts';
import type { QuotaDraw } from './quotas-and-prices.ts';
import type { DevicePool } from './devices.ts';
import type { AttachLimits } from './volumes.ts';

/**
 * Where a part of a template is known from: a tag of the scale set, the AKS agent pool, the published rules of AKS, the VM size in Azure's
 * list, the name of the size, a former node, or a present node.
 */
export type TemplateOrigin = 'tag' | 'agent-pool' | 'aks' | 'sku' | 'size-name' | 'learned' | 'live';

export interface TemplateOrigins {
  readonly labels: Readonly<Record<string, TemplateOrigin>>;
  readonly taints: Readonly<Record<string, TemplateOrigin>>;
  readonly capacity: Readonly<Record<string, TemplateOrigin>>;
  readonly allocatable: Readonly<Record<string, TemplateOrigin>>;
}

/** A pod from the kubelet's own manifests. The API only mirrors it; schedulers and taints do not affect it. */
export interface StaticPod {
  readonly namespace: string;
  /** Without the node's name. */
  readonly name: string;
  readonly requests: Resources;
  readonly hostPorts: readonly HostPort[];
}

/** A daemon pod that no built-in DaemonSet announces, and that every node of the group has. */
export interface CustomDaemon extends StaticPod {
  /** Kind, API group and uid of the owner; empty if the pod has none. `name` is the owner's, or the pod's without the node's name. */
  readonly owner: string;
}

/**
 * Names of labels and resources that stay unknown until the group has its first node; a final `*` matches any rest. Their absence in the
 * template means nothing.
 */
interface TemplateUnknowns {
  readonly labels: readonly string[];
  readonly resources: readonly string[];
}

/** Where a real node offers less than the template of its group promised, with what runs on every node of the group taken off. */
export interface TemplateDifference {
  /** The node that showed it. */
  readonly node: string;
  /** In the units of resource vectors. `pod` (`namespace/name`) uses `uses` of it and is not in the template; absent if no pod does. */
  readonly resources: readonly {
    readonly resource: string;
    readonly promised: number;
    readonly offered: number;
    readonly pod?: string;
    readonly uses?: number;
  }[];
  /** Labels with another value on the node; `found` is absent if the node does not have the label. */
  readonly labels: readonly { readonly key: string; readonly promised: string; readonly found?: string }[];
  /** Taints of the node that the template does not have. */
  readonly taints: readonly Taint[];
  /** Host ports that pods outside the template use. */
  readonly ports: readonly HostPort[];
  /** Kubelet features that the node does not declare. If absent, none are missing. */
  readonly features?: readonly string[];
  /** Numbers of devices by driver, where the node has fewer. If absent, none are missing. */
  readonly devices?: readonly { readonly driver: string; readonly promised: number; readonly offered: number }[];
  /** CSI drivers that the node did not register. If absent, none are missing. */
  readonly drivers?: readonly string[];
  /** Zones in which no node came, although nodes were requested for pods that need them, and the zone of `node`. If absent, none are known. */
  readonly zones?: { readonly missing: readonly string[]; readonly found: string };
}

/** The node that a group *would* add, labels, taints and allocatable included, with the origin of each part. */
export interface NodeTemplate {
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
  /** Zones that a new node may be in; empty means regional. The template stands for any of them. */
  readonly zones: readonly string[];
  /** How many volumes can be attached, from a live node or from Azure's list of the size. */
  readonly attachLimits: AttachLimits;
  /** CSI drivers that new nodes probably do not get, of those that no pod may do without. */
  readonly missingDrivers: readonly string[];
  /** Devices that drivers publish for such a node, from a node that was seen. Empty if none are known. */
  readonly devicePools: readonly DevicePool[];
  /** No node has shown `devicePools`: a user declares them. */
  readonly devicesDeclared: boolean;
  /** How `devicePools` differ from what a user declares, as a sentence. Empty if they do not. */
  readonly declaredDiffer: string;
  /** As in Node. If empty, there are none, or, in a template from the cloud, they are unknown. */
  readonly declaredFeatures: readonly string[];
  /** If not empty, `devicePools` is: why new nodes probably do not get their devices. */
  readonly devicesDoubted: string;
  /** `learned`: from a node that the group had before. */
  readonly source: 'live-node' | 'learned' | 'cloud';
  /** The origin of each part, by label, taint key and resource. For people only; no decision reads it. */
  readonly origins: TemplateOrigins;
  /** Requests of DaemonSet pods (`namespace/name`) on a real node, where they exceeded those of the DaemonSet. */
  readonly daemonRequests: ReadonlyMap<string, Resources>;
  /** The static pods of the kubelets, from a real node. */
  readonly staticPods: readonly StaticPod[];
  /** Daemon pods that `daemonSets` of the cluster does not announce, from the nodes of the group. */
  readonly customDaemons: readonly CustomDaemon[];
  /** New nodes are assumed to be cordoned: only a cordoned node of the group is known. */
  readonly unschedulable: boolean;
  /** Keys of taints that nodes of the group lost while they started, beside the built-in ones. */
  readonly startupTaints: readonly string[];
  readonly unknowns: TemplateUnknowns;
  /** What may differ from the plan on such a node, as sentences for people. */
  readonly cautions: readonly string[];
  /** A real node offered less than this template promised at first. The parts above are what it offered. undefined: none did. */
  readonly corrected: TemplateDifference | undefined;
  /** How much the node counts against the quotas of its region. Empty if unknown. */
  readonly draws: readonly QuotaDraw[];
  /** The reservations that the node may use, one for each zone that it may be in, by name. */
  readonly reservations: readonly string[];
}

/** The parts of a template while no node and no list of Azure shows anything of them. */
export const NOTHING_SHOWN = {
  attachLimits: {},
  missingDrivers: [],
  devicePools: [],
  devicesDeclared: false,
  declaredDiffer: '',
  declaredFeatures: [],
  devicesDoubted: '',
  origins: { labels: {}, taints: {}, capacity: {}, allocatable: {} },
  daemonRequests: new Map<string, Resources>(),
  staticPods: [],
  customDaemons: [],
  unschedulable: false,
  startupTaints: [],
  unknowns: { labels: [], resources: [] },
  cautions: [],
  corrected: undefined,
  draws: [],
  reservations: [],
} as const satisfies Partial<NodeTemplate>;

/** The zone's number without its region: `westeurope-1` and `1` are the same zone. */
export function zonePart(zone: string): string {
  return zone.slice(zone.lastIndexOf('-') + 1);
}
