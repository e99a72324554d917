/** What the cache reports, as metrics and log lines. */
import type { AgentRun, CacheHooks } from '../../cache/hooks.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export function cacheHooks(metrics: Metrics['cache'], log: Log, clock: Pick<Clock, 'now'>): CacheHooks {
  const tellTrouble = troubleOf(log);
  return {
    rowRejected: (table, reason) => metrics.rowsRejected.inc({ table, reason }),
    evicted: (table, cause, count) => metrics.evictions.inc({ table, cause }, count),
    duplicates: (table, count) => metrics.duplicates.inc({ table }, count),
    listDoubted: (table, agent) => log.warn({ table, agent }, 'a list lacks more than half of what is known; reading it again'),
    mutationLost: (table, keys) => log.warn({ table, keys: keys.length }, 'a change was in flight for too long and is counted as lost'),
    onDemand: (table, outcome) => metrics.onDemand.inc({ table, outcome }),
    agentRun: (run) => {
      const { kind, outcome, durationMs } = run;
      tellTrouble(run);
      metrics.agentRuns.inc({ kind, outcome });
      metrics.agentDuration.observe({ kind }, durationMs / 1000);
      if (outcome === 'succeeded') metrics.agentLastSuccess.set({ kind }, clock.now() / 1000);
    },
    threw: (where, error) => log.error({ where, err: error }, 'an observer of the cache failed'),
  };
}

/** Says that reads of one kind fail, and once that they all succeed again. The log folds what repeats. */
function troubleOf(log: Log): (run: AgentRun) => void {
  const failing = new Map<string, Set<string>>();
  return ({ id, kind: what, outcome, error }) => {
    const ids = failing.get(what) ?? new Set<string>();
    failing.set(what, ids);
    if (outcome === 'succeeded') {
      if (ids.delete(id) && ids.size === 0) log.info({ what }, 'reads of Azure succeed again');
    } else if (outcome !== 'token-lost' && error?.kind !== 'cancelled') {
      ids.add(id);
      const why = error === undefined ? {} : { kind: error.kind, code: error.code, error: error.message };
      log.warn({ what, agentId: id, ...why }, 'Azure could not be read; going on with what is known');
    }
  };
}
