/**
 * In which order removable nodes are removed, independent of the order of maps: the least disruption first, and if prices are
 * known, the most saved per disruption. Empty nodes come before others, and of both, those with an old image: their pods would soon have to move
 * anyway. Among equals, the zones of a group stay even; groups that are one group per zone stay even before all else.
 */
import { compareText } from '../../lib/comparison.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Pod } from '../../domain/pod.ts';
import { zonePart } from '../../domain/node-template.ts';
import { paidUses, type Seen } from '../facts/paid-nodes.ts';
import { priceOf } from '../expanders/node-price.ts';
import type { BudgetLedger } from './budgets.ts';
import { isLeaving, type ScaleDownContext } from './plan-context.ts';
import type { Unneeded } from './unneeded.ts';
import type { PriceSources } from '../../domain/policy.ts';

/** A priority, or a deletion cost, of this much weighs as much as one more ordinary pod. */
const WORTH_ONE_POD = 100_000_000;
/** Moving a pod always costs something, however unimportant the pod is. */
const MIN_POD_COST = 0.1;
/** A running pod has built up caches, connections and unfinished work. Its age counts in steps, so that equal loads stay equal. */
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Sums of the same fractions in another order must be equal. */
const PRECISION = 1e6;

/**
 * What it costs the workloads if the pods move, in ordinary pods: each pod counts by its priority, its `pod-deletion-cost` and
 * its age, since the last restart of a container: what it had built up until then is lost already. 0 only if there are no pods.
 */
export function disruptionCost(pods: readonly Pod[], nowMs: number): number {
  const sum = pods.reduce((total, pod) => {
    const weight = (pod.shape.priority ?? 0) + pod.annotations.deletionCost;
    return total + Math.max(MIN_POD_COST, 1 + weight / WORTH_ONE_POD) + ageCost(nowMs - (pod.status.restartedAtMs ?? pod.createdAtMs));
  }, 0);
  return Math.round(sum * PRECISION) / PRECISION;
}

/** From 0 for a young pod to 0.5 for a pod of a day. */
function ageCost(ageMs: number): number {
  return ageMs < HOUR_MS ? 0 : ageMs < DAY_MS ? 0.25 : 0.5;
}

const ZONE_LABEL = 'topology.kubernetes.io/zone';
const NO_GROUPS: readonly NodeGroup[] = [];

/**
 * How many more nodes a group, or its family of siblings, has in one zone than in its emptiest zone. Follows the plan as nodes are selected.
 */
export class ZoneSurplus {
  /** By group, the zones of its family; those of a group without siblings are its own. */
  readonly #counts = new Map<NodeGroupId, Map<string, number>>();
  readonly #families: ScaleDownContext['families'];

  constructor(context: ScaleDownContext) {
    const { cluster, cloud } = context.observation;
    this.#families = context.policy.scaleUp.balanceSimilarGroups ? context.families : new Map();
    for (const { groups, zoneOf: zones } of new Set(this.#families.values())) {
      // A zone in which the family has a group and no node is its emptiest.
      const counts = new Map([...zones.values()].map((zone) => [zone, 0]));
      for (const { id } of groups) this.#counts.set(id, counts);
    }
    for (const [name, node] of cluster.nodes) {
      const group = cloud.groupOfNode.get(name);
      const zone = zoneOf(node);
      if (group === undefined || zone === undefined || isLeaving(node, context)) continue;
      const zones = this.#counts.get(group) ?? new Map<string, number>();
      this.#counts.set(group, zones.set(zone, (zones.get(zone) ?? 0) + 1));
    }
  }

  of(group: NodeGroupId, node: Node): number {
    const zones = this.#counts.get(group);
    const zone = zoneOf(node);
    if (zones === undefined || zone === undefined) return 0;
    return (zones.get(zone) ?? 0) - Math.min(...zones.values());
  }

  /** Whether no other node of the group stays in that zone. */
  isLast(group: NodeGroupId, node: Node): boolean {
    const zone = zoneOf(node);
    return zone !== undefined && (this.#counts.get(group)?.get(zone) ?? 0) <= 1;
  }

  /** Whether no node of the group stays in that zone. */
  isGone(group: NodeGroupId, node: Node): boolean {
    const zone = zoneOf(node);
    return zone !== undefined && (this.#counts.get(group)?.get(zone) ?? 0) === 0;
  }

  /** The groups of its family, itself included. Empty if it has no siblings. */
  siblingsOf(group: NodeGroupId): readonly NodeGroup[] {
    return this.#families.get(group)?.groups ?? NO_GROUPS;
  }

  countRemoval(group: NodeGroupId, node: Node): void {
    const zones = this.#counts.get(group);
    const zone = zoneOf(node);
    if (zones !== undefined && zone !== undefined) zones.set(zone, (zones.get(zone) ?? 0) - 1);
  }
}

function zoneOf(node: Node): string | undefined {
  const zone = node.labels[ZONE_LABEL];
  return zone === undefined ? undefined : zonePart(zone);
}

interface Ranked {
  readonly candidate: Unneeded;
  /** 1 if its pods cannot all be evicted at once, else 0. */
  readonly risk: number;
  /** 1 if pods have to move, else 0. */
  readonly occupied: number;
  /** 0 if its image is older than that of its group, else 1. */
  readonly image: number;
  /** 1 if its removal saves nothing since it is paid anyway, else 0. 0 if prices are not compared. */
  paid: number;
  /** Disruption; divided by the hourly price if every candidate has one. */
  readonly cost: number;
  /** Of the node per hour; 0 if prices are not compared. */
  readonly price: number;
}

interface Order {
  readonly prices: PriceSources;
  readonly nowMs: number;
  readonly hasOldImage: ScaleDownContext['hasOldImage'];
  /** For nodes that are paid already. */
  readonly observation: Seen;
}

/**
 * Lazy, because earlier removals decide which zone is the fullest: `zones` is read again at each step. If a sibling group has a candidate in
 * a fuller zone, that one comes first, whatever the disruption. A broken node neither waits nor stands in for another.
 */
export function* removalOrder(
  candidates: readonly Unneeded[],
  ledger: BudgetLedger,
  zones: ZoneSurplus,
  order: Order,
): Generator<Unneeded> {
  const inOrder = (left: Ranked, right: Ranked): number => compareDisruption(left, right) || byAge(left.candidate, right.candidate);
  const ranked = rankCandidates(candidates, ledger, order).sort(inOrder);
  if (notePaid(ranked, order)) ranked.sort(inOrder);
  const siblings = new SiblingQueues(ranked, zones);
  const offered = new Set<Unneeded>();
  for (const candidate of byDisruption(ranked, zones)) {
    while (!offered.has(candidate)) {
      const next = siblings.inFullerZone(candidate, offered) ?? candidate;
      offered.add(next);
      yield next;
    }
  }
}

/** Candidates of groups with siblings: by group, which is one zone of its family, the least disrupting last. */
class SiblingQueues {
  readonly #queues = new Map<NodeGroupId, Unneeded[]>();
  readonly #zones: ZoneSurplus;

  constructor(ranked: readonly Ranked[], zones: ZoneSurplus) {
    this.#zones = zones;
    for (const { candidate } of ranked) {
      if (!candidate.node.readiness.ready || zones.siblingsOf(candidate.group.id).length === 0) continue;
      const queue = this.#queues.get(candidate.group.id);
      if (queue === undefined) this.#queues.set(candidate.group.id, [candidate]);
      else queue.push(candidate);
    }
    for (const queue of this.#queues.values()) queue.reverse();
  }

  /** The candidate in the fullest zone that has more nodes of the family than the candidate's own. undefined: there is none. */
  inFullerZone({ group, node }: Unneeded, offered: ReadonlySet<Unneeded>): Unneeded | undefined {
    if (!node.readiness.ready) return undefined;
    let best: Unneeded | undefined;
    let most = this.#zones.of(group.id, node);
    for (const { id } of this.#zones.siblingsOf(group.id)) {
      const head = this.#headOf(id, offered);
      const surplus = head === undefined ? 0 : this.#zones.of(id, head.node);
      // guard: no removal leaves the zones of sibling groups less even while a sibling in a fuller zone can be removed
      if (head !== undefined && surplus > most) [best, most] = [head, surplus];
    }
    return best;
  }

  #headOf(group: NodeGroupId, offered: ReadonlySet<Unneeded>): Unneeded | undefined {
    const queue = this.#queues.get(group);
    for (let head = queue?.at(-1); head !== undefined; head = queue?.at(-1)) {
      if (!offered.has(head)) return head;
      queue?.pop();
    }
    return undefined;
  }
}

function* byDisruption(ranked: readonly Ranked[], zones: ZoneSurplus): Generator<Unneeded> {
  for (let from = 0; from < ranked.length;) {
    const first = ranked[from];
    if (first === undefined) return;
    let to = from + 1;
    for (let next = ranked[to]; next !== undefined && compareDisruption(first, next) === 0; next = ranked[to]) to += 1;
    yield* evenlyByZone(
      ranked.slice(from, to).map((entry) => entry.candidate),
      zones,
    );
    from = to;
  }
}

function rankCandidates(candidates: readonly Unneeded[], ledger: BudgetLedger, { prices, nowMs, hasOldImage }: Order): Ranked[] {
  const hourly = (candidate: Unneeded): number => priceOf(prices, candidate.group) ?? 0;
  // A node without a price cannot be compared with one that has a price: then prices do not count.
  const arePriced = candidates.every((candidate) => hourly(candidate) > 0);
  return candidates.map((candidate) => {
    const price = arePriced ? hourly(candidate) : 0;
    const cost = disruptionCost(candidate.drain.movable, nowMs);
    return {
      candidate,
      risk: ledger.exceedsAllowed(candidate.drain.movable) ? 1 : 0,
      occupied: cost > 0 ? 1 : 0,
      image: hasOldImage(candidate.node.name) ? 0 : 1,
      paid: 0,
      cost: price > 0 ? cost / price : cost,
      price,
    };
  });
}

/** Of each paid size, the first nodes in the order are those that are bought; removing more saves nothing. Returns whether there are any. */
function notePaid(ranked: readonly Ranked[], { prices, observation }: Order): boolean {
  const bought = new Map(paidUses(prices.paidNodes, observation).map(({ size, count, running }) => [size, running - count]));
  if (bought.size === 0) return false;
  for (const each of ranked) {
    const size = each.candidate.group.vmSize.toLowerCase();
    const left = each.price === 0 || each.candidate.group.priority === 'Spot' ? undefined : bought.get(size);
    if (left === undefined) continue;
    bought.set(size, left - 1);
    each.paid = left > 0 ? 0 : 1;
  }
  return true;
}

function compareDisruption(left: Ranked, right: Ranked): number {
  return (
    left.risk - right.risk ||
    left.occupied - right.occupied ||
    left.image - right.image ||
    left.paid - right.paid ||
    left.cost - right.cost ||
    right.price - left.price
  );
}

function byAge(left: Unneeded, right: Unneeded): number {
  return left.sinceMs - right.sinceMs || compareText(left.node.name, right.node.name);
}

/** Always from the zone with the largest surplus of its group; of equal zones, the longest unneeded node. */
function* evenlyByZone(candidates: readonly Unneeded[], zones: ZoneSurplus): Generator<Unneeded> {
  const queues = new Map<string, Unneeded[]>();
  for (const candidate of candidates) {
    const key = `${candidate.group.id} ${zoneOf(candidate.node) ?? ''}`;
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, [candidate]);
    else queue.push(candidate);
  }
  for (const queue of queues.values()) queue.reverse();
  for (let left = candidates.length; left > 0; left--) {
    const best = fullestZone([...queues.values()], zones)?.pop();
    if (best !== undefined) yield best;
  }
}

function fullestZone(queues: readonly Unneeded[][], zones: ZoneSurplus): Unneeded[] | undefined {
  let best: { readonly queue: Unneeded[]; readonly head: Unneeded; readonly surplus: number } | undefined;
  for (const queue of queues) {
    const head = queue.at(-1);
    if (head === undefined) continue;
    const surplus = zones.of(head.group.id, head.node);
    const isBetter = best === undefined || surplus > best.surplus || (surplus === best.surplus && byAge(head, best.head) < 0);
    if (isBetter) best = { queue, head, surplus };
  }
  return best?.queue;
}
