/**
 * The last word on how much may be removed in a time: counts what was really begun, whatever the plan thought. A plan that
 * is right never meets it; one that is wrong, for whatever reason, cannot empty a cluster.
 */
import { podName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Removal } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import type { OwnerReader } from '../../domain/ports/cluster.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taints.ts';
import { ownerOf } from '../../domain/workloads.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { drainContext, type DrainRulesPolicy } from '../../scheduling/drainability/drain-rule.ts';
import { judgeNode, type NodeDrain } from '../../scheduling/drainability/drainability.ts';

/** Owns the times of the removals begun within the window. */
export class RemovalGuard {
  readonly #clock: Clock;
  #policy: Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>;
  #recalled: readonly number[] = [];
  #begun: number[] = [];

  constructor(clock: Clock, policy: Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** From now on counts by these limits. */
  reconfigure(policy: Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>): void {
    this.#policy = policy;
  }

  /** Removals that somebody began before this process did. Replaces what was recalled before. */
  recall(begunMs: readonly number[]): void {
    this.#recalled = begunMs;
  }

  /** How many more may begin now. */
  left(): number {
    const windowStart = this.#clock.now() - this.#policy.removalWindowMs;
    this.#begun = this.#begun.filter((atMs) => atMs > windowStart);
    this.#recalled = this.#recalled.filter((atMs) => atMs > windowStart);
    return Math.max(0, this.#policy.maxRemovalsPerWindow - this.#begun.length - this.#recalled.length);
  }

  /** Counts so many as begun, if all of them may; answers whether they may. */
  admit(count: number): boolean {
    if (count > this.left()) return false;
    const now = this.#clock.now();
    for (let each = 0; each < count; each++) this.#begun.push(now);
    return true;
  }

  /** What was admitted last was not carried out after all. */
  takeBack(count: number): void {
    this.#begun.splice(Math.max(0, this.#begun.length - count), count);
  }
}

/** A node and its pods, read past every cache. */
export interface FreshNode {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

export interface RecheckInput {
  readonly removal: Removal;
  readonly fresh: FreshNode;
  /** For budgets and DaemonSets. */
  readonly cluster: ClusterView;
  readonly policy: DrainRulesPolicy;
  readonly nowMs: number;
  /** `before-mark`: nothing was changed yet. `before-evict`: the node carries our mark. `before-delete`: nothing may be left. */
  readonly stage: 'before-mark' | 'before-evict' | 'before-delete';
}

export type RecheckResult =
  | { readonly go: true; readonly pods: readonly Pod[]; readonly daemons: readonly Pod[]; readonly expendables: readonly Pod[] }
  | { readonly go: false; readonly message: string };

/** Whether the plan still holds for what is there now; `pods` are those to evict. A pod nobody planned for stops it. */
export function recheck(input: RecheckInput): RecheckResult {
  const { removal, fresh, stage } = input;
  if (fresh.node.scaleDownDisabled) return no('scale-down was disabled on the node');
  if (stage === 'before-mark' && hasTaint(fresh.node.taints, TO_BE_DELETED_TAINT)) return no('somebody else is removing the node');
  const coming = stage === 'before-mark' ? nominatedHere(input) : undefined;
  if (coming !== undefined) return no(`pod ${podName(coming)} is about to run on the node`);
  if (removal.cause === 'unready' && fresh.node.readiness.ready) return no('the node is ready again');
  const running = fresh.pods.filter((pod) => pod.phase !== 'Succeeded' && pod.phase !== 'Failed');
  const drain = judgeNode(running, drainContext(input.cluster, input.policy, input.nowMs));
  const [waiting] = drain.waiting;
  if (waiting !== undefined) return no(`pod ${podName(waiting)} must run to completion`);
  // Once pods are being evicted a spent budget is what the Eviction API is there for; before that, nothing was begun.
  const budgetMayWait = stage === 'before-evict' && drain.passing;
  if (drain.blocker !== undefined && !budgetMayWait) return no(`pod ${drain.blocker.pod} blocks: ${drain.blocker.reason}`);
  return checkPods(input, budgetMayWait ? running.filter((pod) => isPlanned(removal, pod)) : drain.movable, drain);
}

function checkPods({ removal, stage }: RecheckInput, pods: readonly Pod[], { daemons, expendables }: NodeDrain): RecheckResult {
  const [first] = pods;
  if (stage === 'before-delete' && first !== undefined) return no(`pod ${podName(first)} is still on the node`);
  const stranger = pods.find((pod) => !isPlanned(removal, pod));
  return stranger === undefined
    ? { go: true, pods, daemons, expendables }
    : no(`pod ${podName(stranger)} came to the node after the plan was made`);
}

/** One for whom others on the node are pushed aside, and whose move was not planned. */
function nominatedHere({ cluster, removal }: RecheckInput): Pod | undefined {
  return cluster.pendingPods.find((pod) => pod.nominatedNodeName === removal.node && !isPlanned(removal, pod));
}

function isPlanned(removal: Removal, pod: Pod): boolean {
  return removal.pods.some((planned) => planned.uid === pod.uid);
}

function no(message: string): RecheckResult {
  return { go: false, message };
}

// The controllers of a node's pods are asked for once, when the node is about to be touched, and what they said stays in view.

/** The view and what is known of owners by now. */
export function withOwners(cluster: ClusterView, owners: OwnerReader | undefined): ClusterView {
  return owners === undefined ? cluster : { ...cluster, owners: owners.known() };
}

/** Learns of the owners of these pods. Answers why that failed; undefined: it is known. Throws only `cancelled`. */
export async function learnOwners(pods: readonly Pod[], owners: OwnerReader | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (owners === undefined) return undefined;
  const wanted = pods.flatMap((pod) => ownerOf(pod) ?? []);
  try {
    if (wanted.length > 0) await owners.read(wanted, signal);
    return undefined;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return `whether the controllers of its pods exist is not known: ${error.message}`;
  }
}
