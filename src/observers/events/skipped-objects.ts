/** Events on objects that ask for capacity and are skipped, so that their owners learn why. */
import type { LoopListener } from '../../domain/loop-report.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { skippedObjects } from '../../planning/capacity-objects/skipped-objects.ts';

/** The most events of one loop: a broken controller may write thousands of such objects. */
const MAX_EVENTS = 20;

/** The recorder merges repetitions. */
export function skippedObjectEvents(events: Pick<EventRecorder, 'record'>): LoopListener {
  return ({ observation }) => {
    if (observation === undefined) return;
    for (const { subject, reason } of skippedObjects(observation.cluster).slice(0, MAX_EVENTS))
      events.record({ subject, type: 'Warning', reason: 'CapacityRequestSkipped', message: `Skipped: ${reason}` });
  };
}
