/** What the cache reports, as metrics and log lines. */
import type { CacheHooks } from '../../cache/hooks.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export function cacheHooks(metrics: Metrics['cache'], log: Log, clock: Pick<Clock, 'now'>): CacheHooks {
  return {
    rowRejected: (table, reason) => metrics.rowsRejected.inc({ table, reason }),
    evicted: (table, cause, count) => metrics.evictions.inc({ table, cause }, count),
    listDoubted: (table, agent) => log.warn({ table, agent }, 'a list lacks more than half of what is known; reading it again'),
    mutationLost: (table, keys) => log.warn({ table, keys: keys.length }, 'a change was in flight for too long and is counted as lost'),
    onDemand: (table, outcome) => metrics.onDemand.inc({ table, outcome }),
    agentRun: ({ kind, outcome, durationMs }) => {
      metrics.agentRuns.inc({ kind, outcome });
      metrics.agentDuration.observe({ kind }, durationMs / 1000);
      if (outcome === 'succeeded') metrics.agentLastSuccess.set({ kind }, clock.now() / 1000);
    },
    threw: (where, error) => log.error({ where, err: error }, 'an observer of the cache failed'),
  };
}
