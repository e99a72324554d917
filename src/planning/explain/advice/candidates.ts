/**
 * Which changes would remove the obstacles of one group, before any of them is tried. Every obstacle needs its change, so the sets
 * differ only where an obstacle has several remedies.
 */
import type { GroupRefusal, SkipReason } from '../../../domain/reasons.ts';
import { defined } from '../../../lib/defined.ts';
import type { Change } from '../fix.ts';
import { remediesForFit } from './fit-remedies.ts';
import { remediesForStop } from './limit-remedies.ts';
import { type CandidateInput, combine, type NodesToAllow, type Remedies, type Remedy } from './remedy.ts';

/** A set of changes that removes all obstacles of a group. */
export interface Candidate {
  /** With limits raised for so many new nodes. */
  readonly changesFor: (nodes: NodesToAllow) => readonly Change[];
  /** How much is asked of people; less is better. */
  readonly effort: number;
  /** Whether a pool is added. */
  readonly addsPool: boolean;
}

const NO_OBSTACLE: Remedies = [[]];

/** Empty if some obstacle has no remedy. */
export function candidatesFor(input: CandidateInput): readonly Candidate[] {
  const { fit = [], skip } = input.refusal;
  const perObstacle = fit.map((reason) => remediesForFit(reason, input));
  const stop = skip === undefined ? NO_OBSTACLE : remediesForStop(skip, input);
  const inPlace = combine([...perObstacle, stop].map((remedies) => withoutNewPool(remedies)));
  const elsewhere = combine([...perObstacle, skip === undefined || isOfPool(skip) ? NO_OBSTACLE : stop]).filter(needsNewPool);
  return [...inPlace, ...elsewhere].map(candidateOf);
}

/** Whether only time removes the obstacle. */
export function isWaiting({ skip }: GroupRefusal): boolean {
  return skip !== undefined && WAITING.has(skip.kind);
}

const WAITING: ReadonlySet<SkipReason['kind']> = new Set([
  'backoff',
  'stockout',
  'frozen',
  'last-resort',
  'unhealthy',
  'target-unknown',
  'ramp',
  'probing',
  'trial',
  'not-judged',
]);

/** Obstacles that another pool of the same kind would not have. */
function isOfPool({ kind }: SkipReason): boolean {
  return kind === 'max-size';
}

function needsNewPool(set: readonly Remedy[]): boolean {
  return set.some(([change]) => isNewPool(change));
}

function isNewPool(change: Remedy[0]): change is NewPool {
  return typeof change !== 'function' && change.kind === 'add-pool';
}

type NewPool = Extract<Change, { readonly kind: 'add-pool' }>;

function withoutNewPool(remedies: Remedies): Remedies {
  const left = remedies?.filter((set) => !needsNewPool(set));
  return left === undefined || left.length === 0 ? undefined : left;
}

/** Several obstacles may need the same change, or one new pool that offers all that is needed. */
function candidateOf(remedies: readonly Remedy[]): Candidate {
  const others = remedies.filter(([change]) => !isNewPool(change));
  const distinct = [
    ...new Map(others.map((remedy) => [typeof remedy[0] === 'function' ? remedy[0] : JSON.stringify(remedy[0]), remedy])).values(),
  ];
  const poolEfforts = remedies.flatMap(([change, effort]) => (isNewPool(change) ? [effort] : []));
  const pool = joinedPool(remedies.flatMap(([change]) => (isNewPool(change) ? [change] : [])));
  const all: readonly Remedy[] = pool === undefined ? distinct : [[pool, Math.max(...poolEfforts)], ...distinct];
  return {
    changesFor: (nodes) => all.map(([change]) => (typeof change === 'function' ? change(nodes) : change)),
    effort: all.reduce((sum, [, effort]) => sum + effort, 0),
    addsPool: pool !== undefined,
  };
}

function joinedPool(pools: readonly NewPool[]): NewPool | undefined {
  const [first] = pools;
  if (first === undefined) return undefined;
  const zone = pools.flatMap((pool) => pool.zone ?? [])[0];
  const offers: Readonly<Record<string, number>> = Object.fromEntries(pools.flatMap((pool) => Object.entries(pool.offers)));
  return { kind: 'add-pool', like: first.like, offers, ...defined({ zone }) };
}
