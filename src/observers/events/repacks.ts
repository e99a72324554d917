/** Says when a repack begins and how it ends, and counts both. Must not know how a set is found. */
import type { LoopListener } from '../../domain/loop-report.ts';
import { REPACK_OUTCOMES } from '../../domain/repack.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { describeEnded, describeSet } from '../../planning/explain/repack-words.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface RepackEventDeps {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Log;
  readonly metrics: Metrics['repack'];
  /** Namespace of the status object. */
  readonly namespace: string;
}

export function repackEvents({ events, log, metrics, namespace }: RepackEventDeps): LoopListener {
  const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
  for (const outcome of REPACK_OUTCOMES) metrics.ended.inc({ outcome }, 0);
  return ({ repacks, state }) => {
    const { search, running } = state.repacks;
    metrics.running.set(running.length);
    // Without a price of each node there is no sum.
    metrics.savings.set(search?.saved?.perHour ?? 0);
    if (repacks === undefined) return;
    for (const { set } of repacks.begun) {
      metrics.begun.inc();
      const message = `Repack begun: ${describeSet(set)}; it is checked again before anything is done`;
      log.info({ remove: set.remove.map(({ node }) => node), add: set.add, score: set.score }, 'Repack begun');
      events.record({ subject, type: 'Normal', reason: 'RepackBegun', message });
    }
    for (const ended of repacks.ended) {
      const { set, outcome, stage, why } = ended;
      metrics.ended.inc({ outcome });
      log.info({ remove: set.remove.map(({ node }) => node), add: set.add, outcome, stage, reason: why }, 'Repack ended');
      const text = describeEnded(ended);
      const message = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
      events.record({
        subject,
        type: outcome === 'undone' ? 'Warning' : 'Normal',
        reason: outcome === 'undone' ? 'RepackUndone' : 'RepackEnded',
        message,
      });
    }
  };
}
