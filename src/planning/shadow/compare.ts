/**
 * Compares the record of a dry run with what others did: totals of both sides, and every disagreement with both sides' reason.
 * What would have happened can only be estimated; each estimate is one rule, written at its function. Pure.
 */
import { defined } from '../../lib/defined.ts';
import { Ledger, type CompareInput, type Wish } from './ledger.ts';
import type { ShadowLine, SizeLine } from './record.ts';
import type { Disagreement, DisagreementKind, ShadowReport, SideTotals } from './report.ts';
import { formatDuration } from '../../lib/duration.ts';

/** A node takes about this long from its request until pods run on it. Only decisions are compared, so both sides have the same. */
const START_MS = 180_000;
/** A smaller difference of two decisions is a matter of when each side looks. */
const SAME_TIME_MS = 60_000;
const MINUTE_MS = 60_000;

const ASSUMPTIONS = [
  `a node takes ${START_MS / MINUTE_MS} min from its request to its first pods on both sides`,
  'what one side adds beyond the other stays until the other needs it, or the pool shrinks again',
  'the cost of evictions is not counted',
];

export function compareShadow(input: CompareInput): ShadowReport {
  const all = new Ledger(input);
  for (const line of input.lines) if (line.kind === 'said') all.said.push(line);
  for (const line of input.lines) if (line.kind === 'repacking') noteSavings(all, line);
  const inside = input.lines.filter(({ atMs }) => atMs >= input.sinceMs);
  for (const line of input.lines) if (line.kind === 'pools' && line.atMs < input.sinceMs) notePools(all, line);
  for (const line of inside) readLine(all, line);
  for (const [pool, wish] of all.wishes) endWish(all, pool, { wish, atMs: input.nowMs });
  for (const [node, { pool, atMs, why }] of all.frees) removedOnlyHere(all, { node, pool, atMs, why, untilMs: input.nowMs, pods: 0 });
  return reportOf(all);
}

function notePools(all: Ledger, { pools, currency }: Extract<ShadowLine, { kind: 'pools' }>): void {
  for (const each of pools) all.pools.set(each.pool, each);
  all.currency = currency;
}

function noteSavings(all: Ledger, { kind: _kind, ...savings }: Extract<ShadowLine, { kind: 'repacking' }>): void {
  all.repacking = savings;
}

function readLine(all: Ledger, line: ShadowLine): void {
  switch (line.kind) {
    case 'pools':
      notePools(all, line);
      // A process that ended forgot its wishes.
      if (line.started === true) for (const [pool, wish] of all.wishes) endWish(all, pool, { wish, atMs: line.atMs });
      return;
    case 'sample':
      noteSample(all, line);
      return;
    case 'wish':
      noteWish(all, line);
      return;
    case 'wish-end': {
      const wish = all.wishes.get(line.pool);
      if (wish !== undefined) endWish(all, line.pool, { wish: { ...wish, pods: Math.max(wish.pods, line.pods) }, atMs: line.atMs });
      return;
    }
    case 'size':
      if (line.to > line.from) noteGrowth(all, line);
      else all.theirs.removed += line.from - line.to;
      return;
    case 'free':
      all.frees.set(line.node, line);
      all.ours.removed += 1;
      return;
    case 'free-end':
      endFree(all, line);
      return;
    case 'gone':
      removedOnlyThere(all, line);
      return;
    case 'repacking':
    case 'said':
  }
}

function noteSample({ theirs }: Ledger, { forMs, waitedMs, longestMs, cost }: Extract<ShadowLine, { kind: 'sample' }>): void {
  theirs.seenMs += forMs;
  theirs.waitedMs += waitedMs;
  theirs.longestMs = Math.max(theirs.longestMs, longestMs);
  if (cost !== undefined) theirs.cost = (theirs.cost ?? 0) + cost;
}

function noteWish({ wishes }: Ledger, { pool, atMs, nodes, pods, why }: Extract<ShadowLine, { kind: 'wish' }>): void {
  const known = wishes.get(pool);
  const more = Math.max(0, nodes - (known?.nodes ?? 0));
  if (known === undefined) wishes.set(pool, { atMs, why, nodes, pods, left: nodes });
  else Object.assign(known, { nodes: known.nodes + more, pods: Math.max(pods, known.pods), left: known.left + more });
}

/** First the same pool, then other pools for the same pods; the rest is an increase that only the other side made. */
function noteGrowth(all: Ledger, line: SizeLine): void {
  const { pool, atMs, from, to } = line;
  all.theirs.added += to - from;
  let rest = to - from;
  const same = all.wishes.get(pool);
  if (same !== undefined) {
    const nodes = Math.min(rest, same.left);
    same.left -= nodes;
    all.ours.added += nodes;
    rest -= nodes;
    if (nodes > 0) earlierIncrease(all, { pool, wish: same, nodes, atMs });
  }
  if (rest > 0) rest = otherPool(all, line, rest);
  if (rest > 0 && line.agreed === true) all.ours.added += rest;
  else if (rest > 0) increasedOnlyThere(all, line, rest);
}

/** Its pods would have waited less by the difference, and its nodes cost more by it. */
function earlierIncrease(
  all: Ledger,
  { pool, wish, nodes, atMs }: { readonly pool: string; readonly wish: Wish; readonly nodes: number; readonly atMs: number },
): void {
  const laterMs = atMs - wish.atMs;
  if (laterMs <= SAME_TIME_MS) return;
  add(all, {
    kind: 'increase earlier',
    atMs: wish.atMs,
    pools: [pool],
    nodes,
    ours: `${pool} by ${nodes}: ${wish.why}`,
    theirs: all.statement(pool, atMs) ?? `the same ${formatDuration(laterMs)} later`,
    cost: all.cost(pool, nodes, laterMs),
    podMinutes: (-laterMs * wish.pods * (nodes / wish.nodes)) / MINUTE_MS,
  });
}

/** The two choices cost differently until the pool that was chosen shrinks. @returns the nodes that no wish explains. */
function otherPool(all: Ledger, { pool, atMs, ours: reason }: SizeLine, nodes: number): number {
  const [found] = [...all.wishes]
    .filter(([name, wish]) => name !== pool && wish.left > 0)
    .sort(([, left], [, right]) => left.atMs - right.atMs);
  if (found === undefined) return nodes;
  const [wished, wish] = found;
  const untilMs = all.next(pool, atMs, 'shrinks');
  const [own, other] = [all.cost(wished, wish.left, untilMs - wish.atMs), all.cost(pool, nodes, untilMs - atMs)];
  add(all, {
    kind: kindOfChoice(all, { wished, pool, reason, own: wish.left, other: nodes }),
    atMs: wish.atMs,
    pools: [wished, pool],
    nodes: wish.left,
    ours: `${wished} by ${wish.left}: ${wish.why}${reason === undefined ? '' : `; ${pool}: ${reason}`}`,
    theirs: all.statement(pool, atMs) ?? `${pool} by ${nodes}`,
    cost: own === undefined || other === undefined ? undefined : own - other,
    podMinutes: (-Math.max(0, atMs - wish.atMs) * wish.pods * (wish.left / wish.nodes)) / MINUTE_MS,
  });
  all.ours.added += wish.left;
  wish.left = 0;
  return 0;
}

interface Choice {
  readonly wished: string;
  readonly pool: string;
  readonly reason: string | undefined;
  readonly own: number;
  readonly other: number;
}

function kindOfChoice(all: Ledger, { wished, pool, reason = '', own, other }: Choice): DisagreementKind {
  if (reason.startsWith('in backoff') || reason.startsWith('out of capacity')) return 'other pool, no capacity';
  const [ours, theirs] = [all.price(wished), all.price(pool)];
  return ours !== undefined && theirs !== undefined && ours * own < theirs * other ? 'other pool, cheaper' : 'other pool';
}

/** The nodes are paid for until the pool shrinks again. */
function increasedOnlyThere(all: Ledger, { pool, atMs, ours = 'no pending pod needs it' }: SizeLine, nodes: number): void {
  add(all, {
    kind: 'increase only there',
    atMs,
    pools: [pool],
    nodes,
    ours: `no increase of ${pool}: ${ours}`,
    theirs: all.statement(pool, atMs) ?? `${pool} by ${nodes}`,
    cost: negative(all.cost(pool, nodes, all.next(pool, atMs, 'shrinks') - atMs)),
    podMinutes: 0,
  });
}

/** Pods that waited longer than a node takes to start would have waited as long as that. The nodes are paid for until the wish ended. */
function endWish(all: Ledger, pool: string, { wish, atMs }: { readonly wish: Wish; readonly atMs: number }): void {
  all.wishes.delete(pool);
  const forMs = atMs - wish.atMs;
  if (wish.left <= 0 || forMs <= SAME_TIME_MS) return;
  all.ours.added += wish.left;
  add(all, {
    kind: 'increase only here',
    atMs: wish.atMs,
    pools: [pool],
    nodes: wish.left,
    ours: `${pool} by ${wish.left}: ${wish.why}`,
    theirs:
      all.statement(pool, wish.atMs) ?? all.statement("didn't trigger scale-up", wish.atMs) ?? 'no increase; its events give no reason',
    cost: all.cost(pool, wish.left, forMs),
    podMinutes: (-Math.max(0, forMs - START_MS) * wish.pods * (wish.left / wish.nodes)) / MINUTE_MS,
  });
}

function endFree(all: Ledger, { node, pool, atMs, how, pods }: Extract<ShadowLine, { kind: 'free-end' }>): void {
  const free = all.frees.get(node);
  if (free === undefined) return;
  all.frees.delete(node);
  if (how === 'needed') return removedOnlyHere(all, { ...free, node, untilMs: atMs, pods });
  const laterMs = atMs - free.atMs;
  if (laterMs <= SAME_TIME_MS) return;
  add(all, {
    kind: 'removal earlier',
    atMs: free.atMs,
    pools: [pool],
    nodes: 1,
    ours: `${node} removed: ${free.why}`,
    theirs: all.statement(node, atMs) ?? `the same ${formatDuration(laterMs)} later`,
    cost: negative(all.cost(pool, 1, laterMs)),
    podMinutes: 0,
  });
}

interface LoneRemoval {
  readonly node: string;
  readonly pool: string;
  readonly atMs: number;
  readonly untilMs: number;
  readonly why: string;
  /** Pods that came to the node later. */
  readonly pods: number;
}

/** The node is not paid for until it is needed again. Pods that came to it would have waited for a new one. */
function removedOnlyHere(all: Ledger, { node, pool, atMs, untilMs, why, pods }: LoneRemoval): void {
  if (untilMs - atMs <= SAME_TIME_MS && pods === 0) return;
  add(all, {
    kind: 'removal only here',
    atMs,
    pools: [pool],
    nodes: 1,
    ours: `${node} removed: ${why}`,
    theirs: all.statement(node, atMs) ?? 'kept; its events give no reason',
    cost: negative(all.cost(pool, 1, untilMs - atMs)),
    podMinutes: (pods * START_MS) / MINUTE_MS,
  });
}

/** The node would be paid for until its pool grows again, or until this side would have removed it. */
function removedOnlyThere(all: Ledger, { node, pool, atMs, ours, dueMs }: Extract<ShadowLine, { kind: 'gone' }>): void {
  if (dueMs !== undefined) {
    all.ours.removed += 1;
    if (dueMs - atMs <= SAME_TIME_MS) return;
  }
  add(all, {
    kind: 'removal only there',
    atMs,
    pools: [pool],
    nodes: 1,
    ours: `${node} kept: ${ours}`,
    theirs: all.statement(node, atMs) ?? 'removed; its events give no reason',
    cost: all.cost(pool, 1, Math.min(dueMs ?? Infinity, all.next(pool, atMs, 'grows')) - atMs),
    podMinutes: 0,
  });
}

function add({ found }: Ledger, { cost, ...rest }: Omit<Disagreement, 'cost'> & { readonly cost: number | undefined }): void {
  found.push(cost === undefined ? rest : { ...rest, cost });
}

function negative(cost: number | undefined): number | undefined {
  return cost === undefined ? undefined : -cost;
}

function reportOf(all: Ledger): ShadowReport {
  const { input, found, theirs, ours } = all;
  const { sinceMs, nowMs } = input;
  const firstMs = input.lines[0]?.atMs ?? nowMs;
  const fromMs = Math.max(sinceMs, firstMs);
  const podMinutes = theirs.waitedMs / MINUTE_MS;
  const saved = found.reduce((sum, each) => sum + each.podMinutes, 0);
  const money = found.reduce((sum, each) => sum + (each.cost ?? 0), 0);
  return {
    fromMs,
    toMs: nowMs,
    isPartial: firstMs > sinceMs + MINUTE_MS,
    seenMs: theirs.seenMs,
    pools: all.pools.size,
    ...defined({ currency: all.currency }),
    theirs: { ...costOf(theirs.cost), podMinutes, nodesAdded: theirs.added, nodesRemoved: theirs.removed, longestWaitMs: theirs.longestMs },
    ours: {
      ...costOf(theirs.cost === undefined ? undefined : Math.max(0, theirs.cost + money)),
      podMinutes: Math.max(0, podMinutes + saved),
      nodesAdded: ours.added,
      nodesRemoved: ours.removed,
    },
    disagreements: found.toSorted((left, right) => left.atMs - right.atMs),
    ...defined({ repacking: all.repacking }),
    sizesWithoutPrice: [
      ...new Set([...all.pools.values()].flatMap(({ perHour, vmSize }) => (perHour === undefined ? [vmSize] : []))),
    ].sort(),
    assumptions: ASSUMPTIONS,
  };
}

function costOf(cost: number | undefined): Pick<SideTotals, 'cost'> {
  return cost === undefined ? {} : { cost };
}
