/** One event a day on a node that one cause has kept from being removed for a day. */
import type { NodeName } from '../../domain/ids.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { BlockedNodes } from './blocked-nodes.ts';

const DAY_MS = 24 * 3_600_000;
/** The most events of one loop; the others follow in the next ones. */
const MOST_PER_LOOP = 20;

export function blockedNodeEvents(events: Pick<EventRecorder, 'record'>): LoopListener {
  const nodes = new BlockedNodes();
  const recorded = new Map<NodeName, number>();
  return (report) => {
    const { observation } = report;
    if (observation === undefined) return;
    const { nowMs } = observation;
    const blocked = nodes.observe(report);
    for (const node of recorded.keys()) if (!blocked.has(node)) recorded.delete(node);
    const due = [...blocked.values()].filter(({ node, sinceMs }) => nowMs - Math.max(sinceMs, recorded.get(node) ?? 0) >= DAY_MS);
    for (const { node, uid, reason, detail, sinceMs } of due.slice(0, MOST_PER_LOOP)) {
      recorded.set(node, nowMs);
      const since = `${new Date(sinceMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
      const message = `Not removed since ${since}: ${reason}${detail === '' ? '' : `, ${detail}`}`;
      events.record({ subject: { kind: 'Node', name: node, uid }, type: 'Normal', reason: 'ScaleDownBlocked', message });
    }
  };
}
