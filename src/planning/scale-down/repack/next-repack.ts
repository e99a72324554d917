/**
 * Which repack begins next, if any: what every repack waits for, and the search for a set that holds by itself and saves enough. Pure; must not know
 * the steps that follow.
 */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { ScaleDownPlan } from '../../../domain/plan.ts';
import {
  isForSickNodes,
  NOTHING_SAVED,
  type RepackLook,
  type RepackMemory,
  type RepackPolicy,
  type RepackSet,
  type RunningRepack,
} from '../../../domain/repack.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import { formatDuration } from '../../../lib/duration.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { inFlightByGroup } from '../../state/increases/increase-records.ts';
import { remainingAllowance } from '../budgets.ts';
import type { ScaleDownContext } from '../plan-context.ts';
import { youngPod } from '../repacked-nodes.ts';
import { growablePools } from './growable-pools.ts';
import { findRepackCandidates, sumOf, type RepackCandidates } from './repack-candidates.ts';
import { checkRepack, type RepackCheckInput } from './repack-check.ts';
import { reasonAgainstRepack, repacksAny } from './repack-rules.ts';
import { searchRepacks } from './repack-search.ts';
import { scoreTooLow } from './repack-stops.ts';
import { sickSetWaits } from './sick-sets.ts';

export interface RepackInput {
  /** Of the plan of removals of the same loop. */
  readonly context: ScaleDownContext;
  readonly names: ResourceNames;
  readonly plan: Pick<ScaleDownPlan, 'unneeded' | 'inhibited'>;
  /** Pods are pending: they may need the room. */
  readonly podsWait: boolean;
}

/** Where the repacks stand in the middle of a plan. */
export interface RepackStanding extends RepackInput {
  readonly rules: RepackPolicy;
  readonly memory: RepackMemory;
  /** Those that this plan has dealt with, or begun. */
  readonly running: readonly RunningRepack[];
}

/** What a search came to. `begins`: the set to begin now; undefined: there is none, and `why`. */
interface NextRepack extends Pick<RepackLook, 'why' | 'saved'> {
  readonly begins: RepackSet | undefined;
}

/** undefined: it is not the time to search. */
export function* findNextRepack(standing: RepackStanding): SlicedWork<NextRepack | undefined> {
  const { context, rules, memory } = standing;
  const { nowMs } = context.observation;
  if (memory.search !== undefined && nowMs - memory.search.atMs < rules.searchEveryMs) return undefined;
  if (!repacksAny(context.groups.values(), context.policy)) return undefined;
  const later = reasonToWait(standing) ?? (hourLeft(standing) < 1 ? hourIsUsed(standing) : undefined);
  return later === undefined ? yield* searchNow(standing) : { why: later, saved: undefined, begins: undefined };
}

/** The first set that holds by itself and saves enough for its moves. */
function* searchNow(standing: RepackStanding): SlicedWork<NextRepack> {
  const { context, plan, memory, rules } = standing;
  const { nowMs } = context.observation;
  const found = yield* findRepackCandidates(context);
  const input = checkInput(standing, found, new Set());
  const busy = busyGroups(standing);
  const open = [...context.groups.values()].filter((group) => !busy.has(group.id) && reasonAgainstRepack(group, context) === undefined);
  const { budgets } = remainingAllowance(context);
  const spent = open.map(({ id: group }) => ({ group, why: budgets.shortage([{ group, cause: 'repacked' }]) }));
  // guard: no repack begins while a budget of removals leaves no node of its pool
  const free = new Set(spent.flatMap(({ group, why }) => (why === undefined ? [group] : [])));
  const candidates = [...input.candidates.values()].filter(
    ({ node, group }) => !plan.unneeded.has(node.name) && (memory.closures.get(node.name)?.untilMs ?? 0) <= nowMs && free.has(group.id),
  );
  if (candidates.length === 0) {
    const why = spent.find((each) => each.why !== undefined)?.why ?? 'no node of a pool that is repacked may be removed now';
    return { why, saved: NOTHING_SAVED, begins: undefined };
  }
  const pools = input.pools.filter(({ group }) => open.some(({ id }) => id === group.id));
  const mostAtOnce = Math.min(rules.maxNodesAtOnce, hourLeft(standing));
  const { sets } = yield* searchRepacks({ context, candidates, pools, closed: input.closed, mostAtOnce });
  const saved = sets.reduce((sum, set) => sumOf(sum, set.saved), NOTHING_SAVED);
  let best: RepackSet | undefined;
  for (const set of sets) {
    const checked = yield* checkRepack(set, set.add?.nodes ?? 0, { ...input, pools });
    if ('why' in checked) continue;
    // guard: a set that saves too little for what it moves is not repacked
    if (checked.set.score >= rules.minScore) {
      return { why: undefined, saved, begins: checked.set };
    }
    if (best === undefined || checked.set.score > best.score) best = checked.set;
  }
  const why = best === undefined ? 'no set of nodes that saves something was found' : scoreTooLow(best, rules);
  return { why, saved, begins: undefined };
}

/** What a check of these candidates reads. `own`: nodes of the set that is checked. */
export function checkInput(standing: RepackStanding, { candidates, kept }: RepackCandidates, own: ReadonlySet<NodeName>): RepackCheckInput {
  const { context, names, plan, rules } = standing;
  const { minPodAgeMs } = rules;
  const young = candidates.flatMap(({ node, drain }) => {
    // guard: no pod is moved by a repack within an hour of its start
    const pod = youngPod(drain.movable, minPodAgeMs, context.observation.nowMs);
    const detail = `pod ${pod} runs for less than ${formatDuration(minPodAgeMs)}`;
    return pod === undefined ? [] : [{ node: node.name, reason: 'RepackInProgress' as const, detail }];
  });
  const tooYoung = new Set(young.map(({ node }) => node));
  const leaving = [...plan.unneeded.keys(), ...busyNodes(standing)].filter((name) => !own.has(name));
  return {
    context,
    candidates: new Map(candidates.flatMap((candidate) => (tooYoung.has(candidate.node.name) ? [] : [[candidate.node.name, candidate]]))),
    kept: [...young, ...kept],
    pools: growablePools(context, names),
    closed: new Set(leaving),
  };
}

/** Why this set does not begin now. undefined: nothing is against it. */
export function reasonToBeginLater(standing: RepackStanding, set: RepackSet): string | undefined {
  return reasonToWait(standing, set) ?? (hourLeft(standing) < set.remove.length ? hourIsUsed(standing) : undefined);
}

/** Why no repack takes a step now. undefined: nothing is against it. */
function reasonToWait({ context, plan, podsWait }: RepackStanding, set?: RepackSet): string | undefined {
  if (set !== undefined && isForSickNodes(set)) return sickSetWaits(set, plan.inhibited, context);
  if (plan.inhibited !== undefined) return plan.inhibited;
  // guard: no repack takes a step while pods are pending
  if (podsWait) return 'pods are pending';
  const [coming] = inFlightByGroup(context.state).keys();
  return coming === undefined ? undefined : `nodes of pool ${coming} are on their way`;
}

function hourLeft({ running, rules, memory }: RepackStanding): number {
  const promised = running.filter(({ stage }) => stage !== 'draining').reduce((sum, { set }) => sum + set.remove.length, 0);
  // guard: repacks remove no more nodes within an hour than they may
  return Math.max(0, rules.maxNodesPerHour - memory.begunMs.length - promised);
}

function hourIsUsed({ rules, memory }: RepackStanding): string {
  return `repacks began to remove ${memory.begunMs.length} nodes within an hour, of ${rules.maxNodesPerHour}`;
}

function busyGroups({ running }: RepackStanding): ReadonlySet<NodeGroupId> {
  return new Set(
    running.flatMap(({ set }) => [...set.remove.map(({ group }) => group), ...(set.add === undefined ? [] : [set.add.group])]),
  );
}

/** Nodes of the repacks under way. */
export function busyNodes({ running, context }: RepackStanding): readonly NodeName[] {
  return [...running, ...context.state.repacks.running].flatMap(({ set }) => set.remove.map(({ node }) => node));
}
