import type { KeptNode, Removal } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { podName } from '../../domain/ids.ts';
import { BudgetLedger, type Allowance, type Headroom } from './budgets.ts';
import { byName, type Scope } from './scope.ts';
import { placementOrder } from './simulate-removal.ts';
import type { Unneeded } from './unneeded.ts';

export interface Selection {
  readonly removals: readonly Removal[];
  readonly kept: readonly KeptNode[];
}

interface Funds {
  readonly allowance: Allowance;
  readonly headroom: Headroom;
  readonly ledger: BudgetLedger;
}

/** Picks among the unneeded nodes those that go now, the least disturbing first, within every budget. */
export function selectRemovals(
  scope: Scope,
  unneeded: readonly Unneeded[],
  spendable: { readonly allowance: Allowance; readonly headroom: Headroom },
): Selection {
  const funds: Funds = { ...spendable, ledger: new BudgetLedger(scope) };
  const removals: Removal[] = [];
  const kept: KeptNode[] = [];
  for (const candidate of removalOrder(unneeded, funds.ledger)) {
    const refusal = tooEarly(candidate, scope) ?? refusalOf(candidate, funds);
    if (refusal !== undefined) {
      kept.push({ node: candidate.node.name, utilization: candidate.utilization, ...refusal });
      continue;
    }
    spend(candidate, funds);
    removals.push(asRemoval(candidate));
  }
  return { removals, kept };
}

/** Empty nodes, then drains: those that no budget slows down, then fewest and least important pods, then longest unneeded. */
function removalOrder(unneeded: readonly Unneeded[], ledger: BudgetLedger): readonly Unneeded[] {
  const ranked = unneeded.map((candidate) => ({
    candidate,
    pods: candidate.drain.movable.length,
    risk: ledger.isRisky(candidate.drain.movable) ? 1 : 0,
    priority: candidate.drain.movable.reduce((highest, pod) => Math.max(highest, pod.shape.priority ?? 0), -Infinity),
  }));
  ranked.sort(
    (left, right) =>
      left.risk - right.risk ||
      left.pods - right.pods ||
      (left.priority === right.priority ? 0 : left.priority - right.priority) ||
      left.candidate.sinceMs - right.candidate.sinceMs ||
      byName(left.candidate.node.name, right.candidate.node.name),
  );
  return ranked.map((entry) => entry.candidate);
}

type Refusal = Omit<KeptNode, 'node' | 'utilization'>;

/** The time must have passed in full: at the very millisecond it has not. */
function tooEarly(candidate: Unneeded, scope: Scope): Refusal | undefined {
  const { group, node } = candidate;
  const rules = scope.policy.scaleDown;
  const ready = node.readiness.ready;
  const waitMs = ready ? (group.options.unneededForMs ?? rules.unneededForMs) : (group.options.unreadyForMs ?? rules.unreadyForMs);
  const dueAtMs = candidate.sinceMs + waitMs;
  if (dueAtMs < scope.observation.nowMs) return undefined;
  return { reason: ready ? 'NotUnneededLongEnough' : 'NotUnreadyLongEnough', recheckAtMs: dueAtMs };
}

function refusalOf(candidate: Unneeded, funds: Funds): Refusal | undefined {
  const { group, drain } = candidate;
  if (!group.target.known || !group.target.confirmed) return { reason: 'GroupUnconfirmed' };
  const [waiting] = drain.waiting;
  if (waiting !== undefined) return { reason: 'BlockedByOnCompletionPod' };
  if (!funds.headroom.has(group)) return { reason: 'NodeGroupMinSizeReached' };
  const drainsLeft = drain.movable.length === 0 || funds.allowance.drains > 0;
  if (funds.allowance.nodes < 1 || funds.allowance.window < 1 || !drainsLeft) return { reason: 'RemovalBudgetSpent' };
  return shortOfBudget(drain.movable, funds.ledger);
}

function shortOfBudget(pods: readonly Pod[], ledger: BudgetLedger): Refusal | undefined {
  const budget = ledger.short(pods);
  if (budget === undefined) return undefined;
  const pod = pods[0] === undefined ? '' : podName(pods[0]);
  const detail = `${budget.namespace}/${budget.name}: its ${budget.disruptionsAllowed} disruptions are planned for other nodes`;
  return { reason: 'BlockedByPod', blocker: { pod, reason: 'NotEnoughPdb', detail } };
}

function spend(candidate: Unneeded, funds: Funds): void {
  funds.headroom.take(candidate.group);
  funds.allowance.nodes -= 1;
  funds.allowance.window -= 1;
  if (candidate.drain.movable.length > 0) funds.allowance.drains -= 1;
  funds.ledger.spend(candidate.drain.movable);
}

function asRemoval(candidate: Unneeded): Removal {
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
