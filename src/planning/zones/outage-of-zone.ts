/**
 * Nodes that work stay while a zone of their pool, or of its siblings, is down or out of stock: the pods of that zone may need them, and a
 * removed node might not come back. Must not know how an outage is recognised.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { closingStockout, outOfStockZones } from '../state/stockouts.ts';
import type { SiblingFamily } from './sibling-groups.ts';
import { zonesOf, type ZoneOutage } from './zone-outages.ts';

type Refusal = Pick<UnremovableNode, 'reason' | 'detail'>;

/** What is known of zones in one plan. */
export interface ZonesSeen {
  readonly observation: Pick<Observation, 'nowMs'>;
  readonly state: Pick<LoopState, 'stockouts'>;
  readonly policy: Policy;
  readonly families: ReadonlyMap<NodeGroupId, SiblingFamily>;
  readonly outages: ReadonlyMap<string, ZoneOutage>;
}

/** undefined: no zone of its pools is known to be down, or outages of zones are not heeded. A broken node is removed nevertheless. */
export function outageOfZone({ group, node }: { readonly group: NodeGroup; readonly node: Node }, seen: ZonesSeen): Refusal | undefined {
  const { families, policy } = seen;
  // guard: a node that works stays while a zone of its pools is down
  if (!policy.cluster.avoidDownZones || !node.readiness.ready) return undefined;
  for (const sibling of families.get(group.id)?.groups ?? [group]) {
    const cause = outageOf(sibling, seen);
    if (cause !== undefined) return { reason: 'ZoneDown', detail: `${cause}: nodes that work stay, since its pods may need them` };
  }
  return undefined;
}

function outageOf(group: NodeGroup, { observation, outages, state }: ZonesSeen): string | undefined {
  const [down] = zonesOf(group).flatMap((zone) => outages.get(zone) ?? []);
  if (down !== undefined) return `zone ${down.zone} is down, ${down.unready} of its ${down.nodes} nodes are not ready`;
  const [closed] = outOfStockZones(group, state.stockouts, observation.nowMs);
  if (closed === undefined) return undefined;
  const code = closingStockout({ ...group, zones: [closed], template: undefined }, state.stockouts, observation.nowMs)?.code;
  return `zone ${closed} has no ${group.vmSize}${code === undefined ? '' : ` (${code})`}`;
}
