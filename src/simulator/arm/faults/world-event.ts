/** What can be made to happen to the world, beside what clients ask for. */
import type { PoolSpec } from '../../base/world-spec.ts';
import type { ForeignChange } from './concurrent-writers.ts';
import type { Eviction } from '../compute/spot-eviction.ts';

/** One key per event. */
export type WorldEvent =
  /** Another writer scales a set, or a size of a VMs pool: at once, or just before the next write by a judged principal is looked at. */
  | {
      readonly foreignScale: ForeignChange & {
        readonly pool: string;
        readonly vmSize?: string;
        readonly when?: 'now' | 'before-next-write';
      };
    }
  /** Spot machines are taken back, the newest first: after the notice they vanish and the capacity falls, or they are deallocated. */
  | { readonly evict: Eviction & { readonly pool: string } }
  /** Running operations on the pool's scale set are canceled by a newer one. */
  | { readonly preempt: { readonly pool: string } }
  /** The scale set is marked as failed, its machines are well. */
  | { readonly failSet: { readonly pool: string } }
  /** AKS replaces the oldest machines, `surge` of them (default 1), with more of them in between. */
  | { readonly upgrade: { readonly pool: string; readonly surge?: number } }
  /** AKS sets the scale set back to its agent pool's count. */
  | { readonly rpReconcile: { readonly pool: string } }
  /** Automatic repair: an instance (the oldest unless named) is replaced by one with another id. */
  | { readonly repair: { readonly pool: string; readonly instanceId?: string } }
  /** A zone goes dark, for so many simulated milliseconds or for good. */
  | { readonly zoneDown: { readonly zone: string; readonly forMs?: number } }
  /** Somebody changes tags of a pool through AKS, which puts them on its scale set; null takes one off. */
  | { readonly retag: { readonly pool: string; readonly tags: Readonly<Record<string, string | null>> } }
  | { readonly addPool: PoolSpec }
  | { readonly removePool: { readonly pool: string } };
