/** Which groups could bring new nodes for a repack, and what such a node is in the snapshot. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import { isWhole } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { Snapshot } from '../../../scheduling/snapshot/snapshot.ts';
import { decisivePrices, priceOf } from '../../expanders/node-price.ts';
import { ordersFirst } from '../../expanders/preference.ts';
import { quotaRoomBeside, nodesAllowed } from '../../scale-up/groups/quotas.ts';
import { makeTemplate, newNodeFrom, simulatedNodeName, ZONE_LABELS } from '../../scale-up/groups/template-node.ts';
import { closedReason } from '../../state/closures.ts';
import { inFlight } from '../../state/increases/increase-records.ts';
import { probingReason } from '../../state/stockouts.ts';
import type { ScaleDownContext } from '../plan-context.ts';

/** A group that could grow now. */
export interface GrowablePool {
  readonly group: NodeGroup;
  /** How many nodes it may add. */
  readonly most: number;
  /** undefined: it has none that decides, and the user's order of groups decides first. */
  readonly price: number | undefined;
  readonly node: Node;
  /** What runs on each of its nodes. */
  readonly daemonPods: readonly Pod[];
}

/**
 * Groups whose price decides, or which the user's order compares, by price, then by id. `only`: this group alone, whatever is known of its
 * price; `all`: each, likewise.
 */
export function growablePools(context: ScaleDownContext, names: ResourceNames, only?: NodeGroupId | 'all'): readonly GrowablePool[] {
  const { observation, policy } = context;
  const prices = decisivePrices(policy.scaleUp);
  const room = quotaRoomBeside([], { observation, policy: policy.scaleUp, names });
  const pools: GrowablePool[] = [];
  for (const group of context.groups.values()) {
    if (only !== undefined && only !== 'all' && group.id !== only) continue;
    const price = priceOf(prices, group);
    const isCompared = only !== undefined || price !== undefined || ordersFirst(policy.scaleUp);
    const { template, target } = group;
    if (!isCompared || template === undefined || !target.known || closedToRepacks(group, context)) continue;
    const most = Math.min(group.maxSize - target.value, nodesAllowed(room, { group, template }), nodesToProbe(group, context));
    if (most < 1) continue;
    const { variants, daemonPods } = makeTemplate(group, template, observation.cluster, new Set());
    const [first] = variants;
    if (first === undefined) continue;
    // guard: the zone of a new node is not guessed
    const node = variants.length === 1 ? first : withoutZone(first);
    pools.push({ group, most, price, node, daemonPods });
  }
  return pools.sort((left, right) => (left.price ?? Infinity) - (right.price ?? Infinity) || (left.group.id < right.group.id ? -1 : 1));
}

/** One node finds out whether a stockout is over. */
function nodesToProbe(group: NodeGroup, { state, observation: { nowMs } }: ScaleDownContext): number {
  // guard: a repack requests one node of a group that may be out of stock
  if (probingReason(group, state, nowMs) === undefined) return Infinity;
  return inFlight(state, group.id) === undefined ? 1 : 0;
}

function closedToRepacks(group: NodeGroup, { state, observation: { cloud, nowMs } }: ScaleDownContext): boolean {
  const { change, increase, choice } = group.blocks;
  const isBlocked = change !== undefined || increase !== undefined || choice !== undefined || cloud.scaleUpBlocked !== undefined;
  const isOpen = group.target.known && group.target.confirmed;
  return isBlocked || !isOpen || isWhole(group) || closedReason(group, state, nowMs) !== undefined;
}

/** Azure chooses the zone: a pod that needs one is not planned on such a node. */
function withoutZone(node: Node): Node {
  return { ...node, labels: Object.fromEntries(Object.entries(node.labels).filter(([key]) => !ZONE_LABELS.includes(key))) };
}

/** Adds so many nodes of the group to the snapshot. Returns their names. */
export function addNewNodes({ group, node, daemonPods }: GrowablePool, count: number, snapshot: Snapshot): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const name = freeName(`repack-${group.id}`, index, snapshot);
    const pods = daemonPods.map((pod) => ({ ...pod, uid: `${pod.uid} ${name}`, nodeName: name }));
    snapshot.addNode(newNodeFrom(node, name), pods);
    return name;
  });
}

function freeName(what: string, from: number, snapshot: Snapshot): string {
  for (let number = from; ; number++) {
    const name = simulatedNodeName(`${what}-${number}`);
    if (snapshot.get(name) === undefined) return name;
  }
}
