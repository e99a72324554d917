import type { KeptNode, Removal } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { podName } from '../../domain/ids.ts';
import { BudgetLedger, type Allowance, type Headroom } from './budgets.ts';
import { ClusterMinimum } from './cluster-minimum.ts';
import { coolsDownUntil } from './inhibition.ts';
import { removalOrder } from './removal-order.ts';
import type { Scope } from './scope.ts';
import { placementOrder } from './simulate-removal.ts';
import type { Unneeded } from './unneeded.ts';
import { ZoneSurplus } from './zone-surplus.ts';

export interface Selection {
  readonly removals: readonly Removal[];
  readonly kept: readonly KeptNode[];
}

interface Funds {
  readonly allowance: Allowance;
  readonly headroom: Headroom;
  readonly ledger: BudgetLedger;
  readonly minimum: ClusterMinimum;
  readonly zones: ZoneSurplus;
}

/** Picks among the unneeded nodes those that go now, the least disturbing first, within every budget. */
export function selectRemovals(
  scope: Scope,
  unneeded: readonly Unneeded[],
  spendable: { readonly allowance: Allowance; readonly headroom: Headroom },
): Selection {
  const funds: Funds = { ...spendable, ledger: new BudgetLedger(scope), minimum: new ClusterMinimum(scope), zones: new ZoneSurplus(scope) };
  const removals: Removal[] = [];
  const kept: KeptNode[] = [];
  const due: Unneeded[] = [];
  const keep = ({ node, utilization }: Unneeded, refusal: Refusal): void => void kept.push({ node: node.name, utilization, ...refusal });
  for (const candidate of unneeded) {
    const refusal = tooEarly(candidate, scope) ?? cooling(candidate, scope);
    if (refusal === undefined) due.push(candidate);
    else keep(candidate, refusal);
  }
  for (const candidate of removalOrder(due, funds.ledger, funds.zones, scope.policy.scaleUp.prices)) {
    const refusal = refusalOf(candidate, funds);
    if (refusal !== undefined) {
      keep(candidate, refusal);
      continue;
    }
    spend(candidate, funds);
    removals.push(asRemoval(candidate));
  }
  return { removals, kept };
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

function cooling({ group }: Unneeded, scope: Scope): Refusal | undefined {
  const untilMs = coolsDownUntil(group.id, scope);
  return untilMs === undefined ? undefined : { reason: 'GroupCoolingDown', recheckAtMs: untilMs };
}

function refusalOf(candidate: Unneeded, funds: Funds): Refusal | undefined {
  const { group, node, drain } = candidate;
  if (!group.target.known || !group.target.confirmed) return { reason: 'GroupUnconfirmed' };
  const [waiting] = drain.waiting;
  if (waiting !== undefined) return { reason: 'BlockedByOnCompletionPod' };
  if (!funds.headroom.has(group)) return { reason: 'NodeGroupMinSizeReached' };
  if (!funds.minimum.allows(node)) return { reason: 'MinimalResourceLimitExceeded' };
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
  funds.minimum.take(candidate.node);
  funds.zones.take(candidate.group.id, candidate.node);
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
