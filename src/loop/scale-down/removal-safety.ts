/**
 * The last checks before a removal: caps on removals per window, and a re-check on fresh data. A correct plan never meets
 * a cap, and a wrong plan cannot empty a cluster because of them. Must not know how a plan is made.
 */
import { podName } from '../../domain/ids.ts';
import { isScaleDownDisabled } from '../../domain/node.ts';
import type { BudgetedRemoval } from '../../domain/loop-state.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Removal } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { conditionText } from '../../domain/repack.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import type { OwnerReader, ReadNode } from '../../domain/ports/cluster.ts';
import { lostTaintReason } from '../../domain/deletion-owner.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import { ownerOf } from '../../domain/workloads.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { BudgetUse, type GroupSizes } from '../../planning/facts/removal-budgets.ts';
import { drainContext, type DrainRulesPolicy } from '../../scheduling/drainability/drain-rule.ts';
import { takesPods } from '../../planning/state/assumed-pods.ts';
import { checkNodeDrain, type NodeDrain } from '../../scheduling/drainability/drainability.ts';

type RemovalLimits = Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'maxEmptyRemovalsPerWindow' | 'removalWindowMs' | 'budgets'>;

/** What budgets of removals count. */
export interface BudgetedRemovals {
  readonly removals: readonly Pick<Removal, 'group' | 'cause'>[];
  readonly sizes: GroupSizes;
}

/** Owns the times of the removals of one kind that started within the window, oldest first. */
class RemovalTimes {
  #recalled: number[] = [];
  #begun: number[] = [];

  recall(begunMs: readonly number[]): void {
    this.#recalled = begunMs.toSorted((left, right) => left - right);
  }

  countSince(windowStartMs: number): number {
    dropUntil(this.#begun, windowStartMs);
    dropUntil(this.#recalled, windowStartMs);
    return this.#begun.length + this.#recalled.length;
  }

  add(count: number, nowMs: number): void {
    // After the wall clock was set back, later ones may have earlier times.
    const isEarlier = (this.#begun.at(-1) ?? nowMs) > nowMs;
    for (let each = 0; each < count; each++) this.#begun.push(nowMs);
    if (isEarlier) this.#begun.sort((left, right) => left - right);
  }

  takeBack(count: number): void {
    this.#begun.splice(Math.max(0, this.#begun.length - count), count);
  }
}

/** Asked before each of a thousand removals: looks no further than at the first time that stays. */
function dropUntil(times: number[], windowStartMs: number): void {
  const first = times.findIndex((atMs) => atMs > windowStartMs);
  times.splice(0, first === -1 ? times.length : first);
}

/** Holds the caps on removals per window: one for empty nodes, one for all others, and the budgets that the user set. */
export class RemovalGuard {
  readonly #clock: Clock;
  #limits: RemovalLimits;
  readonly #others = new RemovalTimes();
  readonly #empties = new RemovalTimes();
  #budgeted: readonly BudgetedRemoval[] = [];

  constructor(clock: Clock, limits: RemovalLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** These limits hold from now on. */
  reconfigure(limits: RemovalLimits): void {
    this.#limits = limits;
  }

  /** Takes the times of removals that an earlier process started. Replaces earlier times. */
  recall(begunMs: readonly number[], emptyBegunMs: readonly number[], budgeted: readonly BudgetedRemoval[]): void {
    this.#others.recall(begunMs);
    this.#empties.recall(emptyBegunMs);
    this.#budgeted = budgeted;
  }

  /** Counts these removals as started if all of them are allowed. Returns whether they are. */
  admit({ empties = 0, others }: { readonly empties?: number; readonly others: number }, nodes?: BudgetedRemovals): boolean {
    const { maxRemovalsPerWindow, maxEmptyRemovalsPerWindow, removalWindowMs } = this.#limits;
    const now = this.#clock.now();
    const windowStartMs = now - removalWindowMs;
    const [own, shared] = maxEmptyRemovalsPerWindow === undefined ? [0, others + empties] : [empties, others];
    // guard: no more nodes are removed than their window allows
    if (shared > 0 && shared > maxRemovalsPerWindow - this.#others.countSince(windowStartMs)) return false;
    // guard: no more empty nodes are removed than their window allows
    if (own > 0 && own > (maxEmptyRemovalsPerWindow ?? 0) - this.#empties.countSince(windowStartMs)) return false;
    // guard: no more nodes are removed than a budget of removals allows
    if (nodes !== undefined && !this.#withinBudgets(nodes, now)) return false;
    this.#others.add(shared, now);
    this.#empties.add(own, now);
    return true;
  }

  /** Counts them if they are. */
  #withinBudgets({ removals, sizes }: BudgetedRemovals, now: number): boolean {
    if (this.#limits.budgets.length === 0) return true;
    const windowStartMs = now - this.#limits.removalWindowMs;
    const counted = this.#budgeted.filter(({ startedAtMs }) => startedAtMs > windowStartMs);
    if (new BudgetUse(this.#limits, sizes, counted).shortage(removals) !== undefined) return false;
    this.#budgeted = [...counted, ...removals.map(({ group, cause }) => ({ group, cause, startedAtMs: now }))];
    return true;
  }

  /** Takes back removals of other things than empty nodes, which were admitted last and not carried out. */
  takeBack(count: number): void {
    this.#others.takeBack(count);
  }
}

export type FreshNode = ReadNode;

export interface RecheckInput {
  readonly removal: Removal;
  readonly fresh: FreshNode;
  /** For budgets and DaemonSets. */
  readonly cluster: ClusterView;
  readonly policy: DrainRulesPolicy;
  readonly nowMs: number;
  /** The name on this process's own deletion taints. */
  readonly self: string;
  /** `before-taint`: nothing was changed yet. `before-evict`: the node has our taint. `before-delete`: no pod may be left. */
  readonly stage: 'before-taint' | 'before-evict' | 'before-delete';
}

type RecheckResult =
  | { readonly go: true; readonly pods: readonly Pod[]; readonly daemons: readonly Pod[]; readonly expendables: readonly Pod[] }
  /** `taken`: another writer took the node from us. */
  | { readonly go: false; readonly message: string; readonly taken?: true };

/** Whether the plan still holds for the fresh data; `pods` are those to evict. A pod outside the plan stops the removal. */
export function recheckRemoval(input: RecheckInput): RecheckResult {
  const { removal, fresh, stage } = input;
  // guard: the protection of a node is obeyed in the last look, too
  if (isScaleDownDisabled(fresh.node, input.nowMs)) return refuse('scale-down was disabled on the node');
  const taken = stage === 'before-taint' ? foreignTaintReason(input) : lostTaintReason(fresh.node, input.self);
  // guard: a removal whose taint is absent or foreign is called off
  if (taken !== undefined) return { ...refuse(taken), taken: true };
  const coming = stage === 'before-taint' ? nominatedPod(input) : undefined;
  if (coming !== undefined) return refuse(`pod ${podName(coming)} is about to run on the node`);
  // guard: a node that recovered is not removed as unready
  if (removal.cause === 'unready' && fresh.node.readiness.ready) return refuse('the node is ready again');
  // guard: a sick node that is well again by the last look is left
  if (removal.condition !== undefined && !fresh.node.conditions.some((each) => conditionText(each) === removal.condition))
    return refuse(`the node is well again: it shows ${removal.condition} no longer`);
  const running = fresh.pods.filter((pod) => pod.phase !== 'Succeeded' && pod.phase !== 'Failed');
  const drain = checkNodeDrain(running, drainContext(input.cluster, input.policy, input.nowMs));
  const [waiting] = drain.waiting;
  if (waiting !== undefined) return refuse(`pod ${podName(waiting)} must run to completion`);
  // During the evictions, the Eviction API waits for an exhausted disruption budget. Before that, the removal does not start.
  const budgetMayWait = stage === 'before-evict' && drain.passing;
  if (drain.blocker !== undefined && !budgetMayWait) return refuse(`pod ${drain.blocker.pod} blocks: ${drain.blocker.reason}`);
  return checkPods(input, budgetMayWait ? running.filter((pod) => isPlanned(removal, pod)) : drain.movable, drain);
}

function foreignTaintReason({ fresh: { node }, self }: RecheckInput): string | undefined {
  const isForeign = hasTaint(node.taints, TO_BE_DELETED_TAINT) && node.deletionOwner !== self;
  return isForeign ? 'another component is removing the node' : undefined;
}

function checkPods({ removal, stage }: RecheckInput, pods: readonly Pod[], { daemons, expendables }: NodeDrain): RecheckResult {
  const [first] = pods;
  // guard: a pod that is still there stops the delete
  if (stage === 'before-delete' && first !== undefined) return refuse(`pod ${podName(first)} is still on the node`);
  // guard: a pod outside the plan stops a removal
  const stranger = pods.find((pod) => !isPlanned(removal, pod));
  return stranger === undefined
    ? { go: true, pods, daemons, expendables }
    : refuse(`pod ${podName(stranger)} was bound to the node after the plan was made`);
}

/** A pod that preempts others on this node and that is not part of the plan. */
function nominatedPod({ cluster, removal, fresh }: RecheckInput): Pod | undefined {
  return cluster.pendingPods.find(
    (pod) => pod.nominatedNodeName === removal.node && takesPods(fresh.node, pod) && !isPlanned(removal, pod),
  );
}

function isPlanned(removal: Removal, pod: Pod): boolean {
  return removal.pods.some((planned) => planned.uid === pod.uid);
}

function refuse(message: string): Extract<RecheckResult, { go: false }> {
  return { go: false, message };
}

/** Adds the controllers that were read so far to the view. They are read once, just before a node is changed. */
export function withOwners(cluster: ClusterView, owners: OwnerReader): ClusterView {
  return { ...cluster, owners: owners.known() };
}

/** Reads the owners of these pods. Returns the reason of a failure, else undefined. Throws only `cancelled`. */
export async function readOwners(pods: readonly Pod[], owners: OwnerReader, signal: AbortSignal): Promise<string | undefined> {
  const wanted = pods.flatMap((pod) => ownerOf(pod) ?? []);
  try {
    if (wanted.length > 0) await owners.read(wanted, signal);
    return undefined;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return `the controllers of its pods could not be checked: ${error.message}`;
  }
}
