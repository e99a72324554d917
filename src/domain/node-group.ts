import type { InstanceKey, NodeGroupId } from './ids.ts';
import type { ErrorKind, SizeFamily } from '../lib/errors.ts';
import type { NodeTemplate } from './node-template.ts';

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
