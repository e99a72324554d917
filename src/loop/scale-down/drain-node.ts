/**
 * One removal from the first re-check to the accepted deletion. Every way out that is not a deletion takes the mark off
 * again; should the process die instead, the taint itself tells the next one (leftovers.ts).
 */
import { podName } from '../../domain/ids.ts';
import type { RemovalOutcome, RemovalStep } from '../../domain/outcome.ts';
import type { Removal } from '../../domain/plan.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { drainRulesOf } from '../../scheduling/drainability/drain-rule.ts';
import type { Log } from '../../telemetry/log.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';
import type { DeleteBatches } from './delete-batches.ts';
import { intendedMark, markForDeletion, unmarkWithRetry, type DeletionMark } from './deletion-taint.ts';
import { evictInOrder, type PodsToEvict } from './evict-pods.ts';
import { type FreshNode, learnOwners, withOwners, recheck, type RecheckInput } from './removal-safety.ts';
import type { WholeDeletion } from './whole-group-deletion.ts';

// Others may ask for time between the drain of a node and the deletion of its machine (to detach a disk, to copy a log) by
// an annotation of the node. Read from the API server each time: an annotation set during the drain counts, and one
// taken off ends the wait.

const POLL_MS = 5_000;

export interface DelayTools {
  /** Reads the node past every cache; undefined: it is gone. */
  readonly read: () => Promise<FreshNode | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 or undefined: nobody is waited for. */
  readonly timeoutMs: number | undefined;
}

/**
 * The node as last read, once nobody asks for a delay any more or the time is up: then the deletion goes on, as the Cluster
 * Autoscaler has it. Throws as `read` and the clock do.
 */
export async function waitForDelays(tools: DelayTools, signal: AbortSignal): Promise<FreshNode | undefined> {
  const { clock, read } = tools;
  const deadline = clock.monotonic() + (tools.timeoutMs ?? 0);
  for (;;) {
    const fresh = await read();
    const asking = fresh?.node.delayDeletion ?? [];
    if (fresh === undefined || asking.length === 0) return fresh;
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) {
      tools.log.warn({ node: fresh.node.name, asking: asking.join(', ') }, 'A node is deleted although somebody asked for a delay.');
      return fresh;
    }
    await clock.sleep(Math.min(POLL_MS, leftMs), signal);
  }
}

export interface DrainTools extends DrainDeps {
  readonly batches: Pick<DeleteBatches, 'delete'>;
  /** Set for a node that goes with all others of its group, or not at all. */
  readonly whole?: Pick<WholeDeletion, 'callOff' | 'because'>;
  /** Fires when the work is to be given up and undone. */
  readonly work: AbortSignal;
  /** Fires when even the undoing must end. */
  readonly undo: AbortSignal;
}

/** Why a removal ended early, and where. */
class Halt extends Error {
  readonly step: RemovalStep;
  /** Whether asking again at once would be of no use. */
  readonly rests: boolean;

  constructor(step: RemovalStep, message: string, rests = step !== 'recheck') {
    super(message);
    this.step = step;
    this.rests = rests;
  }
}

/** What is known of a removal under way, for whoever has to undo it. */
interface Progress {
  step: RemovalStep;
  mark: DeletionMark | undefined;
  uid: string | undefined;
}

/** Carries out one removal. Never rejects: whatever happened is in the outcome, and what was begun is undone. */
export async function removeNode(removal: Removal, tools: DrainTools): Promise<RemovalOutcome> {
  const progress: Progress = { step: 'recheck', mark: undefined, uid: undefined };
  try {
    await carryOut(removal, progress, tools);
    return succeeded(removal, progress, tools);
  } catch (thrown) {
    return await failed(removal, progress, { thrown, tools });
  }
}

async function carryOut(removal: Removal, progress: Progress, tools: DrainTools): Promise<void> {
  const { policy, clock, work } = tools;
  const first = await readNode(removal, tools);
  if (policy.scaleDown.skipNodesWithCustomControllerPods) {
    const unknown = await learnOwners(first.pods, tools.owners, work);
    if (unknown !== undefined) throw new Halt('recheck', unknown, true);
  }
  check(removal, first, 'before-mark', tools);
  progress.uid = first.node.uid;
  progress.step = 'taint';
  // Known before the write: a taint call that fails may have been carried out all the same.
  progress.mark = intendedMark(first.node, policy.drain.cordon);
  const options = { tainter: tools.tainter, cordon: policy.drain.cordon, nowMs: clock.now() };
  progress.mark = await markForDeletion(progress.mark, options, work);
  announce(removal, first.node.uid, tools);
  await clock.sleep(policy.drain.delayAfterTaintMs, work);

  progress.step = 'recheck';
  const onNode = check(removal, sameNode(await readNode(removal, tools), first), 'before-evict', tools);
  progress.step = 'evict';
  const result = await evictInOrder(onNode, { ...tools, policy: policy.drain }, work);
  if (!result.done) throw new Halt(result.step, result.message);

  progress.step = 'wait';
  // Another operation may hold the group up for minutes: whoever comes to the node meanwhile is seen by the look that follows.
  await tools.cloud.untilRemovable(removal.group, work);
  const read = () => tools.reader.readFresh(removal.node, work);
  const last = await waitForDelays({ ...tools, read, timeoutMs: policy.drain.deletionDelayTimeoutMs }, work);
  check(removal, sameNode(last, first), 'before-delete', tools);
  progress.step = 'delete';
  const outcome = await tools.batches.delete(removal.group, removal.instance, { before: work, during: tools.undo });
  if (outcome.kind === 'refused') throw new Halt('delete', outcome.reason);
  if (outcome.kind === 'failed') throw outcome.error;
}

async function readNode(removal: Removal, tools: DrainTools): Promise<FreshNode> {
  const fresh = await tools.reader.readFresh(removal.node, tools.work);
  if (fresh === undefined) throw new Halt('recheck', 'the node is gone');
  return fresh;
}

/**
 * Numbers of machines, and with them the names of nodes, may be given again: what was drained is gone then, and what is there now
 * was never looked at.
 */
function sameNode(now: FreshNode | undefined, before: FreshNode): FreshNode {
  if (now === undefined) throw new Halt('recheck', 'the node is gone');
  if (now.node.uid !== before.node.uid) throw new Halt('recheck', 'another node of the same name has taken its place');
  return now;
}

function check(removal: Removal, fresh: FreshNode, stage: RecheckInput['stage'], tools: DrainTools): PodsToEvict {
  const nowMs = tools.clock.now();
  const cluster = withOwners(tools.reader.observe(nowMs), tools.owners);
  const result = recheck({ removal, fresh, cluster, policy: drainRulesOf(tools.policy), nowMs, stage });
  if (!result.go) throw new Halt('recheck', result.message);
  return result;
}

function announce(removal: Removal, uid: string, { events, policy }: DrainTools): void {
  const subject = { kind: 'Node', name: removal.node, uid } as const;
  const marked = `marked the node as toBeDeleted${policy.drain.cordon ? '/unschedulable' : ''}`;
  if (removal.pods.length === 0) {
    events.record({ subject, type: 'Normal', reason: 'ScaleDown', message: `${marked}: nothing on it has to move` });
    return;
  }
  const share = `${Math.round(removal.utilization * 100)} %`;
  const names = removal.pods.map(podName).join(', ');
  events.record({ subject, type: 'Normal', reason: 'ScaleDown', message: `${marked}: utilization ${share}, pods to move: ${names}` });
}

function succeeded(removal: Removal, progress: Progress, tools: DrainTools): RemovalOutcome {
  const { group, node, instance, cause } = removal;
  tools.metrics.scaleDown.nodes.inc({ node_group: group, cause });
  tools.log.info({ node, nodeGroup: group, cause, pods: removal.pods.length }, 'A node is being deleted.');
  const subject = { kind: 'Node', name: node, uid: progress.uid ?? '' } as const;
  tools.events.record({
    subject,
    type: 'Normal',
    reason: 'ScaleDown',
    message: 'node removed by cluster autoscaler: Azure deletes its machine',
  });
  return { kind: 'deleted', group, node, instance, drained: removal.pods.length > 0, atMs: tools.clock.now() };
}

/** Whether the node is left alone for a while: nothing will have changed a moment later. */
function rests(error: Error, step: RemovalStep): boolean {
  return error instanceof Halt ? error.rests : step !== 'recheck' && step !== 'stopped';
}

async function failed(
  removal: Removal,
  progress: Progress,
  failure: { readonly thrown: unknown; readonly tools: DrainTools },
): Promise<RemovalOutcome> {
  const { tools, thrown } = failure;
  const { group, node } = removal;
  const error = thrown instanceof Halt ? thrown : asAutoscalerError(thrown);
  // Before the others are called off: who calls them off was not stopped itself.
  const stopped = tools.work.aborted && !(error instanceof Halt);
  tools.whole?.callOff(`${node}: ${error.message}`);
  const step: RemovalStep = stopped ? 'stopped' : error instanceof Halt ? error.step : progress.step;
  const stuck = progress.mark === undefined ? undefined : await unmarkWithRetry(progress.mark, tools, tools.undo);
  if (stuck !== undefined)
    tools.log.error({ node, nodeGroup: group, err: stuck }, 'A node stays marked for now; the next loop tries again.');
  const message =
    stopped && !(error instanceof Halt) && error.kind === 'cancelled' ? (tools.whole?.because ?? 'the autoscaler stops') : error.message;
  report(removal, progress, { step, message, tools });
  const atMs = tools.clock.now();
  const retryAtMs = rests(error, step) ? atMs + tools.policy.scaleDown.recheckUnremovableAfterMs : atMs;
  return { kind: 'undone', group, node, step, message, atMs, retryAtMs };
}

function report(
  removal: Removal,
  progress: Progress,
  end: { readonly step: RemovalStep; readonly message: string; readonly tools: DrainTools },
): void {
  const { step, message, tools } = end;
  tools.metrics.scaleDown.failures.inc({ node_group: removal.group, step });
  tools.log.warn({ node: removal.node, nodeGroup: removal.group, step, reason: message }, 'A removal was given up and undone.');
  // Nothing was visible on a node that was never marked.
  if (progress.uid === undefined) return;
  const subject = { kind: 'Node', name: removal.node, uid: progress.uid } as const;
  tools.events.record({ subject, type: 'Warning', reason: 'ScaleDownFailed', message: `the node stays (${step}): ${message}` });
}
