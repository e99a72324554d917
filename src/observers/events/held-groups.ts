/** Reports groups that one state has kept from changing for ten minutes: one event and one log line each, and one more at the end. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';
import { describeHold, lastingHolds } from '../../planning/state/held-groups.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface HeldGroupDeps {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics['cluster'], 'groupHeld'>;
  /** Namespace of the status object. */
  readonly namespace: string;
}

export function heldGroups({ events, log, metrics, namespace }: HeldGroupDeps): LoopListener {
  /** Since when each reported hold lasts. */
  const reported = new Map<NodeGroupId, number>();
  return ({ observation, state }) => {
    if (observation === undefined) return;
    const lasting = lastingHolds(state, observation.nowMs);
    metrics.groupHeld.set(Math.max(0, ...[...lasting.values()].map(({ ageMs }) => ageMs)) / 1000);
    for (const [id, hold] of lasting) {
      if (reported.get(id) === hold.sinceMs) continue;
      reported.set(id, hold.sinceMs);
      log.warn({ nodeGroup: id, reason: hold.reason, minutes: Math.floor(hold.ageMs / 60_000) }, 'Node group has been held for long');
      const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
      events.record({ subject, type: 'Warning', reason: 'NodeGroupHeld', message: `Node group ${id} has been ${describeHold(hold)}` });
    }
    for (const id of reported.keys()) {
      if (lasting.has(id)) continue;
      reported.delete(id);
      log.info({ nodeGroup: id }, 'Node group no longer held');
    }
  };
}
