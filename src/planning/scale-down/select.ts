import { type NodeGroupId, podName } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import { GangLedger } from '../../scheduling/drainability/gang-ledger.ts';
import { statedDrain } from '../../scheduling/drainability/group-drain-options.ts';
import { isWhole, type NodeGroup } from '../../domain/node-group.ts';
import type { UnremovableNode, Removal, RemovalCause } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { optionsOf } from '../../domain/policy.ts';
import { decisivePrices } from '../expanders/node-price.ts';
import { isWorking, unreadyForMsOf } from '../state/node-counts.ts';
import { BudgetLedger, type RemovalAllowance, type GroupMinimums, ClusterMinimum } from './budgets.ts';
import { groupCooldownEndMs } from './cooldown.ts';
import { minimumSizeReason } from './eligibility.ts';
import { ParallelDrains } from './parallel-drains.ts';
import { isLeaving, reservedNodes, type ScaleDownContext } from './plan-context.ts';
import type { ReservedNodes } from '../facts/reserved-nodes.ts';
import { removalOrder, ZoneSurplus } from './removal-order.ts';
import type { Removed } from '../facts/removal-budgets.ts';
import { placementOrder } from './simulate-removal.ts';
import type { Unneeded, UnneededNodes } from './unneeded.ts';
import { reasonAgainstReimage } from './repacked-nodes.ts';
import { outageOfZone } from '../scale-up/groups/zone-outages.ts';

/** All nodes of a zero-or-max group, ordered by name: they are removed together or not at all. */
type AtomicGroup = readonly Unneeded[];

interface SplitCandidates {
  /** Groups with an empty node first, then by id. */
  readonly atomic: readonly AtomicGroup[];
  readonly singles: readonly Unneeded[];
  /** Removable nodes of atomic groups that have unremovable nodes. */
  readonly kept: readonly UnremovableNode[];
}

/** Separates nodes that are removed one by one, atomic groups, and nodes of incomplete atomic groups. */
function splitAtomicGroups(context: ScaleDownContext, due: readonly Unneeded[]): SplitCandidates {
  const groups = new Map<NodeGroupId, Unneeded[]>();
  const singles: Unneeded[] = [];
  for (const candidate of due) {
    if (!isWhole(candidate.group)) singles.push(candidate);
    else groups.set(candidate.group.id, [...(groups.get(candidate.group.id) ?? []), candidate]);
  }
  const atomic: AtomicGroup[] = [];
  const kept: UnremovableNode[] = [];
  for (const [id, candidates] of [...groups].sort(([left], [right]) => compareText(left, right))) {
    const missing = incompleteReason(context, id, candidates.length);
    if (missing === undefined) atomic.push([...candidates].sort((left, right) => compareText(left.node.name, right.node.name)));
    else {
      kept.push(
        ...candidates.map(({ node, utilization }) => ({
          node: node.name,
          reason: 'AtomicScaleDownFailed' as const,
          detail: missing,
          utilization,
        })),
      );
    }
  }
  const rank = (group: AtomicGroup): number => (group.some(({ drain }) => drain.movable.length === 0) ? 0 : 1);
  return { atomic: atomic.sort((left, right) => rank(left) - rank(right)), singles, kept };
}

/** A group is complete by its target size or by its registered nodes: an instance that never registered does not block it. */
function incompleteReason(context: ScaleDownContext, id: NodeGroupId, ready: number): string | undefined {
  const group = context.groups.get(id);
  if (group === undefined) return 'its node group no longer exists';
  const { cluster, cloud } = context.observation;
  let registered = 0;
  for (const [name, node] of cluster.nodes) if (cloud.groupOfNode.get(name) === id && !isLeaving(node, context)) registered += 1;
  const target = group.target.known ? group.target.value - (context.draining.get(id)?.length ?? 0) : undefined;
  if (ready === registered || ready === target) return undefined;
  return `the group is removed as a whole, and only ${ready} of its ${registered} nodes can be removed`;
}

interface Selection {
  readonly removals: readonly Removal[];
  readonly kept: readonly UnremovableNode[];
}

interface RemovalBudgets {
  readonly allowance: RemovalAllowance;
  readonly groupMinimums: GroupMinimums;
  readonly ledger: BudgetLedger;
  readonly gangs: GangLedger;
  readonly minimum: ClusterMinimum;
  readonly reserved: ReservedNodes;
  readonly zones: ZoneSurplus;
  readonly parallel: ParallelDrains;
}

/** Selects the unneeded nodes to remove now, the least disrupting first, within all limits. */
export function selectRemovals(
  context: ScaleDownContext,
  unneeded: UnneededNodes,
  spendable: { readonly allowance: RemovalAllowance; readonly groupMinimums: GroupMinimums },
): Selection {
  const removals: Removal[] = [];
  const kept: UnremovableNode[] = [];
  const due: Unneeded[] = [];
  const keep = ({ node, utilization }: Unneeded, refusal: Refusal): void => void kept.push({ node: node.name, utilization, ...refusal });
  for (const candidate of unneeded.nodes) {
    const refusal =
      notDueYet(candidate, context) ??
      groupCoolingDown(candidate, context) ??
      outageOfZone(candidate, context) ??
      groupWaitedFor(candidate, context);
    if (refusal === undefined) due.push(candidate);
    else keep(candidate, refusal);
  }
  if (due.length === 0) return { removals, kept };
  const zones = new ZoneSurplus(context);
  const budgets: RemovalBudgets = {
    ...spendable,
    ledger: new BudgetLedger(context),
    gangs: new GangLedger(context.inSequence ? undefined : context.gangs),
    minimum: new ClusterMinimum(context),
    reserved: reservedNodes(context, context.leaving),
    zones,
    parallel: new ParallelDrains(context, zones, unneeded.reserved),
  };
  const { atomic, singles, kept: incomplete } = splitAtomicGroups(context, due);
  kept.push(...incomplete);
  for (const group of atomic) {
    const refusal = removalRefusal(group, budgets, { mayExceed: removals.length === 0 });
    if (refusal !== undefined) {
      for (const candidate of group) keep(candidate, refusal);
      continue;
    }
    for (const candidate of group) countRemoval(candidate, budgets);
    removals.push(...group.map((candidate) => ({ ...toRemoval(candidate, context), together: true as const })));
  }
  const { hasOldImage } = context;
  const order = {
    prices: decisivePrices(context.policy.scaleUp),
    nowMs: context.observation.nowMs,
    hasOldImage,
    observation: context.observation,
  };
  for (const candidate of removalOrder(singles, budgets.ledger, budgets.zones, order)) {
    const refusal = removalRefusal([candidate], budgets, { mayExceed: false }) ?? budgets.parallel.refusal(candidate);
    if (refusal !== undefined) {
      keep(candidate, refusal);
      continue;
    }
    countRemoval(candidate, budgets);
    removals.push(toRemoval(candidate, context));
  }
  return { removals, kept };
}

type Refusal = Omit<UnremovableNode, 'node' | 'utilization'>;

/** The time must have passed in full: at exactly its last millisecond it has not. */
function notDueYet(candidate: Unneeded, context: ScaleDownContext): Refusal | undefined {
  const { group, node } = candidate;
  const options = optionsOf(group, context.policy);
  const ready = node.readiness.ready;
  // It was found and checked for as long as repacks wait.
  if (ready && candidate.repacked) return undefined;
  const waitMs = ready ? options.unneededForMs : unreadyForMsOf(node, group, context.observation, context.policy);
  // A node that is still starting is not broken, however long it was unneeded.
  const startsUntilMs = ready ? -Infinity : node.createdAtMs + options.maxStartupMs;
  const dueAtMs = Math.max(candidate.sinceMs + waitMs, startsUntilMs);
  if (dueAtMs < context.observation.nowMs) return undefined;
  return { reason: ready ? 'NotUnneededLongEnough' : 'NotUnreadyLongEnough', recheckAtMs: dueAtMs };
}

function groupCoolingDown({ group }: Unneeded, context: ScaleDownContext): Refusal | undefined {
  const untilMs = groupCooldownEndMs(group, context);
  return untilMs === undefined ? undefined : { reason: 'GroupCoolingDown', recheckAtMs: untilMs };
}

/** A broken node is removed nevertheless: its replacement helps the pods that wait. */
function groupWaitedFor({ group, node }: Unneeded, { fullGroups }: ScaleDownContext): Refusal | undefined {
  // guard: no node of a full pool is removed while pods wait for that pool
  const pod = node.readiness.ready ? fullGroups.get(group.id) : undefined;
  if (pod === undefined) return undefined;
  if (group.target.known && group.target.value < group.maxSize)
    return { reason: 'RemovalBudgetSpent', detail: `pod ${pod}, whose place was not searched in time, could use its node group` };
  return { reason: 'PodsBlockedByMaximum', detail: `pod ${pod} waits for its node group, which is at its maximum of ${group.maxSize}` };
}

/** Why these nodes may not be removed together. With `mayExceed`, they may exceed the parallel limits if one removal is left. */
function removalRefusal(
  candidates: AtomicGroup,
  budgets: RemovalBudgets,
  { mayExceed }: { readonly mayExceed: boolean },
): Refusal | undefined {
  const group = candidates[0]?.group;
  if (group === undefined) return { reason: 'GroupUnconfirmed' };
  if (!group.target.known) return { reason: 'GroupUnconfirmed', detail: `its target size is unknown: ${group.target.reason}` };
  if (!group.target.confirmed) return { reason: 'GroupUnconfirmed', detail: 'its target size is not confirmed since its last change' };
  const [awaited] = candidates.flatMap(({ drain }) => drain.waiting);
  if (awaited !== undefined) return { reason: 'BlockedByOnCompletionPod', detail: `waiting for ${podName(awaited)} to complete` };
  if (!staysAboveMinimum(candidates, group, budgets.groupMinimums)) return minimumSizeReason(group);
  // guard: removals of one plan together do not go below what a capacity reservation pays
  const reserved = budgets.reserved.shortage(candidates.flatMap(({ node, instance }) => (node.readiness.ready ? [instance] : [])));
  if (reserved !== undefined) return { reason: 'CapacityReserved', detail: reserved };
  const detail = budgets.minimum.shortage(candidates.map(({ node }) => node));
  if (detail !== undefined) return { reason: 'MinimalResourceLimitExceeded', detail };
  return (
    groupParallelExceeded(candidates, group, budgets, mayExceed) ??
    allowanceExceeded(candidates, budgets.allowance, mayExceed) ??
    disruptionBudgetExceeded(
      candidates.flatMap(({ drain }) => drain.movable),
      budgets.ledger,
    ) ??
    gangMinimumReached(candidates, budgets.gangs)
  );
}

/** The group's own limit of removals at once. An atomic group may exceed it, as the others, if it is the first of the plan. */
function groupParallelExceeded(
  candidates: AtomicGroup,
  { id, options: { maxParallelRemovals: limit } }: NodeGroup,
  { allowance: { nodesOf } }: RemovalBudgets,
  mayExceed: boolean,
): Refusal | undefined {
  const running = nodesOf.get(id) ?? 0;
  if (limit === undefined || running + candidates.length <= limit || (mayExceed && running < limit)) return undefined;
  return { reason: 'RemovalBudgetSpent', detail: `its node group removes at most ${limit} at once; in progress or planned: ${running}` };
}

/** Broken nodes may be removed down to the minimum size; working nodes only down to that number of working nodes. */
function staysAboveMinimum(candidates: AtomicGroup, group: NodeGroup, groupMinimums: GroupMinimums): boolean {
  const working = candidates.filter(({ node }) => isWorking(node)).length;
  return (
    groupMinimums.allows(group, candidates.length) &&
    (working === 0 || working < candidates.length || groupMinimums.allowsWorking(group, working))
  );
}

/** The removal window also limits atomic groups: a larger group is never removed, and the reason says so. */
function allowanceExceeded(candidates: AtomicGroup, allowance: RemovalAllowance, mayExceed: boolean): Refusal | undefined {
  const nodes = candidates.length;
  const drains = candidates.filter(({ drain }) => drain.movable.length > 0).length;
  const fits = (wanted: number, left: number): boolean => wanted <= left || (mayExceed && left > 0);
  const empties = allowance.emptyWindow === undefined ? 0 : candidates.filter(isEmpty).length;
  if (allowance.window < nodes - empties)
    return { reason: 'RemovalBudgetSpent', detail: `removals left in this window: ${allowance.window}, needed: ${nodes - empties}` };
  const { emptyWindow = 0 } = allowance;
  if (emptyWindow < empties)
    return { reason: 'RemovalBudgetSpent', detail: `removals of empty nodes left in this window: ${emptyWindow}, needed: ${empties}` };
  // guard: no plan removes more nodes than a budget of removals allows
  const shortage = allowance.budgets.shortage(candidates.map(budgeted));
  if (shortage !== undefined) return { reason: 'RemovalBudgetSpent', detail: shortage };
  if (!fits(nodes, allowance.nodes))
    return { reason: 'RemovalBudgetSpent', detail: `parallel removals left: ${allowance.nodes}, needed: ${nodes}` };
  if (!fits(drains, allowance.drains))
    return { reason: 'RemovalBudgetSpent', detail: `parallel drains left: ${allowance.drains}, needed: ${drains}` };
  return undefined;
}

function disruptionBudgetExceeded(pods: readonly Pod[], ledger: BudgetLedger): Refusal | undefined {
  const exhausted = ledger.exhaustedBudget(pods);
  if (exhausted === undefined) return undefined;
  const { budget, pod, used, needed } = exhausted;
  const allowed = `${budget.disruptionsAllowed} ${budget.disruptionsAllowed === 1 ? 'disruption' : 'disruptions'}`;
  const detail = `${budget.namespace}/${budget.name}: allows ${allowed} now; other removals use ${used}, this node needs ${needed}`;
  return { reason: 'BlockedByPod', blocker: { pod: podName(pod), reason: 'NotEnoughPdb', detail } };
}

function gangMinimumReached(candidates: AtomicGroup, gangs: GangLedger): Refusal | undefined {
  const short = gangs.shortGang(candidates.flatMap(({ drain }) => drain.movable));
  if (short === undefined) return undefined;
  const { gang, pod, used, needed, running } = short;
  const detail = `${running} pods of ${gang.title} run and ${gang.minCount} must run together; other removals move ${used}, this node has ${needed}`;
  return { reason: 'BlockedByPod', blocker: { pod: podName(pod), reason: 'GangMinimum', detail } };
}

function countRemoval(candidate: Unneeded, budgets: RemovalBudgets): void {
  budgets.parallel.addDrain(candidate);
  const { nodesOf } = budgets.allowance;
  nodesOf.set(candidate.group.id, (nodesOf.get(candidate.group.id) ?? 0) + 1);
  if (isWorking(candidate.node)) budgets.groupMinimums.countRemoval(candidate.group);
  else budgets.groupMinimums.countBrokenRemoval(candidate.group);
  budgets.minimum.countRemoval(candidate.node);
  budgets.reserved.countRemoval(candidate.instance);
  budgets.zones.countRemoval(candidate.group.id, candidate.node);
  budgets.allowance.nodes = Math.max(0, budgets.allowance.nodes - 1);
  if (isEmpty(candidate) && budgets.allowance.emptyWindow !== undefined) budgets.allowance.emptyWindow -= 1;
  else budgets.allowance.window -= 1;
  budgets.allowance.budgets.add(budgeted(candidate));
  if (candidate.drain.movable.length > 0) budgets.allowance.drains = Math.max(0, budgets.allowance.drains - 1);
  budgets.ledger.countEvictions(candidate.drain.movable);
  budgets.gangs.countEvictions(candidate.drain.movable);
}

/** A broken or sick node is not empty: which pods it has may be unknown, and what it is removed for is another thing. */
function isEmpty({ node, drain, condition }: Unneeded): boolean {
  return node.readiness.ready && drain.movable.length === 0 && condition === undefined;
}

function causeOf(candidate: Unneeded): RemovalCause {
  if (!candidate.node.readiness.ready) return 'unready';
  if (candidate.condition !== undefined) return 'sick';
  if (isEmpty(candidate)) return 'empty';
  return candidate.repacked ? 'repacked' : 'underutilized';
}

function budgeted(candidate: Unneeded): Removed {
  return { group: candidate.group.id, cause: causeOf(candidate) };
}

function toRemoval(candidate: Unneeded, { observation }: ScaleDownContext): Removal {
  const pods = candidate.drain.movable;
  return {
    group: candidate.group.id,
    node: candidate.node.name,
    instance: candidate.instance,
    pods: [...pods].sort(placementOrder),
    unneededSinceMs: candidate.sinceMs,
    cause: causeOf(candidate),
    utilization: candidate.utilization,
    reimages: causeOf(candidate) === 'sick' && reasonAgainstReimage(candidate, observation.nowMs) === undefined ? true : undefined,
    condition: candidate.condition,
    together: undefined,
    drain: statedDrain(candidate.group.options),
  };
}
