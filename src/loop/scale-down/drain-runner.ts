/**
 * The removals that are under way. A drain takes minutes, and a loop must not: the loop starts removals, continues, and
 * collects their outcomes later. Must not know which nodes should be removed, and why.
 */
import { podName, type InstanceKey, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { BudgetedRemoval } from '../../domain/loop-state.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import type { InstanceRemoval, Removal } from '../../domain/plan.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { Policy } from '../../domain/policy.ts';
import { DeleteBatches, deleteWithRetry } from './delete-batches.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { DRAIN_EVICTIONS, EvictionTurns } from './eviction-turns.ts';
import { removeNode, type DrainNodeDeps } from './drain-node.ts';
import { instancesOf, unregisteredChecks } from './instance-looks.ts';
import type { GroupSizes } from '../../planning/facts/removal-budgets.ts';
import { RemovalGuard } from './removal-safety.ts';
import { WholeGroupDeletion } from './whole-group-deletion.ts';
import { PLAIN_DELETE } from '../../domain/ports/cloud.ts';
import { onAbort, untilAborted } from '../../lib/abort.ts';

/** The deletion of an instance is not repeated before the cache had time to show its effect. */
const DELETE_AGAIN_AFTER_MS = 60_000;

/** Owns the removals that are under way. A loop starts them and never waits for them. */
export class DrainRunner {
  #deps: DrainDeps;
  readonly #batches: DeleteBatches;
  readonly #guard: RemovalGuard;
  readonly #turns = new EvictionTurns(DRAIN_EVICTIONS);
  readonly #work = new AbortController();
  readonly #undo = new AbortController();
  readonly #removals = new Map<NodeName, Promise<void>>();
  readonly #instances = new Set<Promise<void>>();
  readonly #recentlyDeleted = new Map<InstanceKey, number>();
  #outcomes: RemovalOutcome[] = [];

  constructor(deps: DrainDeps) {
    this.#deps = deps;
    this.#batches = new DeleteBatches(deps);
    this.#guard = new RemovalGuard(deps.clock, deps.policy.scaleDown);
  }

  /** Removals that start from now on follow this policy. */
  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
    this.#guard.reconfigure(policy.scaleDown);
  }

  /** Takes the times of removals that an earlier process started, those of empty nodes apart. They count in the window. */
  recall(begunMs: readonly number[], emptyBegunMs: readonly number[] = [], budgeted: readonly BudgetedRemoval[] = []): void {
    this.#guard.recall(begunMs, emptyBegunMs, budgeted);
  }

  /**
   * Starts one removal in the background. Refuses with a warning if the node's removal is under way, or if the runner is full
   * or stopped. `sizes`: of the groups, for budgets of removals.
   */
  start(removal: Removal, sizes: GroupSizes = new Map()): void {
    if (this.#admits([removal], sizes)) this.#begin(removal, { batches: this.#batches, work: this.#work.signal, whole: undefined });
  }

  /**
   * Starts the removals of an atomic group: nothing is deleted before all nodes are drained, and the first failure cancels
   * the others. The plan may contain more of them than may run in parallel.
   */
  startGroup(removals: readonly Removal[], sizes: GroupSizes = new Map()): void {
    if (!this.#admits(removals, sizes)) return;
    const whole = new WholeGroupDeletion(removals.length, this.#deps);
    const work = AbortSignal.any([this.#work.signal, whole.cancelled]);
    for (const removal of removals) this.#begin(removal, { batches: whole, work, whole });
  }

  #admits(removals: readonly Removal[], sizes: GroupSizes): boolean {
    const { log, policy } = this.#deps;
    const full = this.#removals.size >= policy.scaleDown.maxParallel;
    const isFree = !full && !this.#work.signal.aborted && !removals.some(({ node }) => this.#removals.has(node));
    const empties = removals.filter(({ cause }) => cause === 'empty').length;
    const isAdmitted = isFree && this.#guard.admit({ empties, others: removals.length - empties }, { removals, sizes });
    const facts = { full, guarded: isFree };
    if (!isAdmitted) for (const { node, group } of removals) log.warn({ node, nodeGroup: group, ...facts }, 'Node removal not started');
    return isAdmitted;
  }

  #begin(removal: Removal, how: Pick<DrainNodeDeps, 'batches' | 'work' | 'whole'>): void {
    const { group, node, instance, utilization } = removal;
    const pods = removal.pods.map(podName);
    const { maxEmptyRemovalsPerWindow, budgets } = this.#deps.policy.scaleDown;
    const empty = removal.cause === 'empty' && maxEmptyRemovalsPerWindow !== undefined;
    const budgeted = budgets.length === 0 ? undefined : removal.cause;
    this.#outcomes.push({ kind: 'started', group, node, instance, pods, utilization, empty, budgeted, atMs: this.#deps.clock.now() });
    // Signals of its own: a wait looks through all listeners of its signal, and a thousand removals wait at once.
    const signals = { work: AbortSignal.any([how.work]), undo: AbortSignal.any([this.#undo.signal]) };
    this.#removals.set(node, this.#run(removal, { ...this.#deps, ...how, ...signals, turns: this.#turns }));
  }

  async #run(removal: Removal, deps: DrainNodeDeps): Promise<void> {
    this.#end(await removeNode(removal, deps), () => this.#removals.delete(removal.node));
  }

  /** Starts the deletion of instances that never registered as nodes: one call per group and cause. `groups`: those of the plan. */
  removeInstances(removals: readonly InstanceRemoval[], groups: readonly NodeGroup[]): void {
    if (this.#work.signal.aborted) return;
    const now = this.#deps.clock.now();
    const known = removals.length === 0 ? new Map<InstanceKey, Instance>() : instancesOf(groups);
    for (const [key, untilMs] of this.#recentlyDeleted) if (untilMs <= now) this.#recentlyDeleted.delete(key);
    for (const batch of batchInstances(removals.filter((removal) => !this.#recentlyDeleted.has(removal.instance)))) {
      if (!this.#guard.admit({ others: batch.instances.length })) {
        const facts = { nodeGroup: batch.group, instances: batch.instances.length, cause: batch.cause };
        this.#deps.log.warn(
          facts,
          'Deletion of instances that never registered as nodes postponed: the limit of removals per window is reached',
        );
        continue;
      }
      for (const instance of batch.instances) this.#recentlyDeleted.set(instance, now + DELETE_AGAIN_AFTER_MS);
      const running: Promise<void> = this.#delete(batch, known).finally(() => this.#instances.delete(running));
      this.#instances.add(running);
    }
  }

  async #delete(batch: InstanceBatch, known: ReadonlyMap<InstanceKey, Instance>): Promise<void> {
    const { clock, log } = this.#deps;
    const { group, instances, cause } = batch;
    const planned = instances.flatMap((key) => known.get(key) ?? []);
    const checks = unregisteredChecks(planned, { ...this.#deps, cause });
    const request = { ...PLAIN_DELETE, group, instances, allowBelowMin: cause === 'failed', ...checks };
    const outcome = await deleteWithRetry(request, this.#deps, this.#undo.signal);
    const accepted = outcome.kind === 'accepted';
    if (!accepted) this.#guard.takeBack(instances.length);
    const message = outcome.kind === 'accepted' ? cause : outcome.kind === 'refused' ? outcome.reason : outcome.error.message;
    const facts = { nodeGroup: group, instances: instances.length, cause, reason: message };
    if (accepted && cause === 'not-needed') log.info(facts, 'Deleting instances on their way that are no longer needed');
    else if (accepted) log.info(facts, 'Deleting instances that never registered as nodes');
    else log.warn(facts, 'Instances that never registered as nodes could not be deleted');
    this.#end({ kind: 'instances', group, instances, cause, accepted, message, atMs: clock.now() });
  }

  #end(outcome: RemovalOutcome, forget?: () => void): void {
    forget?.();
    this.#outcomes.push(outcome);
    this.#deps.onEnd();
  }

  /** Nodes whose removal is under way. */
  inFlight(): ReadonlySet<NodeName> {
    return new Set(this.#removals.keys());
  }

  /** Returns the outcomes since the last call, in order, for `reduceRemovals`. */
  collect(): readonly RemovalOutcome[] {
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    return outcomes;
  }

  /**
   * Starts nothing new, undoes what can be undone and waits for deletions that were sent, until the signal fires. After
   * that nothing more is written: the taints show the next leader what to undo.
   */
  async stop(signal: AbortSignal): Promise<void> {
    const removeListener = onAbort(signal, () => this.#undo.abort());
    this.#work.abort();
    await untilAborted(Promise.allSettled([...this.#removals.values(), ...this.#instances]), signal);
    removeListener();
  }
}

interface InstanceBatch {
  readonly group: NodeGroupId;
  readonly cause: InstanceRemoval['cause'];
  readonly instances: readonly InstanceKey[];
}

function batchInstances(removals: readonly InstanceRemoval[]): readonly InstanceBatch[] {
  const batches = new Map<string, InstanceBatch>();
  for (const { group, cause, instance } of removals) {
    const key = `${cause} ${group}`;
    const known = batches.get(key);
    batches.set(key, { group, cause, instances: [...(known?.instances ?? []), instance] });
  }
  return [...batches.values()];
}
