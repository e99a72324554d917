/** What happened when a plan met the world. Expected outcomes are values; only the unexpected is thrown. */
import type { AutoscalerError } from './errors.ts';
import type { InstanceKey, NodeGroupId } from './ids.ts';

export type IncreaseOutcome =
  /** Azure accepted; the operation is followed in the background. */
  | { readonly kind: 'accepted'; readonly group: NodeGroupId; readonly target: number }
  /** Somebody else changed the group since it was read. The row has been refreshed: plan again from it. */
  | { readonly kind: 'conflict'; readonly group: NodeGroupId; readonly observed: number | undefined }
  /** A guard refused to send the write (unknown size, above max, below what lives there). */
  | { readonly kind: 'refused'; readonly group: NodeGroupId; readonly reason: string }
  | { readonly kind: 'failed'; readonly group: NodeGroupId; readonly error: AutoscalerError };

export type DeleteOutcome =
  | { readonly kind: 'accepted'; readonly group: NodeGroupId; readonly instances: readonly InstanceKey[] }
  | { readonly kind: 'refused'; readonly group: NodeGroupId; readonly reason: string }
  | { readonly kind: 'failed'; readonly group: NodeGroupId; readonly error: AutoscalerError };

export type EvictOutcome =
  | { readonly kind: 'evicted' }
  | { readonly kind: 'gone' }
  /** 429: a budget says not now. */
  | { readonly kind: 'blocked'; readonly message: string; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'failed'; readonly error: AutoscalerError };
