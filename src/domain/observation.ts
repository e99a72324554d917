/**
 * The frozen inputs of one loop. The room holds the vocabulary of all rings: nodes, pods, groups, plans, reasons and state as
 * immutable values. Must not know Azure, the Kubernetes client, or how anything is decided.
 */
import type { InstanceKey, NodeGroupId, NodeName } from './ids.ts';
import type { CommonPool } from './devices.ts';
import type { Node } from './node.ts';
import type { NodeGroup } from './node-group.ts';
import type { Pod } from './pod.ts';
import type { DaemonSet, DisruptionBudget, OwnerStates, PodGroups, ReplicatedWorkload, VerticalPodAutoscalers } from './workloads.ts';
import type { ErrorKind } from '../lib/errors.ts';
import { NO_SCHEDULES, type Schedules } from './schedule-rules.ts';
import type { CloudQuota, ReservedCapacity } from './quotas-and-prices.ts';
import { type CapacityObjects, NO_CAPACITY_OBJECTS } from './capacity-objects.ts';

/** The cluster at one moment. Values are replaced, never edited: an unchanged node keeps its identity between loops. */
export interface ClusterView {
  readonly nodes: ReadonlyMap<NodeName, Node>;
  /** Bound pods that are not in a terminal phase. Nodes without pods may be absent. */
  readonly podsByNode: ReadonlyMap<NodeName, readonly Pod[]>;
  /** Not bound, not terminal, not being deleted; schedulable or not. */
  readonly pendingPods: readonly Pod[];
  readonly daemonSets: readonly DaemonSet[];
  readonly disruptionBudgets: readonly DisruptionBudget[];
  /** Empty if they are not watched. */
  readonly workloads: readonly ReplicatedWorkload[];
  /** What was recently read about owners of pods. An unknown owner is assumed to exist until its pods are to move. */
  readonly owners: OwnerStates;
  /** DaemonSets could not be read: those that pods name are assumed to exist. */
  readonly daemonSetsUnknown: boolean;
  /** Quotas, buffers and ProvisioningRequests. */
  readonly capacity: CapacityObjects;
  /** Devices that several nodes reach. */
  readonly commonDevices: readonly CommonPool[];
  /** Groups of pods that start together. undefined: no pod names one, or the cluster serves none. Then each pod starts alone. */
  readonly podGroups: PodGroups | undefined;
  /** undefined: they are not read. Then a pod that is created again requests what it does now. */
  readonly verticalPodAutoscalers: VerticalPodAutoscalers | undefined;
  /** `namespace name -> labels`, for namespace selectors. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Age of the oldest watch, milliseconds. */
  readonly stalenessMs: number;
}

/** What a view of the cluster has of what is not watched. */
export const NOT_WATCHED = {
  workloads: [],
  owners: new Map<string, never>(),
  daemonSetsUnknown: false,
  capacity: NO_CAPACITY_OBJECTS,
  commonDevices: [],
  podGroups: undefined,
  verticalPodAutoscalers: undefined,
} as const satisfies Partial<ClusterView>;

/** An event that Azure reported after the call that caused it had returned. Reduced into LoopState at the start of a loop. */
export type CloudEvent =
  | {
      readonly kind: 'increase-failed';
      readonly group: NodeGroupId;
      /** How many more instances were requested. */
      readonly requested: number;
      readonly error: {
        readonly detail: ErrorKind;
        readonly code: string;
        readonly message: string;
        /** Azure's id of the accepted request. If absent, unknown. */
        readonly correlationId?: string;
      };
      readonly atMs: number;
    }
  | { readonly kind: 'increase-succeeded'; readonly group: NodeGroupId; readonly atMs: number }
  | {
      readonly kind: 'delete-failed';
      readonly group: NodeGroupId;
      readonly instances: readonly InstanceKey[];
      readonly message: string;
      /** They were to be deallocated or reimaged. If absent, to be deleted. */
      readonly remain?: true;
      readonly atMs: number;
    }
  /** `remain`: the instances were deallocated or reimaged. If absent, they are gone. */
  | {
      readonly kind: 'delete-succeeded';
      readonly group: NodeGroupId;
      readonly instances: readonly InstanceKey[];
      readonly remain?: true;
      readonly atMs: number;
    }
  /** Stopped instances did not start: new ones are created in their place until `untilMs`. */
  | {
      readonly kind: 'start-failed';
      readonly group: NodeGroupId;
      readonly instances: readonly InstanceKey[];
      readonly message: string;
      readonly untilMs: number;
      readonly atMs: number;
    }
  /** `followed`: a dry run takes the other writer's change for its own. If absent, it is only noted. */
  | {
      readonly kind: 'external-change';
      readonly group: NodeGroupId;
      readonly from: number;
      readonly to: number;
      readonly atMs: number;
      readonly followed?: true;
    }
  /** Which names made an external change, as they were found out later. */
  | {
      readonly kind: 'change-attributed';
      readonly group: NodeGroupId;
      readonly from: number;
      readonly to: number;
      /** The time of the external change's event. */
      readonly changedAtMs: number;
      readonly by: string;
      readonly atMs: number;
    }
  | { readonly kind: 'group-appeared'; readonly group: NodeGroupId; readonly atMs: number }
  | { readonly kind: 'group-vanished'; readonly group: NodeGroupId; readonly because?: string; readonly atMs: number };

/** The names of the managed cluster in Azure. */
export interface ManagedClusterName {
  readonly name: string;
  readonly resourceGroup: string;
}

/** The cloud at one moment. */
export interface CloudView {
  /** Sorted by id. */
  readonly groups: readonly NodeGroup[];
  /** `node name -> group`, for the nodes of the ClusterView it was made with. Unmanaged nodes are absent. */
  readonly groupOfNode: ReadonlyMap<NodeName, NodeGroupId>;
  readonly instanceOfNode: ReadonlyMap<NodeName, InstanceKey>;
  readonly events: readonly CloudEvent[];
  /** If set, why reads are too old to remove anything. */
  readonly scaleDownBlocked: string | undefined;
  /** If set, why reads are too old to add anything. */
  readonly scaleUpBlocked: string | undefined;
  /** Quotas that groups draw on. An absent quota is unknown, and never a reason to add nothing. */
  readonly quotas: readonly CloudQuota[];
  /** Reserved capacity that groups may use. Without any, each new node needs quota. */
  readonly reservations: readonly ReservedCapacity[];
  /** Names in the configuration's options that match no group. */
  readonly optionsWithoutGroup: readonly string[];
  /** Discovery rules that select nothing, with their index and tags. */
  readonly rulesWithoutGroup: readonly string[];
  /** For the commands of fixes. undefined: the configuration does not name the cluster. */
  readonly managedCluster: ManagedClusterName | undefined;
  /** Pauses that name no group. */
  readonly pausesWithoutGroup: readonly string[];
  /** The rules of schedules, for what comes; groups have what they say now. */
  readonly schedules: Schedules;
  /** Rules of schedules without a group or without effect, one sentence each. */
  readonly scheduleFindings: readonly string[];
}

/** A view of the cloud in which these parts say nothing. */
export const NOTHING_REPORTED = {
  quotas: [],
  reservations: [],
  optionsWithoutGroup: [],
  rulesWithoutGroup: [],
  managedCluster: undefined,
  pausesWithoutGroup: [],
  schedules: NO_SCHEDULES,
  scheduleFindings: [],
} as const satisfies Partial<CloudView>;

/** The frozen inputs of one loop. Can be written to disk and replayed to the same plan. */
export interface Observation {
  readonly loopId: number;
  readonly nowMs: number;
  readonly cluster: ClusterView;
  readonly cloud: CloudView;
}
