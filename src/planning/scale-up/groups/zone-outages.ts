/**
 * Zones in which most nodes do not work while other zones do. Growth goes elsewhere if it can, which is a preference and no closure: that a
 * zone is down is seen by its nodes alone. Nodes that work stay then, and while a zone is out of stock: the pods of that zone may need them, and a
 * removed node might not come back.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { UnremovableNode } from '../../../domain/plan.ts';
import { closingStockout, outOfStockZones } from '../../state/stockouts.ts';
import type { SiblingFamily } from './sibling-groups.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Policy } from '../../../domain/policy.ts';
import { zoneOutages, type ZoneOutage, zonesOf } from '../../state/cluster-health.ts';

/** The observation in which groups whose zones are all down are a last resort. Returns the observation itself if there are none. */
export function withDownZones(observation: Observation, state: LoopState, policy: Policy): Observation {
  const outages = zoneOutages({ observation, state, policy });
  if (outages.size === 0) return observation;
  const groups = observation.cloud.groups.map((group) => {
    const zones = zonesOf(group);
    const [outage] = zones.flatMap((zone) => outages.get(zone) ?? []);
    // guard: a zone in which most nodes are unready gets no node that another zone can have
    if (outage === undefined || !zones.every((zone) => outages.has(zone))) return group;
    return { ...group, blocks: { ...group.blocks, choice: group.blocks.choice ?? { code: 'zone-down' as const, ...outage } } };
  });
  return { ...observation, cloud: { ...observation.cloud, groups } };
}

type Refusal = Pick<UnremovableNode, 'reason' | 'detail'>;

/** What is known of zones in one plan. */
interface ZonesSeen {
  readonly observation: Pick<Observation, 'nowMs'>;
  readonly state: Pick<LoopState, 'stockouts'>;
  readonly policy: Policy;
  readonly families: ReadonlyMap<NodeGroupId, SiblingFamily>;
  readonly outages: ReadonlyMap<string, ZoneOutage>;
}

/** undefined: no zone of its pools is known to be down, or outages of zones are not heeded. A broken node is removed nevertheless. */
export function outageOfZone({ group, node }: { readonly group: NodeGroup; readonly node: Node }, seen: ZonesSeen): Refusal | undefined {
  // guard: a node that works stays while a zone of its pools is down
  if (!node.readiness.ready) return undefined;
  const cause = outageOfPool(group, seen);
  return cause === undefined ? undefined : { reason: 'ZoneDown', detail: `${cause}: nodes that work stay, since its pods may need them` };
}

/** The zone of the group or of a sibling that is down, as a part of a sentence. undefined: none is known to be, or outages are not heeded. */
export function outageOfPool(group: NodeGroup, seen: ZonesSeen): string | undefined {
  if (!seen.policy.cluster.avoidDownZones) return undefined;
  for (const sibling of seen.families.get(group.id)?.groups ?? [group]) {
    const cause = outageOf(sibling, seen);
    if (cause !== undefined) return cause;
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
