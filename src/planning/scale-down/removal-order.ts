/**
 * In which order nodes that may go are taken. Never by the order of a map: what disturbs least goes first, and where prices
 * are known, what saves most for the disturbance. Among equals the zones of a group are kept even.
 */
import { priceOf, type PriceSources } from '../prices.ts';
import type { BudgetLedger } from './budgets.ts';
import { disruptionCost } from './disruption.ts';
import { byName } from './scope.ts';
import type { Unneeded } from './unneeded.ts';
import { zoneOf, type ZoneSurplus } from './zone-surplus.ts';

interface Ranked {
  readonly candidate: Unneeded;
  /** 1: its pods cannot all be evicted at once. */
  readonly risk: number;
  /** Disruption, per hourly price where every candidate has one. */
  readonly cost: number;
  /** Of the node per hour; 0 when prices are not compared. */
  readonly price: number;
}

/** Lazily, because what was taken before decides which zone is the fullest now: `zones` is asked anew at each step. */
export function* removalOrder(
  candidates: readonly Unneeded[],
  ledger: BudgetLedger,
  zones: ZoneSurplus,
  { prices, nowMs }: { readonly prices: PriceSources; readonly nowMs: number },
): Generator<Unneeded> {
  const ranked = rank(candidates, ledger, { prices, nowMs }).sort(
    (left, right) => compare(left, right) || byAge(left.candidate, right.candidate),
  );
  for (let from = 0; from < ranked.length;) {
    const first = ranked[from];
    if (first === undefined) return;
    let to = from + 1;
    for (let next = ranked[to]; next !== undefined && compare(first, next) === 0; next = ranked[to]) to += 1;
    yield* evenly(
      ranked.slice(from, to).map((entry) => entry.candidate),
      zones,
    );
    from = to;
  }
}

function rank(
  candidates: readonly Unneeded[],
  ledger: BudgetLedger,
  { prices, nowMs }: { readonly prices: PriceSources; readonly nowMs: number },
): Ranked[] {
  const hourly = (candidate: Unneeded): number => priceOf(prices, candidate.group) ?? 0;
  // A node without a price cannot be weighed against one with: then none is.
  const arePriced = candidates.every((candidate) => hourly(candidate) > 0);
  return candidates.map((candidate) => {
    const price = arePriced ? hourly(candidate) : 0;
    const cost = disruptionCost(candidate.drain.movable, nowMs);
    return { candidate, risk: ledger.isRisky(candidate.drain.movable) ? 1 : 0, cost: price > 0 ? cost / price : cost, price };
  });
}

function compare(left: Ranked, right: Ranked): number {
  return left.risk - right.risk || left.cost - right.cost || right.price - left.price;
}

function byAge(left: Unneeded, right: Unneeded): number {
  return left.sinceMs - right.sinceMs || byName(left.node.name, right.node.name);
}

/** Always from the zone that its group has most to spare in; of equal zones the longest unneeded node. */
function* evenly(candidates: readonly Unneeded[], zones: ZoneSurplus): Generator<Unneeded> {
  const queues = new Map<string, Unneeded[]>();
  for (const candidate of candidates) {
    const key = `${candidate.group.id} ${zoneOf(candidate.node) ?? ''}`;
    const queue = queues.get(key);
    if (queue === undefined) queues.set(key, [candidate]);
    else queue.push(candidate);
  }
  for (const queue of queues.values()) queue.reverse();
  for (let left = candidates.length; left > 0; left--) {
    const best = fullest([...queues.values()], zones)?.pop();
    if (best !== undefined) yield best;
  }
}

function fullest(queues: readonly Unneeded[][], zones: ZoneSurplus): Unneeded[] | undefined {
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
