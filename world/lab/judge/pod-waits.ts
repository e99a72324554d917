/** How long pods wait for a node. */
import type { PodObject } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';

const MINUTE = 60_000;

export class PodWaits {
  readonly #since = new Map<string, { readonly sinceMs: number; readonly pod: PodObject }>();
  readonly #waitedMs: number[] = [];
  readonly #counts: (pod: PodObject) => boolean;

  /** `counts`: whether a pod is of interest. Default: every pod. */
  constructor(counts: (pod: PodObject) => boolean = () => true) {
    this.#counts = counts;
  }

  /** Changes of pods, in order of time. */
  record({ type, object }: Pick<StoreChange, 'type' | 'object'>, nowMs: number): void {
    const pod = object as PodObject;
    const { uid, deletionTimestamp } = pod.metadata;
    const waits =
      type !== 'DELETED' && pod.spec.nodeName === undefined && deletionTimestamp === undefined && pod.status.phase === 'Pending';
    const known = this.#since.get(uid);
    if (waits && known === undefined && this.#counts(pod)) this.#since.set(uid, { sinceMs: nowMs, pod });
    if (waits || known === undefined) return;
    this.#since.delete(uid);
    this.#waitedMs.push(nowMs - known.sinceMs);
  }

  /** Pods that wait for longer than this. */
  longerThan(ms: number, nowMs: number): readonly PodObject[] {
    return [...this.#since.values()].filter(({ sinceMs }) => nowMs - sinceMs > ms).map(({ pod }) => pod);
  }

  get waiting(): number {
    return this.#since.size;
  }

  /** Every wait in ascending order, milliseconds. Pods that still wait count with their wait until now. */
  allUntil(nowMs: number): readonly number[] {
    const open = [...this.#since.values()].map(({ sinceMs }) => nowMs - sinceMs);
    return [...this.#waitedMs, ...open].sort((left, right) => left - right);
  }

  /** Of pods that wait no longer. */
  summary(): {
    readonly pods: number;
    readonly podMinutes: number;
    readonly p50Seconds: number;
    readonly p95Seconds: number;
    readonly longestMinutes: number;
  } {
    const sorted = this.#waitedMs.toSorted((left, right) => left - right);
    const at = (share: number): number => percentile(sorted, share);
    return {
      pods: sorted.length,
      podMinutes: round(sorted.reduce((sum, ms) => sum + ms, 0) / MINUTE),
      p50Seconds: round(at(0.5) / 1_000),
      p95Seconds: round(at(0.95) / 1_000),
      longestMinutes: round(at(1) / MINUTE),
    };
  }
}

/** Of ascending numbers; 0 if there is no number. `share`: 0.95 for the 95th percentile. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** To two decimals. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
