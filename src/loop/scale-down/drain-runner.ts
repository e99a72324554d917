/**
 * The removals that are under way. A drain takes minutes and a loop must not: the loop starts removals, goes on, and
 * collects what became of them later. Must not know which nodes should go.
 */
import { podName, type InstanceKey, type NodeGroupId, type NodeName } from '../../domain/ids.ts';
import type { RemovalOutcome } from '../../domain/outcome.ts';
import type { InstanceRemoval, Removal } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { DeleteBatches, deleteWithRetry } from './delete-batches.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import { removeNode, type DrainTools } from './drain-node.ts';
import { RemovalGuard } from './removal-safety.ts';
import { WholeDeletion } from './whole-group-deletion.ts';

/** An instance is not asked for again before the cache had time to show what became of it. */
const INSTANCE_REST_MS = 60_000;

/** Owns the removals that are under way. A loop starts them and never waits for them. */
export class DrainRunner {
  #deps: DrainDeps;
  readonly #batches: DeleteBatches;
  readonly #guard: RemovalGuard;
  readonly #work = new AbortController();
  readonly #undo = new AbortController();
  readonly #removals = new Map<NodeName, Promise<void>>();
  readonly #instances = new Set<Promise<void>>();
  readonly #resting = new Map<InstanceKey, number>();
  #outcomes: RemovalOutcome[] = [];

  constructor(deps: DrainDeps) {
    this.#deps = deps;
    this.#batches = new DeleteBatches(deps);
    this.#guard = new RemovalGuard(deps.clock, deps.policy.scaleDown);
  }

  /** What begins from now on goes by this policy. */
  reconfigure(policy: Policy): void {
    this.#deps = { ...this.#deps, policy };
    this.#guard.reconfigure(policy.scaleDown);
  }

  /** When removals were begun before this process; they count in the window. */
  recall(begunMs: readonly number[]): void {
    this.#guard.recall(begunMs);
  }

  /** Begins one removal in the background. Refused, with a warning, when the node is under way, or the runner full or stopped. */
  start(removal: Removal): void {
    if (this.#accepts([removal])) this.#begin(removal, { batches: this.#batches, work: this.#work.signal });
  }

  /**
   * Begins the removals of one group that go together or not at all: none is deleted before all are ready, and the first
   * that fails calls the others off. May be more than run in parallel, if any may: so it was planned.
   */
  startTogether(removals: readonly Removal[]): void {
    if (!this.#accepts(removals)) return;
    const whole = new WholeDeletion(removals.length, this.#deps);
    const work = AbortSignal.any([this.#work.signal, whole.calledOff]);
    for (const removal of removals) this.#begin(removal, { batches: whole, work, whole });
  }

  #accepts(removals: readonly Removal[]): boolean {
    const { log, policy } = this.#deps;
    const full = this.#removals.size >= policy.scaleDown.maxParallel;
    const isFree = !full && !this.#work.signal.aborted && !removals.some(({ node }) => this.#removals.has(node));
    const isAccepted = isFree && this.#guard.admit(removals.length);
    const facts = { full, guarded: isFree };
    if (!isAccepted) for (const { node, group } of removals) log.warn({ node, nodeGroup: group, ...facts }, 'A removal was not started.');
    return isAccepted;
  }

  #begin(removal: Removal, how: Pick<DrainTools, 'batches' | 'work' | 'whole'>): void {
    const { group, node, instance, utilization } = removal;
    const pods = removal.pods.map(podName);
    this.#outcomes.push({ kind: 'started', group, node, instance, pods, utilization, atMs: this.#deps.clock.now() });
    this.#removals.set(node, this.#run(removal, { ...this.#deps, ...how, undo: this.#undo.signal }));
  }

  async #run(removal: Removal, tools: DrainTools): Promise<void> {
    this.#end(await removeNode(removal, tools), () => this.#removals.delete(removal.node));
  }

  /** Begins the deletion of instances that are no nodes: one call per group and cause. */
  removeInstances(removals: readonly InstanceRemoval[]): void {
    if (this.#work.signal.aborted) return;
    const now = this.#deps.clock.now();
    for (const [key, untilMs] of this.#resting) if (untilMs <= now) this.#resting.delete(key);
    for (const batch of batched(removals.filter((removal) => !this.#resting.has(removal.instance)))) {
      if (!this.#guard.admit(batch.instances.length)) {
        const facts = { nodeGroup: batch.group, instances: batch.instances.length, cause: batch.cause };
        this.#deps.log.warn(facts, 'Instances that are no nodes were not deleted: too much was removed in this time.');
        continue;
      }
      for (const instance of batch.instances) this.#resting.set(instance, now + INSTANCE_REST_MS);
      const running: Promise<void> = this.#delete(batch).finally(() => this.#instances.delete(running));
      this.#instances.add(running);
    }
  }

  async #delete(batch: InstanceBatch): Promise<void> {
    const { clock, log } = this.#deps;
    const { group, instances, cause } = batch;
    const outcome = await deleteWithRetry({ group, instances, allowBelowMin: cause === 'failed' }, this.#deps, this.#undo.signal);
    const accepted = outcome.kind === 'accepted';
    if (!accepted) this.#guard.takeBack(instances.length);
    const message = outcome.kind === 'accepted' ? cause : outcome.kind === 'refused' ? outcome.reason : outcome.error.message;
    const facts = { nodeGroup: group, instances: instances.length, cause, reason: message };
    if (accepted) log.info(facts, 'Instances that are no nodes are being deleted.');
    else log.warn(facts, 'Instances that are no nodes could not be deleted.');
    this.#end({ kind: 'instances', group, instances, cause, accepted, message, atMs: clock.now() });
  }

  #end(outcome: RemovalOutcome, forget?: () => void): void {
    forget?.();
    this.#outcomes.push(outcome);
    this.#deps.onEnd?.();
  }

  /** Nodes being worked on now. */
  inFlight(): ReadonlySet<NodeName> {
    return new Set(this.#removals.keys());
  }

  /** What happened since the last call, in order; for reduceRemovals. */
  collect(): readonly RemovalOutcome[] {
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    return outcomes;
  }

  /**
   * Takes nothing new, undoes what can be undone and waits for deletions already asked for; at most until the signal
   * fires. With a signal that has fired nothing more is written: the taints tell the next leader what to undo.
   */
  async stop(signal: AbortSignal): Promise<void> {
    const deadline = Promise.withResolvers<void>();
    const giveUp = (): void => {
      this.#undo.abort();
      deadline.resolve();
    };
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    this.#work.abort();
    await Promise.race([Promise.allSettled([...this.#removals.values(), ...this.#instances]), deadline.promise]);
    signal.removeEventListener('abort', giveUp);
  }
}

interface InstanceBatch {
  readonly group: NodeGroupId;
  readonly cause: InstanceRemoval['cause'];
  readonly instances: readonly InstanceKey[];
}

function batched(removals: readonly InstanceRemoval[]): readonly InstanceBatch[] {
  const batches = new Map<string, InstanceBatch>();
  for (const { group, cause, instance } of removals) {
    const key = `${cause} ${group}`;
    const known = batches.get(key);
    batches.set(key, { group, cause, instances: [...(known?.instances ?? []), instance] });
  }
  return [...batches.values()];
}
