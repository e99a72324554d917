/**
 * What a set saves, and what it costs the workloads. Prices decide only if the user stated them, or said that list prices decide; without them
 * a node that goes is worth a node, and a node of another group can be compared only by the user's order of groups, as after a fall-back to
 * regular nodes: a node that comes first in it is worth less than those behind it.
 */
import type { AddedNodes, RepackSet, Saved } from '../../../domain/repack.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { PriceSources } from '../../../domain/policy.ts';
import { CPU } from '../../../domain/resources.ts';
import { decisivePrices, priceOf, savedByRemovals } from '../../expanders/node-price.ts';
import { orderOf } from '../../expanders/preference.ts';
import { costOfNew } from '../../facts/paid-nodes.ts';
import { freeAmong, freeRoom } from '../../scale-up/groups/quotas.ts';
import type { Candidate } from '../eligibility.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { disruptionCost } from '../removal-order.ts';

/** Sums of the same prices in another order must be equal. */
const PRECISION = 1e9;
/** What a node counts whose group the user's order puts first, if no prices decide: how much less it costs is not known. */
const PREFERRED_NODE = 0.5;
/** A set without pods would have no end of a score. */
const LEAST_DISRUPTION = 0.1;

/** New nodes of one group. */
export interface NewNodes {
  readonly group: NodeGroup;
  readonly nodes: number;
}

/** What decides about a set. */
export interface Worth {
  /** Money per hour if the prices of all its nodes decide, else nodes. Negative: it costs more. */
  readonly gain: number;
  /** The same in removed nodes of the usual price. */
  readonly nodes: number;
}

/** undefined: it is not known. */
export function worthOf(removed: readonly NodeGroup[], added: NewNodes | undefined, context: ScaleDownContext): Worth | undefined {
  const order = added === undefined ? 'same' : orderOf(context.policy.scaleUp, added.group, removed);
  // guard: no repack moves pods to a group that the user's order puts behind theirs
  if (order === 'behind') return undefined;
  const prices = decisivePrices(context.policy.scaleUp);
  const money = moneySaved(removed, added, prices, context);
  const usual = removed.reduce((sum, group) => sum + (priceOf(prices, group) ?? 0), 0) / Math.max(1, removed.length);
  if (money !== undefined && usual > 0) return { gain: money, nodes: rounded(money / usual) };
  if (added !== undefined && order === 'before') {
    const nodes = removed.length - PREFERRED_NODE * added.nodes;
    return { gain: nodes, nodes };
  }
  // guard: nodes of groups whose prices are not known are not replaced by others
  return added === undefined ? { gain: removed.length, nodes: removed.length } : undefined;
}

function moneySaved(
  removed: readonly NodeGroup[],
  added: NewNodes | undefined,
  prices: PriceSources,
  { observation }: ScaleDownContext,
): number | undefined {
  const parts = savedByRemovals(removed, prices, observation);
  const cost = added === undefined ? 0 : costOfAdded(added, prices, observation);
  if (cost === undefined) return undefined;
  let sum = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    sum += part;
  }
  return rounded(sum - cost);
}

function costOfAdded({ group, nodes }: NewNodes, prices: PriceSources, observation: Observation): number | undefined {
  const free = freeAmong(freeRoom(prices, observation), { group, template: group.template }, nodes);
  return costOfNew(nodes, free, priceOf(prices, group));
}

/** For people: with prices that decide nothing, too. */
function savedOf(removed: readonly Candidate[], added: NewNodes | undefined, context: ScaleDownContext): Saved {
  const groups = removed.map(({ group }) => group);
  const cpuOf = (group: NodeGroup): number => group.template?.capacity[CPU] ?? 0;
  return {
    nodes: removed.length - (added?.nodes ?? 0),
    cpuMillis:
      removed.reduce((sum, { node }) => sum + (node.capacity[CPU] ?? 0), 0) - (added === undefined ? 0 : added.nodes * cpuOf(added.group)),
    perHour: moneySaved(groups, added, context.policy.scaleUp, context),
  };
}

/** The set with its numbers. */
export function scoredSet(removed: readonly Candidate[], added: NewNodes | undefined, worth: Worth, context: ScaleDownContext): RepackSet {
  const pods = removed.flatMap(({ drain }) => drain.movable);
  const disruption = disruptionOf(pods, context);
  const add: AddedNodes | undefined = added === undefined ? undefined : { group: added.group.id, nodes: added.nodes };
  return {
    remove: removed.map(({ node, group }) => ({ node: node.name, group: group.id, condition: undefined })),
    add,
    saved: savedOf(removed, added, context),
    pods: pods.length,
    disruption,
    score: rounded((100 * worth.nodes) / Math.max(LEAST_DISRUPTION, disruption)),
  };
}

export function disruptionOf(pods: readonly Pod[], { observation }: ScaleDownContext): number {
  return disruptionCost(pods, observation.nowMs);
}

function rounded(value: number): number {
  return Math.round(value * PRECISION) / PRECISION;
}
