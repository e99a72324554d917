import type { PodUid } from '../domain/ids.ts';
import type { EvictOutcome } from '../domain/outcome.ts';

/** One eviction call; retries and deadlines are the caller's. */
export interface PodEvictor {
  evict(
    pod: { readonly namespace: string; readonly name: string; readonly uid: PodUid },
    gracePeriodMs: number,
    signal: AbortSignal,
  ): Promise<EvictOutcome>;
}
