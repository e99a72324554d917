import { type NodeGroupId, podName } from '../../domain/ids.ts';
import { compareText } from '../../lib/comparison.ts';
import { isWhole, type NodeGroup } from '../../domain/node-group.ts';
import type { UnremovableNode, Removal } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { startupMsOf, unreadyForMsOf } from '../state/node-counts.ts';
import { BudgetLedger, type RemovalAllowance, type GroupMinimums, ClusterMinimum } from './budgets.ts';
import { groupCooldownEndMs } from './cooldown.ts';
import { minimumSizeReason } from './eligibility.ts';
import { ParallelDrains } from './parallel-drains.ts';
import { isLeaving, type ScaleDownContext } from './plan-context.ts';
import { removalOrder, ZoneSurplus } from './removal-order.ts';
import { placementOrder } from './simulate-removal.ts';
import type { Unneeded, UnneededNodes } from './unneeded.ts';

// Groups that are of use only as a whole (zero or max): their nodes go together or not at all. The Cluster Autoscaler's
// `AtomicScaleDownFailed`. Must not know the budgets (select.ts).

/** All nodes of one group, each of which may go now; by name. */
export type AtomicGroup = readonly Unneeded[];

export interface SplitCandidates {
  /** Groups with an empty node first, then by id. */
  readonly wholes: readonly AtomicGroup[];
  readonly singles: readonly Unneeded[];
  /** Nodes that may go, of groups of which others may not. */
  readonly kept: readonly UnremovableNode[];
}

/** Tells the nodes that go one by one from the groups that go whole, and those from groups that are not complete. */
export function splitAtomicGroups(context: ScaleDownContext, due: readonly Unneeded[]): SplitCandidates {
  const groups = new Map<NodeGroupId, Unneeded[]>();
  const singles: Unneeded[] = [];
  for (const candidate of due) {
    if (!isWhole(candidate.group)) singles.push(candidate);
    else groups.set(candidate.group.id, [...(groups.get(candidate.group.id) ?? []), candidate]);
  }
  const wholes: AtomicGroup[] = [];
  const kept: UnremovableNode[] = [];
  for (const [id, candidates] of [...groups].sort(([left], [right]) => compareText(left, right))) {
    const missing = incompleteReason(context, id, candidates.length);
    if (missing === undefined) wholes.push([...candidates].sort((left, right) => compareText(left.node.name, right.node.name)));
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
  const rank = (whole: AtomicGroup): number => (whole.some(({ drain }) => drain.movable.length === 0) ? 0 : 1);
  return { wholes: wholes.sort((left, right) => rank(left) - rank(right)), singles, kept };
}

/** Complete by what Azure was asked for or by what has registered: an instance that never came up holds nobody back. */
function incompleteReason(context: ScaleDownContext, id: NodeGroupId, ready: number): string | undefined {
  const group = context.groups.get(id);
  if (group === undefined) return 'its node group no longer exists';
  const { cluster, cloud } = context.observation;
  let registered = 0;
  for (const [name, node] of cluster.nodes) if (cloud.groupOfNode.get(name) === id && !isLeaving(node, context)) registered += 1;
  const target = group.target.known ? group.target.value - (context.draining.get(id)?.length ?? 0) : undefined;
  if (ready === registered || ready === target) return undefined;
  return `the group goes as a whole and only ${ready} of its ${registered} nodes may go`;
}

export interface Selection {
  readonly removals: readonly Removal[];
  readonly kept: readonly UnremovableNode[];
}

interface RemovalBudgets {
  readonly allowance: RemovalAllowance;
  readonly groupMinimums: GroupMinimums;
  readonly ledger: BudgetLedger;
  readonly minimum: ClusterMinimum;
  readonly zones: ZoneSurplus;
  readonly parallel: ParallelDrains;
}

/** Picks among the unneeded nodes those that go now, the least disturbing first, within every budget. */
export function selectRemovals(
  context: ScaleDownContext,
  unneeded: UnneededNodes,
  spendable: { readonly allowance: RemovalAllowance; readonly groupMinimums: GroupMinimums },
): Selection {
  const zones = new ZoneSurplus(context);
  const funds: RemovalBudgets = {
    ...spendable,
    ledger: new BudgetLedger(context),
    minimum: new ClusterMinimum(context),
    zones,
    parallel: new ParallelDrains(context, zones, unneeded.reserved),
  };
  const removals: Removal[] = [];
  const kept: UnremovableNode[] = [];
  const due: Unneeded[] = [];
  const keep = ({ node, utilization }: Unneeded, refusal: Refusal): void => void kept.push({ node: node.name, utilization, ...refusal });
  for (const candidate of unneeded.nodes) {
    const refusal = notDueYet(candidate, context) ?? groupCoolingDown(candidate, context);
    if (refusal === undefined) due.push(candidate);
    else keep(candidate, refusal);
  }
  const { wholes, singles, kept: incomplete } = splitAtomicGroups(context, due);
  kept.push(...incomplete);
  for (const whole of wholes) {
    const refusal = removalRefusal(whole, funds, { mayExceed: removals.length === 0 });
    if (refusal !== undefined) {
      for (const candidate of whole) keep(candidate, refusal);
      continue;
    }
    for (const candidate of whole) countRemoval(candidate, funds);
    removals.push(...whole.map((candidate) => ({ ...toRemoval(candidate), together: true as const })));
  }
  const order = { prices: context.policy.scaleUp, nowMs: context.observation.nowMs };
  for (const candidate of removalOrder(singles, funds.ledger, funds.zones, order)) {
    const refusal = removalRefusal([candidate], funds, { mayExceed: false }) ?? funds.parallel.refusal(candidate);
    if (refusal !== undefined) {
      keep(candidate, refusal);
      continue;
    }
    countRemoval(candidate, funds);
    removals.push(toRemoval(candidate));
  }
  return { removals, kept };
}

type Refusal = Omit<UnremovableNode, 'node' | 'utilization'>;

/** The time must have passed in full: at the very millisecond it has not. */
function notDueYet(candidate: Unneeded, context: ScaleDownContext): Refusal | undefined {
  const { group, node } = candidate;
  const rules = context.policy.scaleDown;
  const ready = node.readiness.ready;
  const waitMs = ready
    ? (group.options.unneededForMs ?? rules.unneededForMs)
    : unreadyForMsOf(candidate.node, group, context.observation, context.policy);
  // A node that is still starting is no broken one, however long nobody needed it.
  const startsUntilMs = ready ? -Infinity : node.createdAtMs + startupMsOf(group, context.policy);
  const dueAtMs = Math.max(candidate.sinceMs + waitMs, startsUntilMs);
  if (dueAtMs < context.observation.nowMs) return undefined;
  return { reason: ready ? 'NotUnneededLongEnough' : 'NotUnreadyLongEnough', recheckAtMs: dueAtMs };
}

function groupCoolingDown({ group }: Unneeded, context: ScaleDownContext): Refusal | undefined {
  const untilMs = groupCooldownEndMs(group.id, context);
  return untilMs === undefined ? undefined : { reason: 'GroupCoolingDown', recheckAtMs: untilMs };
}

/** Why these may not go, all of them together. `mayExceed`: how many go at once is not asked, as long as any may. */
function removalRefusal(
  candidates: AtomicGroup,
  funds: RemovalBudgets,
  { mayExceed }: { readonly mayExceed: boolean },
): Refusal | undefined {
  const group = candidates[0]?.group;
  if (group === undefined) return { reason: 'GroupUnconfirmed' };
  if (!group.target.known) return { reason: 'GroupUnconfirmed', detail: `its size is not known: ${group.target.reason}` };
  if (!group.target.confirmed) return { reason: 'GroupUnconfirmed', detail: 'its size has not been seen since it was changed last' };
  const [awaited] = candidates.flatMap(({ drain }) => drain.waiting);
  if (awaited !== undefined) return { reason: 'BlockedByOnCompletionPod', detail: `${podName(awaited)} is waited for` };
  if (!staysAboveMinimum(candidates, group, funds.groupMinimums)) return minimumSizeReason(group);
  const detail = funds.minimum.shortage(candidates.map(({ node }) => node));
  if (detail !== undefined) return { reason: 'MinimalResourceLimitExceeded', detail };
  return (
    allowanceExceeded(candidates, funds.allowance, mayExceed) ??
    disruptionBudgetExceeded(
      candidates.flatMap(({ drain }) => drain.movable),
      funds.ledger,
    )
  );
}

/** Nodes that do not work may go down to the minimum; those that work only down to a minimum of such as work. */
function staysAboveMinimum(candidates: AtomicGroup, group: NodeGroup, groupMinimums: GroupMinimums): boolean {
  const working = candidates.filter(({ node }) => node.readiness.ready).length;
  return (
    groupMinimums.allows(group, candidates.length) &&
    (working === 0 || working < candidates.length || groupMinimums.allowsWorking(group, working))
  );
}

/** The window is a limit for everybody: a group that is larger never goes, which is told. */
function allowanceExceeded(candidates: AtomicGroup, allowance: RemovalAllowance, mayExceed: boolean): Refusal | undefined {
  const nodes = candidates.length;
  const drains = candidates.filter(({ drain }) => drain.movable.length > 0).length;
  const fits = (wanted: number, left: number): boolean => wanted <= left || (mayExceed && left > 0);
  if (allowance.window < nodes) return { reason: 'RemovalBudgetSpent', detail: `${allowance.window} more removals in this window` };
  if (!fits(nodes, allowance.nodes)) return { reason: 'RemovalBudgetSpent', detail: `${allowance.nodes} more nodes at once` };
  if (!fits(drains, allowance.drains)) return { reason: 'RemovalBudgetSpent', detail: `${allowance.drains} more drains at once` };
  return undefined;
}

function disruptionBudgetExceeded(pods: readonly Pod[], ledger: BudgetLedger): Refusal | undefined {
  const budget = ledger.exhaustedBudget(pods);
  if (budget === undefined) return undefined;
  const pod = pods[0] === undefined ? '' : podName(pods[0]);
  const detail = `${budget.namespace}/${budget.name}: its ${budget.disruptionsAllowed} disruptions are planned for other nodes`;
  return { reason: 'BlockedByPod', blocker: { pod, reason: 'NotEnoughPdb', detail } };
}

function countRemoval(candidate: Unneeded, funds: RemovalBudgets): void {
  funds.parallel.addDrain(candidate);
  if (candidate.node.readiness.ready) funds.groupMinimums.countRemoval(candidate.group);
  else funds.groupMinimums.countBrokenRemoval(candidate.group);
  funds.minimum.countRemoval(candidate.node);
  funds.zones.countRemoval(candidate.group.id, candidate.node);
  funds.allowance.nodes = Math.max(0, funds.allowance.nodes - 1);
  funds.allowance.window -= 1;
  if (candidate.drain.movable.length > 0) funds.allowance.drains = Math.max(0, funds.allowance.drains - 1);
  funds.ledger.countEvictions(candidate.drain.movable);
}

function toRemoval(candidate: Unneeded): Removal {
  const pods = candidate.drain.movable;
  return {
    group: candidate.group.id,
    node: candidate.node.name,
    instance: candidate.instance,
    pods: [...pods].sort(placementOrder),
    unneededSinceMs: candidate.sinceMs,
    cause: candidate.node.readiness.ready ? (pods.length === 0 ? 'empty' : 'underutilized') : 'unready',
    utilization: candidate.utilization,
  };
}
