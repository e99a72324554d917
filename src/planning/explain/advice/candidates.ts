/**
 * Which changes would remove the obstacles of groups, before any of them is tried. Every obstacle needs its change, so the sets of one group
 * differ only where an obstacle has several remedies.
 */
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { GroupRefusal, SkipReason } from '../../../domain/reasons.ts';
import { defined } from '../../../lib/defined.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import type { Change } from '../changes/change-kinds.ts';
import { keyOf } from '../changes/change.ts';
import { addedPoolId } from '../changes/new-pool.ts';
import { remediesForFit } from './fit-remedies.ts';
import { remediesForStop } from './limit-remedies.ts';
import { type CandidateInput, combine, type Remedies, type Remedy } from './remedy.ts';
import { byEffort, type Candidate, changesOf } from './search.ts';
import type { Simulation } from './simulate.ts';

/** Groups that a new pool is modelled on: the nearest ones. */
const MOST_NEW_POOLS = 3;

/** A set of changes that removes all obstacles of a group. */
export interface PoolCandidate extends Candidate {
  readonly group: NodeGroup;
  /** Whether a pool like the group is added. */
  readonly addsPool: boolean;
}

/** Of all groups that need more than time; least effort first. `shape`: of the pods. */
export function rankedCandidates(refusals: readonly GroupRefusal[], shape: PodShape, input: ScaleUpInput): readonly PoolCandidate[] {
  const groups = new Map(input.observation.cloud.groups.map((group) => [group.id, group]));
  const all = refusals.flatMap((refusal) => {
    const group = groups.get(refusal.group);
    return group === undefined || isWaiting(refusal) ? [] : candidatesFor({ ...input, refusal, group, shape });
  });
  const elsewhere = all.filter(({ addsPool }) => addsPool).sort(byEffort);
  return [...all.filter(({ addsPool }) => !addsPool), ...elsewhere.slice(0, MOST_NEW_POOLS)].sort(byEffort);
}

/** With the changes against what the group, or the new pool, still has. Their numbers count on top of the nodes that were added. */
export function candidatesAfter(
  candidate: PoolCandidate,
  { refusals, newNodes }: Simulation,
  shape: PodShape,
  input: ScaleUpInput,
): readonly PoolCandidate[] {
  const { group, effort, addsPool } = candidate;
  const target = addsPool ? addedPoolId(group.id) : group.id;
  const refusal = refusals?.find((each) => each.group === target);
  if (refusal === undefined || isWaiting(refusal)) return [];
  const further = candidatesFor({ ...input, refusal, group, shape }).filter((more) => !more.addsPool);
  return further.map((more) => ({
    group,
    addsPool,
    effort: effort + more.effort,
    changes: (nodes) => [...changesOf(candidate, nodes), ...changesOf(more, Math.max(0, nodes - newNodes))],
  }));
}

const NO_OBSTACLE: Remedies = [[]];

/** Empty if some obstacle has no remedy. */
function candidatesFor(input: CandidateInput): readonly PoolCandidate[] {
  const { fit = [], skip } = input.refusal;
  const perObstacle = fit.map((reason) => remediesForFit(reason, input));
  const stop = skip === undefined ? NO_OBSTACLE : remediesForStop(skip, input);
  const inPlace = combine([...perObstacle, stop].map((remedies) => withoutNewPool(remedies)));
  const elsewhere = combine([...perObstacle, skip === undefined || isOfPool(skip) ? NO_OBSTACLE : stop]).filter(needsNewPool);
  return [...inPlace, ...elsewhere].map((remedies) => candidateOf(remedies, input.group));
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

type NewPool = Change<'add-pool'>;

function withoutNewPool(remedies: Remedies): Remedies {
  const left = remedies?.filter((set) => !needsNewPool(set));
  return left === undefined || left.length === 0 ? undefined : left;
}

/** Several obstacles may need the same change, or one new pool that offers all that is needed. */
function candidateOf(remedies: readonly Remedy[], group: NodeGroup): PoolCandidate {
  const others = remedies.filter(([change]) => !isNewPool(change));
  const distinct = [...new Map(others.map((remedy) => [typeof remedy[0] === 'function' ? remedy[0] : keyOf(remedy[0]), remedy])).values()];
  const poolEfforts = remedies.flatMap(([change, effort]) => (isNewPool(change) ? [effort] : []));
  const pool = joinedPool(remedies.flatMap(([change]) => (isNewPool(change) ? [change] : [])));
  const all: readonly Remedy[] = pool === undefined ? distinct : [[pool, Math.max(...poolEfforts)], ...distinct];
  return {
    group,
    changes: (nodes) => all.map(([change]) => (typeof change === 'function' ? change(nodes) : change)),
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
