/** What a recording says at its end, for a process that continues it. */
import type { LoadPod, LoadPool, Scenario, Workload } from '../loads/load.ts';

export interface KnownRecording extends Pick<Scenario, 'name' | 'startMs' | 'currency'> {
  readonly workloads: readonly Workload[];
  /** By workload, if not zero. */
  readonly replicas: ReadonlyMap<string, number>;
  /** The present templates, by workload. */
  readonly templates: ReadonlyMap<string, LoadPod>;
  readonly pools: readonly LoadPool[];
  /** Nothing later is in the recording. Milliseconds since the epoch. */
  readonly untilMs: number;
}

export function knownRecording({ name, currency, startMs, durationMs, workloads, pools, events }: Scenario): KnownRecording {
  const replicas = new Map<string, number>();
  const templates = new Map(workloads.map(({ id, pod }) => [id, pod]));
  const present = new Map(pools.map((pool) => [pool.name, pool]));
  let untilMs = durationMs;
  for (const event of events) {
    if (event.kind === 'replicas') replicas.set(event.workload, event.count);
    else if (event.kind === 'template') templates.set(event.workload, event.pod);
    else if (event.kind === 'pool') present.set(event.pool.name, event.pool);
    else if (event.kind === 'pool-removed') present.delete(event.pool);
    else if (event.kind === 'run') untilMs = Math.max(untilMs, event.atMs + event.runMs);
  }
  const positive = [...replicas].filter(([, count]) => count > 0);
  return {
    name,
    currency,
    startMs,
    workloads,
    replicas: new Map(positive),
    templates,
    pools: [...present.values()],
    untilMs: startMs + untilMs,
  };
}
