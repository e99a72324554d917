import type { DevicePool } from './devices.ts';
import type { GroupBlocks } from './group-blocks.ts';
import type { Headroom } from './headroom.ts';
import type { InstanceKey, NodeGroupId } from './ids.ts';
import type { ErrorKind, SizeFamily } from '../lib/errors.ts';
import type { GroupSchedule, MaintenanceUse } from './schedule-rules.ts';
import type { NodeTemplate } from './node-template.ts';
import type { SickNodeRules } from './repack.ts';

type NodeGroupKind = 'vmss-uniform' | 'vmss-flexible' | 'vms-pool';

/** The state of one instance as the cloud reports it. `failed` comes with an error. */
export type InstanceState = 'creating' | 'running' | 'deleting' | 'failed' | 'deallocated' | 'unknown';

export interface Instance {
  readonly key: InstanceKey;
  /** What the node's `spec.providerID` is or will be. */
  readonly providerId: string;
  /** The id that a delete call needs. */
  readonly instanceId: string;
  readonly state: InstanceState;
  readonly zone: string | undefined;
  readonly error: { readonly detail: ErrorKind; readonly code: string; readonly message: string } | undefined;
  /** The name of the node that it should become. undefined: a node names it as its instance, or it is unknown. */
  readonly hostName: string | undefined;
  /**
   * Distinguishes it from a later instance under the same key: clouds use names again. undefined: a node names it as its instance, or
   * the cloud does not report it.
   */
  readonly uid: string | undefined;
  /** When this process first saw it, milliseconds since the epoch. */
  readonly firstSeenMs: number;
  /** When the cloud created it, milliseconds since the epoch. undefined: the cloud does not report it. */
  readonly createdAtMs: number | undefined;
  /** When it was last started after a stop; both times above are this one then. undefined: not within the last hour. */
  readonly startedAtMs: number | undefined;
  /** Its owner protects it from being chosen on a scale-in, or from all actions on its group. undefined: not protected. */
  readonly protectedFrom: 'scale-in' | 'actions' | undefined;
}

/**
 * The target size: what Azure was asked for, our unconfirmed changes included. Unknown is not a number. `version` is opaque; a write
 * passes it back and is refused if it is outdated.
 */
export type TargetSize =
  | { readonly known: true; readonly value: number; readonly version: string; readonly confirmed: boolean; readonly observedAtMs: number }
  | { readonly known: false; readonly reason: string };

/** How the nodes of one group are drained. Meanings are those of the drain policy and the scale-down policy. */
export interface DrainOptions {
  /** Also limits the grace periods of bands of priorities. 0: no limit. */
  readonly maxGracefulTerminationMs: number;
  readonly evictionTimeoutMs: number;
  readonly evictionRetryMs: number;
  readonly skipNodesWithSystemPods: boolean;
  readonly skipNodesWithLocalStorage: boolean;
  readonly skipNodesWithCustomControllerPods: boolean;
}

/** What holds for one group: what it states itself, else what the policy says of all groups. `optionsOf` finds it. */
export interface GroupOptions extends DrainOptions {
  readonly utilizationThreshold: number;
  /** For nodes with GPUs. */
  readonly gpuUtilizationThreshold: number;
  readonly ignoreDaemonSetsUtilization: boolean;
  readonly unneededForMs: number;
  readonly unreadyForMs: number;
  readonly maxProvisionMs: number;
  /** How long a new node that is not ready counts as starting. */
  readonly maxStartupMs: number;
  /** How long its nodes stay after its own increase or removal, beside the cooldown of all groups. undefined: only that one holds. */
  readonly delayAfterAddMs: number | undefined;
  readonly delayAfterDeleteMs: number | undefined;
  /** How long its nodes stay after a failed removal of its own. */
  readonly delayAfterFailureMs: number;
  /** Its first and its longest backoff. */
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /** Whether its nodes may be repacked. */
  readonly repack: boolean;
  /** Whether pods of its nodes may be moved to make room there. */
  readonly makeRoom: boolean;
}

/** What only a group can state, and what the adapter has its own settings for. */
interface OwnOptions {
  /** How many of its nodes may be removed at once. */
  readonly maxParallelRemovals: number;
  /** Its level for the expander `priority`, in place of that of the priority rules. The highest wins. */
  readonly expanderPriority: number;
  /** An atomic group: it grows to its maximum in one write, and its nodes are removed together or not at all. */
  readonly zeroOrMax: boolean;
  /** For an atomic group: the nodes that came are kept although the others failed. */
  readonly keepsPartOfMax: boolean;
  /** Whether removals keep out of the hours of AKS or to them. If absent, the setting of all groups. */
  readonly maintenance: MaintenanceUse;
  /** Which of its nodes are replaced since they are sick. If absent, none. */
  readonly sickNodes: SickNodeRules;
  /** Room that is kept free on its nodes. If absent, none. */
  readonly headroom: readonly Headroom[];
  /** Whether its nodes are deallocated instead of deleted, where AKS does so too. If absent, the setting of all groups. */
  readonly deallocate: boolean;
  /** Devices of its nodes, until a node has published its own. If absent, none. */
  readonly devices: readonly DevicePool[];
  /** How many of its instances may be deallocated; further ones are deleted. If absent, the setting of all groups. */
  readonly maxStopped: number;
}

/** What tags and the configuration state of one group. A duration that is not stated has no member. */
export type StatedOptions = Partial<GroupOptions & OwnOptions>;

/**
 * What becomes of removed nodes where they are to be deallocated. `stops`: they are stopped, and started before new ones are created.
 * `deletes`: `why` not, in one sentence.
 */
type StoppedInstances =
  | { readonly kind: 'deletes'; readonly why: string }
  | {
      readonly kind: 'stops';
      /** No VM runs. They count neither in the size of the group nor among its instances, and their nodes are not in the cluster's view. */
      readonly instances: readonly StoppedInstance[];
      /** More are deleted; in a VMs pool, nodes stay instead. */
      readonly max: number;
      /** The OS disk of each, which is billed all the time. undefined: unknown. */
      readonly diskGib: number | undefined;
      readonly diskTier: string | undefined;
      /** The name under which the disk has a price, such as `P10 LRS`. undefined: unknown. */
      readonly diskSku: string | undefined;
      /** A start failed: until then, new instances are created instead. undefined: they are started. */
      readonly startsClosed: { readonly untilMs: number; readonly message: string } | undefined;
      /** Of a VMs pool: whether its count includes stopped machines, as it has shown since. If absent, it is a scale set or has not shown it. */
      readonly counts?: { readonly how: 'left-out' | 'included'; readonly sinceMs: number };
    };

export interface StoppedInstance {
  readonly key: InstanceKey;
  /** The name of its node. */
  readonly node: string;
  /** When this process first saw it stopped, milliseconds since the epoch. It may have been stopped for longer. */
  readonly sinceMs: number;
}

/** The instances of the group that are stopped. */
export function stoppedInstances({ stopped }: Pick<NodeGroup, 'stopped'>): readonly StoppedInstance[] {
  return stopped?.kind === 'stops' ? stopped.instances : [];
}

/** How many stopped instances the next increase of the group starts, before it creates any. */
export function startableInstances({ stopped }: Pick<NodeGroup, 'stopped'>): number {
  return stopped?.kind === 'stops' && stopped.startsClosed === undefined ? stopped.instances.length : 0;
}

/**
 * Where a maximum is set: in the configuration or a flag, in a tag of the pool or its scale set, in the rule that selects it, or in the
 * agent pool, for AKS's own autoscaler.
 */
type MaximumOrigin = 'settings' | 'tag' | 'discovery-rule' | 'agent-pool';

/** What AKS has of an agent pool; undefined: unknown. Labels and tags are those that people set; a command of AKS replaces all of them. */
export interface AgentPoolOfGroup {
  readonly name: string;
  readonly count: number | undefined;
  readonly operation: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly tags: Readonly<Record<string, string>> | undefined;
  /** The id of its subnet. undefined: AKS created the network. */
  readonly subnetId: string | undefined;
  /** The node image of the pool. Nodes may have an older or, after an upgrade that was stopped, a newer one. */
  readonly nodeImage: string | undefined;
}

/**
 * The tags with these in place of those of the same name. Azure preserves the case of names but compares without it, and refuses a write
 * with one name in two cases.
 */
export function withTags(
  tags: Readonly<Record<string, string>>,
  changed: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = new Set(Object.keys(changed).map((name) => name.toLowerCase()));
  // guard: a command that replaces all tags has no name in two letter cases
  const kept = Object.entries(tags).filter(([name]) => Object.hasOwn(changed, name) || !names.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...changed };
}

/**
 * How likely Azure says it is that VMs of a Spot size come and stay, the best first. `Restricted`: the subscription cannot have the size
 * there.
 */
export const PLACEMENT_SCORES = ['High', 'Medium', 'Low', 'Restricted'] as const;
export type PlacementScore = (typeof PLACEMENT_SCORES)[number];

/** One pool, as frozen in an Observation. */
export interface NodeGroup {
  readonly id: NodeGroupId;
  readonly kind: NodeGroupKind;
  readonly minSize: number;
  readonly maxSize: number;
  /** The platform's limit of nodes in one pool, if it allows less than the configured maximum: then `maxSize` is what it allows. undefined: it does not. */
  readonly poolLimit: number | undefined;
  /** The configured maximum, if it is above the limit of a whole pool. For people only; no decision reads it. undefined: it is not. */
  readonly configuredMax: number | undefined;
  /** The limit that groups of this name share, and how many nodes it allows beside the targets of all. undefined: the group has its own. */
  readonly sharedPool: { readonly name: string; readonly limit: number; readonly room: number } | undefined;
  /** For people only; no decision reads it. undefined: unknown. */
  readonly maxFrom: MaximumOrigin | undefined;
  /** The agent pool, AKS's own count of it, and AKS's operation in progress (`Upgrading`). Decisions read its node image alone. undefined: unknown. */
  readonly agentPool: AgentPoolOfGroup | undefined;
  readonly target: TargetSize;
  /** undefined: the list of instances was never read. */
  readonly instances: readonly Instance[] | undefined;
  /** When the list in `instances` was read, milliseconds since the epoch. */
  readonly instancesObservedAtMs: number | undefined;
  readonly template: NodeTemplate | undefined;
  readonly vmSize: string;
  readonly priority: 'Regular' | 'Spot';
  /** The hardware that sizes share, and how much of it one takes. undefined: unknown. */
  readonly sizeFamily: SizeFamily | undefined;
  readonly zones: readonly string[];
  /** Of its size in the best of its zones. undefined: it is not a Spot pool, or its score is not asked for or not known. */
  readonly placementScore: PlacementScore | undefined;
  /** What the group states itself. `optionsOf` says what holds for it. */
  readonly options: StatedOptions;
  /** Why it does not change now. */
  readonly blocks: GroupBlocks;
  /** What rules say of it now; `minSize`, `maxSize` and `blocks` have it already. undefined: nothing. */
  readonly schedule: GroupSchedule | undefined;
  /** AKS's own count of the pool, if it differs from the size: the next operation of AKS on the pool sets the size to it. undefined: it does not. */
  readonly aksCount: number | undefined;
  /** Instances that were deallocated instead of deleted. undefined: nodes of the group are deleted, as usual. */
  readonly stopped: StoppedInstances | undefined;
}

/** What may be unknown of a group. */
export type UnknownOfGroup =
  | 'poolLimit'
  | 'configuredMax'
  | 'sharedPool'
  | 'maxFrom'
  | 'agentPool'
  | 'sizeFamily'
  | 'placementScore'
  | 'schedule'
  | 'aksCount'
  | 'stopped';

/** Nothing is known of these parts of a group. */
export const NOTHING_KNOWN: Readonly<Record<UnknownOfGroup, undefined>> = {
  poolLimit: undefined,
  configuredMax: undefined,
  sharedPool: undefined,
  maxFrom: undefined,
  agentPool: undefined,
  sizeFamily: undefined,
  placementScore: undefined,
  schedule: undefined,
  aksCount: undefined,
  stopped: undefined,
};

/** Whether the group is atomic: its nodes come and are removed together or not at all. */
export function isWhole({ options }: Pick<NodeGroup, 'options'>): boolean {
  return options.zeroOrMax === true;
}
