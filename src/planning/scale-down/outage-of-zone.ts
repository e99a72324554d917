/**
 * Nodes that work stay while a zone of their pool, or of its siblings, is down or out of stock: the pods of that zone may need them, and a
 * removed node might not come back. Must not know how an outage is recognised.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import { closingStockout, outOfStockZones } from '../state/stockouts.ts';
import { zonesOf } from '../state/zone-outages.ts';
import type { ScaleDownContext } from './plan-context.ts';
import type { Unneeded } from './unneeded.ts';

type Refusal = Pick<UnremovableNode, 'reason' | 'detail'>;

/** undefined: no zone of its pools is known to be down, or outages of zones are not heeded. A broken node is removed nevertheless. */
export function outageOfZone({ group, node }: Unneeded, context: ScaleDownContext): Refusal | undefined {
  const { families, policy } = context;
  // guard: a node that works stays while a zone of its pools is down
  if (!policy.cluster.avoidDownZones || !node.readiness.ready) return undefined;
  for (const sibling of families.get(group.id)?.groups ?? [group]) {
    const cause = outageOf(sibling, context);
    if (cause !== undefined) return { reason: 'ZoneDown', detail: `${cause}: nodes that work stay, since its pods may need them` };
  }
  return undefined;
}

function outageOf(group: NodeGroup, { observation, outages, state }: ScaleDownContext): string | undefined {
  const [down] = zonesOf(group).flatMap((zone) => outages.get(zone) ?? []);
  if (down !== undefined) return `zone ${down.zone} is down, ${down.unready} of its ${down.nodes} nodes are not ready`;
  const [closed] = outOfStockZones(group, state.stockouts, observation.nowMs);
  if (closed === undefined) return undefined;
  const code = closingStockout({ ...group, zones: [closed], template: undefined }, state.stockouts, observation.nowMs)?.code;
  return `zone ${closed} has no ${group.vmSize}${code === undefined ? '' : ` (${code})`}`;
}
