/** Events that a test can cause in the world, beside the requests of clients. */
import type { PoolSpec } from '../../base/world-spec.ts';
import type { ForeignChange } from './concurrent-writers.ts';
import type { Eviction } from '../compute/spot-eviction.ts';

/** One key per event. */
export type WorldEvent =
  /** Another writer scales a set, or a size of a VMs pool: at once, or just before the client's next write is handled. */
  | {
      readonly foreignScale: ForeignChange & {
        readonly pool: string;
        readonly vmSize?: string;
        readonly when?: 'now' | 'before-next-write';
      };
    }
  /** Another writer deletes these instances of a scale set. Its capacity falls with them. */
  | { readonly foreignDelete: { readonly pool: string; readonly instanceIds: readonly string[] } }
  /** Another writer starts the deallocated instances of a scale set, or deallocates running ones: the oldest, `count` of them (default 1). */
  | { readonly foreignPower: { readonly pool: string; readonly action: 'start' | 'deallocate'; readonly count?: number } }
  /**
   * Spot VMs are evicted, the newest first. After the announcement they are deleted and the capacity falls, or they are
   * deallocated.
   */
  | { readonly evict: Eviction & { readonly pool: string } }
  /**
   * Operating systems of the pool hang, those of the oldest VMs first (`count`, default 1): their kubelets are silent for this many
   * simulated milliseconds or permanently. Azure still shows running VMs.
   */
  | { readonly hang: { readonly pool: string; readonly count?: number; readonly forMs?: number } }
  /** A newer operation cancels the running ones on the pool's scale set. */
  | { readonly preempt: { readonly pool: string } }
  /** The scale set becomes `Failed`; its VMs are healthy. */
  | { readonly failSet: { readonly pool: string } }
  /** AKS replaces the oldest VMs, `surge` of them (default 1): it creates the replacements first, and drains the nodes. */
  | { readonly upgrade: { readonly pool: string; readonly surge?: number } }
  /** AKS upgrades Kubernetes on a pool as after a write of its version: with surge, drain and reimaged nodes. */
  | { readonly upgradeVersion: { readonly pool: string; readonly version: string } }
  /** The running operation of AKS on a pool is aborted. */
  | { readonly abort: { readonly pool: string } }
  /** AKS sets the scale set back to its agent pool's count. */
  | { readonly rpReconcile: { readonly pool: string } }
  /** Automatic repair replaces an instance (by default the oldest) by one with another id. */
  | { readonly repair: { readonly pool: string; readonly instanceId?: string } }
  /** A zone outage, for this many simulated milliseconds or permanently. */
  | { readonly zoneDown: { readonly zone: string; readonly forMs?: number } }
  /** Another writer changes tags of a pool through AKS, which copies them to its scale set; null removes a tag. */
  | { readonly retag: { readonly pool: string; readonly tags: Readonly<Record<string, string | null>> } }
  | { readonly addPool: PoolSpec }
  | { readonly removePool: { readonly pool: string } };
