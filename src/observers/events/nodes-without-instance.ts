/**
 * Events about nodes whose instance is gone. The cloud controller normally deletes such nodes within a minute. If it does
 * not, pods are bound to a node that no longer exists, so an event is recorded, once per node.
 */
import type { EventRecorder } from '../../domain/ports/records.ts';
import { shell } from '../../lib/shown-text.ts';
import { hasLostInstance } from '../../planning/state/node-counts.ts';
import type { Log } from '../../telemetry/log.ts';
import type { LoopListener } from '../../domain/loop-report.ts';

/** Enough time for the cloud controller to act twice, and for one wrong list of instances. */
const PATIENCE_MS = 300_000;

export function nodesWithoutInstance(events: EventRecorder, log: Log): LoopListener {
  /** By UID: since when the instance is missing, or `recorded`. */
  const known = new Map<string, number | 'recorded'>();
  return ({ observation }) => {
    if (observation === undefined) return;
    const { cloud, cluster, nowMs } = observation;
    const groups = new Map(cloud.groups.map((group) => [group.id, group]));
    const lost = new Set<string>();
    for (const [name, id] of cloud.groupOfNode) {
      const node = cluster.nodes.get(name);
      if (node === undefined || node.deletionAtMs !== undefined) continue;
      if (cloud.instanceOfNode.has(name) || !hasLostInstance(node, groups.get(id))) continue;
      lost.add(node.uid);
      const since = known.get(node.uid) ?? nowMs;
      known.set(node.uid, since);
      if (since === 'recorded' || nowMs - since < PATIENCE_MS) continue;
      known.set(node.uid, 'recorded');
      const message = `${id} has had no instance for this node for ${Math.round((nowMs - since) / 60_000)} min, and the node was not deleted. Delete it: ${shell`kubectl delete node ${name}`}`;
      log.warn({ node: name, nodeGroup: id }, 'Node has no instance');
      events.record({ subject: { kind: 'Node', name, uid: node.uid }, type: 'Warning', reason: 'NodeWithoutMachine', message });
    }
    for (const uid of known.keys()) if (!lost.has(uid)) known.delete(uid);
  };
}
