/**
 * One removal from the first re-check to the accepted deletion. Every other end removes the deletion taint again. If the
 * process dies, the taint shows the next process what to undo (deletion-taint.ts). Must not know which nodes are removed.
 */
import { lostTaintReason } from '../../domain/deletion-owner.ts';
import { policyForDrains } from '../../scheduling/drainability/group-drain-options.ts';
import { podName } from '../../domain/ids.ts';
import type { RemovalOutcome, RemovalStep } from '../../domain/outcome.ts';
import type { Removal } from '../../domain/plan.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import { budgetIndex, drainRulesOf } from '../../scheduling/drainability/drain-rule.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import type { DeleteBatches } from './delete-batches.ts';
import { DELAY_POLL_MS, waitForDelays, waitForLoadBalancers } from './deletion-waits.ts';
import {
  intendedDeletionTaint,
  applyDeletionTaint,
  noteReimage,
  removeDeletionTaintWithRetry,
  type DeletionTaint,
} from './deletion-taint.ts';
import { evictInOrder, isUnread, OF_REMOVED_NODE, type PodsToEvict, UNCHECKED } from './evict-pods.ts';
import type { EvictionTurns } from './eviction-turns.ts';
import { type FreshNode, readOwners, withOwners, recheckRemoval, type RecheckInput } from './removal-safety.ts';
import type { WholeGroupDeletion } from './whole-group-deletion.ts';

/** How long a drained node is read again while the API server does not answer. To give up then would be to drain it twice. */
const READ_AGAIN_FOR_MS = 60_000;

export interface DrainNodeDeps extends DrainDeps {
  readonly batches: Pick<DeleteBatches, 'delete'>;
  readonly turns: EvictionTurns;
  /** Set for a node of an atomic group. */
  readonly whole: Pick<WholeGroupDeletion, 'cancel' | 'cancelReason'> | undefined;
  /** Fires when the removal must be given up and undone. */
  readonly work: AbortSignal;
  /** Fires when even the undo must end. */
  readonly undo: AbortSignal;
}

/** Why a removal ended early, and in which step. */
class RemovalStopped extends Error {
  readonly step: RemovalStep;
  /** Whether an immediate new attempt would be useless. */
  readonly backsOff: boolean;
  /** Whether the reason holds for other nodes of the group, and for no other group. */
  readonly ofGroup: boolean;

  constructor(step: RemovalStep, message: string, { backsOff = step !== 'recheck', ofGroup = false } = {}) {
    super(message);
    this.step = step;
    this.backsOff = backsOff;
    this.ofGroup = ofGroup;
  }
}

/** The state of a removal under way that an undo needs. */
interface RemovalProgress {
  step: RemovalStep;
  taint: DeletionTaint | undefined;
  uid: string | undefined;
}

/** Carries out one removal. Never rejects: the outcome contains any failure, and an unfinished removal is undone. */
export async function removeNode(removal: Removal, given: DrainNodeDeps): Promise<RemovalOutcome> {
  const deps = { ...given, policy: policyForDrains(given.policy, removal.drain) };
  const progress: RemovalProgress = { step: 'recheck', taint: undefined, uid: undefined };
  try {
    const reimaged = await drainAndDelete(removal, progress, deps);
    return removalDone(removal, progress, { deps, reimaged });
  } catch (thrown) {
    return await removalFailed(removal, progress, { thrown, deps });
  }
}

/** Returns whether the instance is reimaged, and not deleted. */
async function drainAndDelete(removal: Removal, progress: RemovalProgress, deps: DrainNodeDeps): Promise<boolean> {
  const { policy, clock, work } = deps;
  const first = await readNode(removal, deps);
  if (policy.scaleDown.skipNodesWithCustomControllerPods) {
    const unknown = await readOwners(first.pods, deps.owners, work);
    if (unknown !== undefined) throw new RemovalStopped('recheck', unknown, { backsOff: true });
  }
  checkRemoval(removal, first, 'before-taint', deps);
  progress.uid = first.node.uid;
  progress.step = 'taint';
  // Set before the write: a taint call that fails may still have taken effect.
  const { cordon } = policy.drain;
  progress.taint = intendedDeletionTaint(first.node, { cordon, owner: deps.deletionOwner() });
  const written = await applyDeletionTaint(progress.taint, { tainter: deps.tainter, cordon, nowMs: clock.now() }, work);
  // guard: a taint of another component is not overwritten
  if ('heldBy' in written) throw new RemovalStopped('recheck', 'another component is removing the node');
  progress.taint = written;
  const taintedMs = clock.monotonic();
  recordRemovalStart(removal, first.node.uid, deps);
  await clock.sleep(policy.drain.delayAfterTaintMs, work);

  progress.step = 'recheck';
  const onNode = checkRemoval(removal, sameNode(await readNode(removal, deps), first), 'before-evict', deps);
  progress.step = 'evict';
  const check: TaintCheck = () => checkTaint(removal, first, deps);
  const budgets = budgetIndex(deps.reader.observe(clock.now()).disruptionBudgets);
  const result = await evictInOrder(
    onNode,
    { ...deps, ...UNCHECKED, policy: policy.drain, said: OF_REMOVED_NODE, check: sharedCheck(check), budgets },
    work,
  );
  if (!result.done) throw new RemovalStopped(result.step, result.message);

  progress.step = 'wait';
  const leavingSinceMs = removal.pods.length === 0 ? taintedMs : clock.monotonic();
  await waitForLoadBalancers({ removal, node: first.node, leavingSinceMs }, { ...deps, policy: policy.drain }, work);
  // Another operation may block the group for minutes. The read that follows spares Azure a request that the last look would stop.
  await deps.cloud.untilRemovable(removal.group, work);
  const read = () => readDrained(removal, deps);
  const last = await waitForDelays(removal, read, { ...deps, policy: policy.drain }, work);
  checkRemoval(removal, sameNode(last, first), 'before-delete', deps);
  progress.step = 'delete';
  const reimages = removal.reimages === true && first.node.readiness.ready;
  let noted = false;
  const lastLook = async (signal: AbortSignal): Promise<string | undefined> => {
    const objection = await objectionTo(removal, first, deps, signal);
    // guard: a reimage is noted on its node before it is sent
    if (objection === undefined && reimages) await noteReimage(written, { tainter: deps.tainter, nowMs: clock.now() }, signal);
    noted = reimages;
    return objection;
  };
  // guard: a node that does not work is deleted, not stopped
  const mayStop = removal.cause !== 'unready' && first.node.readiness.ready;
  const node = { instance: removal.instance, mayStop, reimages, lastLook };
  const outcome = await deps.batches.delete(removal.group, node, { before: work, during: deps.undo });
  if (outcome.kind === 'spared') throw new RemovalStopped('recheck', outcome.reason);
  if (outcome.kind === 'refused') throw new RemovalStopped('delete', outcome.reason, { ofGroup: true });
  if (outcome.kind === 'failed') throw outcome.error;
  // An instance that is going already needs no request, and does not come back.
  return noted;
}

async function readNode(removal: Removal, deps: DrainNodeDeps): Promise<FreshNode> {
  const fresh = await deps.reader.readFresh(removal.node, deps.work);
  if (fresh === undefined) throw new RemovalStopped('recheck', 'the node is gone');
  return fresh;
}

/** Reads again for a while if the API server does not answer. Throws as `readFresh` does. */
async function readDrained({ node }: Removal, { reader, clock, work }: DrainNodeDeps): Promise<FreshNode | undefined> {
  const giveUpAt = clock.monotonic() + READ_AGAIN_FOR_MS;
  for (;;) {
    try {
      return await reader.readFresh(node, work);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (!isUnread(error) || clock.monotonic() + DELAY_POLL_MS > giveUpAt) throw error;
    }
    await clock.sleep(DELAY_POLL_MS, work);
  }
}

/** Azure may reuse instance numbers, and with them node names. A new node of the same name was never drained. */
function sameNode(now: FreshNode | undefined, before: FreshNode): FreshNode {
  if (now === undefined) throw new RemovalStopped('recheck', 'the node is gone');
  // guard: a node of the same name is another node
  if (now.node.uid !== before.node.uid) throw new RemovalStopped('recheck', 'another node of the same name has taken its place');
  return now;
}

/** A pause may begin during a drain, which takes minutes. What was evicted by then has its new place. */
function checkPause({ group }: Removal, { cloud }: DrainNodeDeps): void {
  const paused = cloud.removalPausedBecause(group);
  // guard: a pause ends the removals that are under way
  if (paused !== undefined) throw new RemovalStopped('recheck', paused);
}

type TaintCheck = () => Promise<AutoscalerError | undefined>;

/** Returns the failure if the node could not be read. @throws RemovalStopped if the node does not have our deletion taint any more. */
async function checkTaint(removal: Removal, before: FreshNode, deps: DrainNodeDeps): Promise<AutoscalerError | undefined> {
  try {
    checkPause(removal, deps);
    const { node } = sameNode(await readNode(removal, deps), before);
    const lost = lostTaintReason(node, deps.deletionOwner());
    // guard: the taint is checked between evictions
    if (lost !== undefined) throw new RemovalStopped('recheck', lost, { backsOff: true });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RemovalStopped) throw thrown;
    const error = asAutoscalerError(thrown);
    if (!isUnread(error)) throw error;
    return error;
  }
}

/** Calls that come while a check is running share its result. */
function sharedCheck(check: TaintCheck): TaintCheck {
  let running: ReturnType<TaintCheck> | undefined;
  return () =>
    (running ??= check().finally(() => {
      running = undefined;
    }));
}

/** The last look at a node, right before its deletion is requested. Returns why it must not be deleted, or undefined. */
async function objectionTo(removal: Removal, before: FreshNode, deps: DrainNodeDeps, signal: AbortSignal): Promise<string | undefined> {
  const fresh = await deps.reader.readFresh(removal.node, signal);
  try {
    // guard: the last look at a node comes right before its delete
    checkRemoval(removal, sameNode(fresh, before), 'before-delete', deps);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RemovalStopped) return thrown.message;
    throw thrown;
  }
}

function checkRemoval(removal: Removal, fresh: FreshNode, stage: RecheckInput['stage'], deps: DrainNodeDeps): PodsToEvict {
  checkPause(removal, deps);
  const nowMs = deps.clock.now();
  const cluster = withOwners(deps.reader.observe(nowMs), deps.owners);
  const self = deps.deletionOwner();
  const result = recheckRemoval({ removal, fresh, cluster, policy: drainRulesOf(deps.policy), nowMs, self, stage });
  if (!result.go) throw new RemovalStopped('recheck', result.message, { backsOff: result.taken === true });
  return result;
}

function recordRemovalStart(removal: Removal, uid: string, { events, policy }: DrainNodeDeps): void {
  const subject = { kind: 'Node', name: removal.node, uid } as const;
  const tainted = `marked the node as toBeDeleted${policy.drain.cordon ? '/unschedulable' : ''}`;
  if (removal.pods.length === 0) {
    events.record({ subject, type: 'Normal', reason: 'ScaleDown', message: `${tainted}: no pods to move` });
    return;
  }
  const share = `${Math.round(removal.utilization * 100)} %`;
  const names = removal.pods.map(podName).join(', ');
  events.record({ subject, type: 'Normal', reason: 'ScaleDown', message: `${tainted}: utilization ${share}, pods to move: ${names}` });
}

function removalDone(
  removal: Removal,
  progress: RemovalProgress,
  { deps, reimaged }: { readonly deps: DrainNodeDeps; readonly reimaged: boolean },
): RemovalOutcome {
  const { group, node, instance, cause } = removal;
  const subject = { kind: 'Node', name: node, uid: progress.uid ?? '' } as const;
  const outcome = { kind: 'deleted', group, node, instance, drained: removal.pods.length > 0, reimaged, atMs: deps.clock.now() } as const;
  if (reimaged) {
    const message = `Azure is reimaging the instance of this sick node (${removal.condition ?? cause}); its pods were moved`;
    deps.log.info({ node, nodeGroup: group, cause, pods: removal.pods.length }, 'Reimage of the instance of a sick node accepted');
    deps.events.record({ subject, type: 'Normal', reason: 'NodeReimaged', message });
    return outcome;
  }
  deps.metrics.scaleDown.nodes.inc({ node_group: group, cause });
  // Whether the instance is deleted or stopped, its group decides.
  deps.log.info({ node, nodeGroup: group, cause, pods: removal.pods.length }, 'Node removal accepted');
  deps.events.record({
    subject,
    type: 'Normal',
    reason: 'ScaleDown',
    message: 'node removed by cluster autoscaler: Azure accepted the removal of its instance',
  });
  return outcome;
}

/** Whether the next attempt must wait, since an immediate one would end the same way. */
function backsOff(error: Error, step: RemovalStep): boolean {
  return error instanceof RemovalStopped ? error.backsOff : step !== 'recheck' && step !== 'stopped';
}

async function removalFailed(
  removal: Removal,
  progress: RemovalProgress,
  failure: { readonly thrown: unknown; readonly deps: DrainNodeDeps },
): Promise<RemovalOutcome> {
  const { deps, thrown } = failure;
  const { group, node } = removal;
  const error = thrown instanceof RemovalStopped ? thrown : asAutoscalerError(thrown);
  // Read before the others are cancelled: this removal was not stopped by its own cancellation.
  const stopped = deps.work.aborted && !(error instanceof RemovalStopped);
  deps.whole?.cancel(`${node}: ${error.message}`);
  const step: RemovalStep = stopped ? 'stopped' : error instanceof RemovalStopped ? error.step : progress.step;
  const cleanupError = progress.taint === undefined ? undefined : await removeDeletionTaintWithRetry(progress.taint, deps, deps.undo);
  if (cleanupError !== undefined)
    deps.log.error({ node, nodeGroup: group, err: cleanupError }, 'Deletion taint could not be removed; the next loop tries again');
  const message =
    stopped && !(error instanceof RemovalStopped) && error.kind === 'cancelled'
      ? (deps.whole?.cancelReason ?? 'the autoscaler is shutting down')
      : error.message;
  reportFailure(removal, progress, { step, message, deps });
  const ofGroup = error instanceof RemovalStopped && error.ofGroup;
  const atMs = deps.clock.now();
  const retryAtMs = backsOff(error, step) ? atMs + deps.policy.scaleDown.recheckUnremovableAfterMs : atMs;
  return { kind: 'undone', group, node, step, message, ofGroup, atMs, retryAtMs };
}

function reportFailure(
  removal: Removal,
  progress: RemovalProgress,
  end: { readonly step: RemovalStep; readonly message: string; readonly deps: DrainNodeDeps },
): void {
  const { step, message, deps } = end;
  deps.metrics.scaleDown.failures.inc({ node_group: removal.group, step });
  deps.log.warn({ node: removal.node, nodeGroup: removal.group, step, reason: message }, 'Node removal given up and undone');
  // A node that was never tainted showed nothing of the removal.
  if (progress.uid === undefined) return;
  const subject = { kind: 'Node', name: removal.node, uid: progress.uid } as const;
  deps.events.record({ subject, type: 'Warning', reason: 'ScaleDownFailed', message: `node not removed (step ${step}): ${message}` });
}
