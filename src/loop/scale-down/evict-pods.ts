/**
 * Evicts the pods of one node in order: repeats an eviction until it is granted, and waits until the pod is gone. Pods that
 * others rely on while they terminate are evicted last. Must not know why the node is drained.
 */
import { podName } from '../../domain/ids.ts';
import type { EvictOutcome } from '../../domain/outcome.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DrainPolicy, DrainBand } from '../../domain/policy.ts';
import type { PodEvictor } from '../../domain/ports/cluster-writes.ts';
import type { ClusterReader } from '../../domain/ports/cluster.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { BudgetIndex } from '../../scheduling/drainability/drain-rule.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { EvictionTurns } from './eviction-turns.ts';

interface EvictDeps {
  readonly reader: Pick<ClusterReader, 'podExists'>;
  readonly evictor: PodEvictor;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly policy: DrainPolicy;
  readonly turns: EvictionTurns;
  /** The budgets that select a pod. */
  readonly budgets: BudgetIndex;
  /** The event on each pod. */
  readonly said: { readonly reason: string; readonly message: string };
  /** Monotonic. After it no eviction is sent. Each pod has the policy's time at most, from its first turn on. */
  readonly endsAtMs: number;
  /**
   * Called before the pods of each further band are evicted, and before an eviction is repeated. Throws if the node must be drained no
   * further. Returns the failure if that could not be read: then nothing is evicted for now.
   */
  readonly check: () => Promise<AutoscalerError | undefined>;
}

/** The event on pods of a node that is removed. */
export const OF_REMOVED_NODE: EvictDeps['said'] = { reason: 'ScaleDown', message: 'deleting pod for node scale down' };

/** No end but that of the policy, and no look at the node between evictions. */
export const UNCHECKED: Pick<EvictDeps, 'endsAtMs' | 'check'> = {
  endsAtMs: Number.POSITIVE_INFINITY,
  check: () => Promise.resolve(undefined),
};

export type EvictResult = { readonly done: true } | { readonly done: false; readonly step: 'evict' | 'wait'; readonly message: string };

/** How long a pod may exist after its grace period. The Cluster Autoscaler's value. */
const WAIT_SLACK_MS = 30_000;
const FIRST_POLL_MS = 1_000;
const SLOWEST_POLL_MS = 5_000;

/** Evicts the pods in parallel and waits until each is gone. `capMs` caps their grace period; 0 is no cap. */
async function evictPods(pods: readonly Pod[], capMs: number, deps: EvictDeps, signal: AbortSignal): Promise<EvictResult> {
  // Waits for every pod, so that no eviction is under way when the node is released.
  const settled = await Promise.allSettled(pods.map((pod) => evictPod(pod, capped(pod, capMs), deps, signal)));
  for (const entry of settled) if (entry.status === 'rejected') throw asError(entry.reason);
  const failed = settled.find((entry) => entry.status === 'fulfilled' && !entry.value.done);
  return failed?.status === 'fulfilled' ? failed.value : { done: true };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : asAutoscalerError(thrown);
}

/** Tries each pod once and does not wait: the other pods end with the node. Throws only `cancelled`. */
async function evictWithoutRetry(pods: readonly Pod[], capMs: number, deps: EvictDeps, signal: AbortSignal): Promise<void> {
  const { turns, budgets, evictor } = deps;
  const evict = (pod: Pod): Promise<EvictOutcome> =>
    turns.take(budgets.budgetsOf(pod), () => evictor.evict(pod, capped(pod, capMs), signal), signal);
  const outcomes = await Promise.all(pods.map(evict));
  for (const outcome of outcomes) {
    deps.metrics.scaleDown.evictions.inc({ outcome: outcome.kind });
    if (outcome.kind === 'failed' && outcome.error.kind === 'cancelled') throw outcome.error;
  }
}

/**
 * Repeats each eviction until it is granted, within the policy's time, and does not wait for the pod's end. Returns the
 * reasons of those that failed. Throws only `cancelled`.
 */
export async function evictWithoutWaiting(
  pods: readonly Pod[],
  capMs: number,
  deps: EvictDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const results = await Promise.all(pods.map((pod) => evictUntilGranted(pod, Math.min(pod.terminationGraceMs, capMs), deps, signal)));
  return results.flatMap((result) => (result === undefined || result.done ? [] : [result.message]));
}

function capped(pod: Pod, capMs: number): number {
  return capMs > 0 ? Math.min(pod.terminationGraceMs, capMs) : pod.terminationGraceMs;
}

async function evictPod(pod: Pod, graceMs: number, deps: EvictDeps, signal: AbortSignal): Promise<EvictResult> {
  // A terminating pod (an earlier leader may have evicted it) is not evicted again: that could only shorten its grace.
  const refusal = pod.deletionAtMs === undefined ? await evictUntilGranted(pod, graceMs, deps, signal) : undefined;
  const result = refusal ?? (await waitUntilGone(pod, graceMs, deps, signal));
  if (!result.done) {
    recordPodEvent(pod, deps, {
      type: 'Warning',
      reason: 'ScaleDownFailed',
      message: `failed to delete pod for ScaleDown: ${result.message}`,
    });
  }
  return result;
}

async function evictUntilGranted(pod: Pod, graceMs: number, deps: EvictDeps, signal: AbortSignal): Promise<EvictResult | undefined> {
  const { clock, policy, metrics, turns, budgets } = deps;
  let giveUpAt = deps.endsAtMs;
  let refusal = 'other evictions took all of the time';
  const failed = (): EvictResult => ({ done: false, step: 'evict', message: `pod ${podName(pod)}: ${refusal}` });
  recordPodEvent(pod, deps, { type: 'Normal', ...deps.said });
  for (let isFirst = true; ; isFirst = false) {
    const evictInTurn = async (): Promise<EvictOutcome | 'too-late'> => {
      // guard: no eviction from a preempted node is sent after its deadline
      if (clock.monotonic() > giveUpAt) return 'too-late';
      giveUpAt = Math.min(giveUpAt, clock.monotonic() + policy.evictionTimeoutMs);
      // guard: an eviction is repeated only after a look at the taint
      const unread = isFirst ? undefined : await deps.check();
      return unread === undefined ? deps.evictor.evict(pod, graceMs, signal) : { kind: 'failed', error: unread };
    };
    const outcome = await turns.take(budgets.budgetsOf(pod), evictInTurn, signal);
    if (outcome === 'too-late') return failed();
    metrics.scaleDown.evictions.inc({ outcome: outcome.kind });
    if (outcome.kind === 'evicted' || outcome.kind === 'gone') return undefined;
    if (outcome.kind === 'failed' && outcome.error.kind === 'cancelled') throw outcome.error;
    refusal = refusalText(outcome);
    if (clock.monotonic() + policy.evictionRetryMs > giveUpAt) return failed();
    await clock.sleep(policy.evictionRetryMs, signal);
  }
}

function refusalText(outcome: Extract<EvictOutcome, { kind: 'blocked' | 'failed' }>): string {
  return outcome.kind === 'blocked' ? outcome.message : outcome.error.message;
}

async function waitUntilGone(pod: Pod, graceMs: number, deps: EvictDeps, signal: AbortSignal): Promise<EvictResult> {
  const { clock } = deps;
  const deadline = clock.monotonic() + graceMs + WAIT_SLACK_MS;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(SLOWEST_POLL_MS, pauseMs * 2)) {
    if (!(await mayExist(pod, deps, signal))) return { done: true };
    if (clock.monotonic() >= deadline) return { done: false, step: 'wait', message: `pod ${podName(pod)} did not terminate in time` };
    await clock.sleep(Math.min(pauseMs, Math.max(1, deadline - clock.monotonic())), signal);
  }
}

/** If the API server does not respond, the pod's state is unknown and is read again. */
async function mayExist(pod: Pod, deps: EvictDeps, signal: AbortSignal): Promise<boolean> {
  try {
    return await deps.reader.podExists(pod, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (isUnread(error)) return true;
    throw error;
  }
}

/** Whether the API server did not respond as usual, so that the state is unknown and can be read again. */
export function isUnread({ kind }: AutoscalerError): boolean {
  return kind === 'kube-api' || kind === 'unavailable' || kind === 'throttled';
}

function recordPodEvent(
  pod: Pod,
  deps: EvictDeps,
  event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
): void {
  deps.events.record({ subject: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid }, ...event });
}

/** From this priority on Kubernetes treats a pod as critical to the system (`system-cluster-critical`). */
const CRITICAL_PRIORITY = 2_000_000_000;

export interface PodsToEvict {
  /** These must be gone before the node is deleted. */
  readonly pods: readonly Pod[];
  /** DaemonSet pods. */
  readonly daemons: readonly Pod[];
  /** Pods of so low a priority that they are evicted without waiting. */
  readonly expendables: readonly Pod[];
}

/** One step of a drain: these pods in parallel, with a cap on their grace period (0 is no cap). */
interface EvictionBand {
  readonly pods: readonly Pod[];
  readonly capMs: number;
}

/**
 * Evicts band after band and waits for the end of each. If the policy names bands, DaemonSet pods belong to them, or follow
 * band by band after all others. Otherwise they are evicted once at the end, without waiting. The first failure ends it.
 */
export async function evictInOrder(onNode: PodsToEvict, deps: EvictDeps, signal: AbortSignal): Promise<EvictResult> {
  const { policy } = deps;
  const daemons = daemonsToEvict(onNode, policy);
  const named = policy.bands;
  const bands = named.length > 0 ? inNamedBands(onNode.pods, daemons, policy) : plainBands(onNode.pods, policy);
  for (const [index, { pods, capMs }] of bands.filter((band) => band.pods.length > 0).entries()) {
    // guard: the evictions of each further band follow a look at the taint
    const unread = index === 0 ? undefined : await deps.check();
    if (unread !== undefined) return { done: false, step: 'evict', message: unread.message };
    const result = await evictPods(pods, capMs, deps, signal);
    if (!result.done) return result;
  }
  const unawaited = [...onNode.expendables, ...(named.length === 0 ? daemons : [])];
  await evictWithoutRetry(unawaited, policy.maxGracefulTerminationMs, deps, signal);
  return { done: true };
}

/** A pod's annotation overrides the policy. Terminating pods need no eviction. */
function daemonsToEvict({ pods, daemons }: Pick<PodsToEvict, 'pods' | 'daemons'>, policy: DrainPolicy): readonly Pod[] {
  const byPolicy = pods.length > 0 ? policy.evictDaemonPods.fromOccupied : policy.evictDaemonPods.fromEmpty;
  return daemons.filter((pod) => pod.deletionAtMs === undefined && (pod.annotations.daemonEviction ?? byPolicy ?? false));
}

function plainBands(pods: readonly Pod[], { maxGracefulTerminationMs: capMs }: DrainPolicy): readonly EvictionBand[] {
  const isCritical = (pod: Pod): boolean => (pod.shape.priority ?? 0) >= CRITICAL_PRIORITY;
  return [
    { pods: pods.filter((pod) => !isCritical(pod)), capMs },
    { pods: pods.filter(isCritical), capMs },
  ];
}

function inNamedBands(pods: readonly Pod[], daemons: readonly Pod[], { bands, daemonPodsLast }: DrainPolicy): readonly EvictionBand[] {
  if (!daemonPodsLast) return namedBands([...pods, ...daemons], bands);
  return [...namedBands(pods, bands), ...namedBands(daemons, bands)];
}

/** Each pod belongs to the highest band that is not above its priority. Pods below every band belong to the lowest. */
function namedBands(pods: readonly Pod[], named: readonly DrainBand[]): readonly EvictionBand[] {
  const ascending = [...named].sort((left, right) => left.priority - right.priority);
  const indexOf = (pod: Pod): number =>
    Math.max(
      0,
      ascending.findLastIndex((band) => band.priority <= (pod.shape.priority ?? 0)),
    );
  return ascending.map((band, index) => ({ pods: pods.filter((pod) => indexOf(pod) === index), capMs: band.graceMs }));
}
