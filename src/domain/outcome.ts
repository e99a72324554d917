/** The outcomes of a plan. Expected outcomes are values; only unexpected ones are thrown. */
import type { AutoscalerError } from '../lib/errors.ts';
import type { InstanceKey, NodeGroupId, NodeName } from './ids.ts';
import type { RemovalCause } from './plan.ts';

/** What became of a capacity write. */
export type AnsweredIncrease =
  /**
   * Azure accepted; the operation is followed in the background. `started`: how many of the nodes are stopped instances that are started; if
   * absent, none. Then `target` may be less than was requested, and the rest is planned again.
   */
  | { readonly kind: 'accepted'; readonly group: NodeGroupId; readonly target: number; readonly started?: number }
  /** The group changed since it was read. The row has been refreshed: plan again from it. */
  | { readonly kind: 'conflict'; readonly group: NodeGroupId; readonly observed: number | undefined }
  /**
   * A guard did not send the write (unknown size, above the maximum, below the present nodes). `busy`: an operation or a limit holds
   * the group for a while, which is no failure of it: its pods can be served by another group at once.
   */
  | { readonly kind: 'refused'; readonly group: NodeGroupId; readonly reason: string; readonly busy?: true }
  | { readonly kind: 'failed'; readonly group: NodeGroupId; readonly error: AutoscalerError }
  /** A dry run: nothing was sent, and nothing is expected. */
  | { readonly kind: 'withheld'; readonly group: NodeGroupId };

/**
 * The write is on its way, and is not answered yet: AKS takes up to 11 s for that, as its own client recorded in 2025 and 2026. The view shows the
 * new size already, and the group takes no other write before the answer.
 */
export interface SentIncrease {
  readonly kind: 'sent';
  readonly group: NodeGroupId;
  readonly target: number;
}

/** As far as a loop waits for it. */
export type IncreaseOutcome = AnsweredIncrease | SentIncrease;

export type DeleteOutcome =
  | { readonly kind: 'accepted'; readonly group: NodeGroupId; readonly instances: readonly InstanceKey[] }
  | { readonly kind: 'refused'; readonly group: NodeGroupId; readonly reason: string }
  | { readonly kind: 'failed'; readonly group: NodeGroupId; readonly error: AutoscalerError };

export type EvictOutcome =
  | { readonly kind: 'evicted' }
  | { readonly kind: 'gone' }
  /** 429: a PodDisruptionBudget does not allow it now. */
  | { readonly kind: 'blocked'; readonly message: string; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'failed'; readonly error: AutoscalerError };

/** The step at which a removal failed; a closed set, used as a metric label. */
export type RemovalStep = 'recheck' | 'taint' | 'evict' | 'wait' | 'delete' | 'stopped';

/** The outcome of a removal in the background. `atMs`: milliseconds since the epoch. */
export type RemovalOutcome =
  | {
      readonly kind: 'started';
      readonly group: NodeGroupId;
      readonly node: NodeName;
      readonly instance: InstanceKey;
      /** Pods that must move, as NAMESPACE/NAME. */
      readonly pods: readonly string[];
      /** 0 to 1. */
      readonly utilization: number;
      /** Its removal was planned as that of an empty node. */
      readonly empty: boolean;
      /** Why, if budgets of removals count it; else undefined. */
      readonly budgeted: RemovalCause | undefined;
      readonly atMs: number;
    }
  /** Azure accepted the deletion, or the node was gone already. The node disappears later. */
  | {
      readonly kind: 'deleted';
      readonly group: NodeGroupId;
      readonly node: NodeName;
      readonly instance: InstanceKey;
      /** Whether pods had to move. */
      readonly drained: boolean;
      /** Azure reimages the instance, and the node comes back. */
      readonly reimaged: boolean;
      readonly atMs: number;
    }
  /** Nothing was deleted, and changes were undone. The node is not tried again before `retryAtMs`. */
  | {
      readonly kind: 'undone';
      readonly group: NodeGroupId;
      readonly node: NodeName;
      readonly step: RemovalStep;
      readonly message: string;
      /** A check of the group refused: that says nothing about removals in other groups. */
      readonly ofGroup: boolean;
      readonly atMs: number;
      readonly retryAtMs: number;
    }
  /** Instances without a node: failed or never registered. `accepted` false: Azure or a guard refused. */
  | {
      readonly kind: 'instances';
      readonly group: NodeGroupId;
      readonly instances: readonly InstanceKey[];
      readonly cause: 'never-registered' | 'failed' | 'not-needed';
      readonly accepted: boolean;
      readonly message: string;
      readonly atMs: number;
    };
