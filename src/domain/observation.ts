import type { InstanceKey, NodeGroupId, NodeName } from './ids.ts';
import type { Node } from './node.ts';
import type { NodeGroup } from './node-group.ts';
import type { Pod } from './pod.ts';
import type { DaemonSet, DisruptionBudget, OwnerStates, ReplicatedWorkload } from './workloads.ts';
import type { ErrorKind } from '../lib/errors.ts';
import type { CloudQuota } from './quotas-and-prices.ts';
import type { CapacityObjects } from './capacity-objects.ts';

/** The cluster at one moment. Values are replaced, never edited: an unchanged node keeps its identity between loops. */
export interface ClusterView {
  readonly nodes: ReadonlyMap<NodeName, Node>;
  /** Bound pods that are not in a terminal phase. Nodes without pods may be absent. */
  readonly podsByNode: ReadonlyMap<NodeName, readonly Pod[]>;
  /** Not bound, not terminal, not being deleted; schedulable or not. */
  readonly pendingPods: readonly Pod[];
  readonly daemonSets: readonly DaemonSet[];
  readonly disruptionBudgets: readonly DisruptionBudget[];
  /** Absent: nobody asked for them. */
  readonly workloads?: readonly ReplicatedWorkload[];
  /** What was lately learned of owners of pods. An owner that is not in it is trusted to exist until its pods are to move. */
  readonly owners?: OwnerStates;
  /** The DaemonSets were not to be seen: those that pods name are trusted to exist. */
  readonly daemonSetsUnknown?: true;
  /** Quotas, buffers and requests for capacity. Absent: nobody asked for them. */
  readonly capacity?: CapacityObjects;
  /** `namespace name -> labels`, for namespace selectors. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Age of the oldest watch, milliseconds. */
  readonly stalenessMs: number;
}

/** Something Azure told us after the call that caused it had returned. Reduced into LoopState at the start of a loop. */
export type CloudEvent =
  | {
      readonly kind: 'increase-failed';
      readonly group: NodeGroupId;
      /** How many machines more were asked for. */
      readonly requested: number;
      readonly error: { readonly detail: ErrorKind; readonly code: string; readonly message: string };
      readonly atMs: number;
    }
  | { readonly kind: 'increase-succeeded'; readonly group: NodeGroupId; readonly atMs: number }
  | {
      readonly kind: 'delete-failed';
      readonly group: NodeGroupId;
      readonly instances: readonly InstanceKey[];
      readonly message: string;
      readonly atMs: number;
    }
  | { readonly kind: 'delete-succeeded'; readonly group: NodeGroupId; readonly instances: readonly InstanceKey[]; readonly atMs: number }
  | { readonly kind: 'external-change'; readonly group: NodeGroupId; readonly from: number; readonly to: number; readonly atMs: number }
  | { readonly kind: 'group-appeared'; readonly group: NodeGroupId; readonly atMs: number }
  | { readonly kind: 'group-vanished'; readonly group: NodeGroupId; readonly because?: string; readonly atMs: number };

/** The cloud at one moment. */
export interface CloudView {
  /** Sorted by id. */
  readonly groups: readonly NodeGroup[];
  /** `node name -> group`, for the nodes of the ClusterView it was made with. Absent: not one of ours. */
  readonly groupOfNode: ReadonlyMap<NodeName, NodeGroupId>;
  readonly instanceOfNode: ReadonlyMap<NodeName, InstanceKey>;
  readonly events: readonly CloudEvent[];
  /** Set when reads are too old to remove anything; the reason. */
  readonly scaleDownBlocked: string | undefined;
  /** Set when reads are too old to add anything. */
  readonly scaleUpBlocked: string | undefined;
  /** Quotas that groups draw on; what is absent is not known, and never a reason to stand still. */
  readonly quotas?: readonly CloudQuota[];
  /** Names that the configuration states options for and that no group has. Absent: every one has a group. */
  readonly optionsWithoutGroup?: readonly string[];
  /** Discovery rules that select nothing, as their place and their tags. Absent: each selects something. */
  readonly rulesWithoutGroup?: readonly string[];
}

/** The frozen inputs of one loop. Can be written to disk and replayed to the same plan. */
export interface Observation {
  readonly loopId: number;
  readonly nowMs: number;
  readonly cluster: ClusterView;
  readonly cloud: CloudView;
}
