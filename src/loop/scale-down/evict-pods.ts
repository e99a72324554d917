/** Asks for the eviction of pods until it is granted, and sees them end. Knows no order among them (eviction-order.ts). */
import { podName } from '../../domain/ids.ts';
import type { EvictOutcome } from '../../domain/outcome.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DrainPolicy, DrainBand } from '../../domain/policy.ts';
import type { PodEvictor } from '../../domain/ports/cluster-writes.ts';
import type { ClusterReader } from '../../domain/ports/cluster.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export interface EvictTools {
  readonly reader: Pick<ClusterReader, 'podExists'>;
  readonly evictor: PodEvictor;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly policy: DrainPolicy;
}

export type EvictResult = { readonly done: true } | { readonly done: false; readonly step: 'evict' | 'wait'; readonly message: string };

/** How long past its grace a pod may take to go. The Cluster Autoscaler's figure. */
const WAIT_SLACK_MS = 30_000;
const FIRST_POLL_MS = 1_000;
const SLOWEST_POLL_MS = 5_000;

/** Evicts the pods side by side and waits until each is gone. `capMs` caps their grace; 0 does not. */
export async function evictPods(pods: readonly Pod[], capMs: number, tools: EvictTools, signal: AbortSignal): Promise<EvictResult> {
  // Every pod is seen through, so that none is still being evicted when the node is released.
  const settled = await Promise.allSettled(pods.map((pod) => evictOne(pod, capped(pod, capMs), tools, signal)));
  for (const entry of settled) if (entry.status === 'rejected') throw asAutoscalerError(entry.reason);
  const failed = settled.find((entry) => entry.status === 'fulfilled' && !entry.value.done);
  return failed?.status === 'fulfilled' ? failed.value : { done: true };
}

/** One try for each pod, and no waiting: what does not go now goes with the node. Throws only `cancelled`. */
export async function evictOnce(pods: readonly Pod[], capMs: number, tools: EvictTools, signal: AbortSignal): Promise<void> {
  const outcomes = await Promise.all(pods.map((pod) => tools.evictor.evict(pod, capped(pod, capMs), signal)));
  for (const outcome of outcomes) {
    tools.metrics.scaleDown.evictions.inc({ outcome: outcome.kind });
    if (outcome.kind === 'failed' && outcome.error.kind === 'cancelled') throw outcome.error;
  }
}

/**
 * Asks for each pod until it is taken, within the policy's time, and does not wait for its end. Returns those that stayed,
 * with why. Throws only `cancelled`.
 */
export async function evictUnawaited(
  pods: readonly Pod[],
  capMs: number,
  tools: EvictTools,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const results = await Promise.all(pods.map((pod) => evictUntilTaken(pod, Math.min(pod.terminationGraceMs, capMs), tools, signal)));
  return results.flatMap((result) => (result === undefined || result.done ? [] : [result.message]));
}

function capped(pod: Pod, capMs: number): number {
  return capMs > 0 ? Math.min(pod.terminationGraceMs, capMs) : pod.terminationGraceMs;
}

async function evictOne(pod: Pod, graceMs: number, tools: EvictTools, signal: AbortSignal): Promise<EvictResult> {
  // What is ending already (the leader before us may have asked) is not asked again: that could only shorten its grace.
  const refusal = pod.deletionAtMs === undefined ? await evictUntilTaken(pod, graceMs, tools, signal) : undefined;
  const result = refusal ?? (await waitUntilGone(pod, graceMs, tools, signal));
  if (!result.done) {
    record(pod, tools, { type: 'Warning', reason: 'ScaleDownFailed', message: `failed to delete pod for ScaleDown: ${result.message}` });
  }
  return result;
}

async function evictUntilTaken(pod: Pod, graceMs: number, tools: EvictTools, signal: AbortSignal): Promise<EvictResult | undefined> {
  const { clock, policy, metrics } = tools;
  const giveUpAt = clock.monotonic() + policy.evictionTimeoutMs;
  record(pod, tools, { type: 'Normal', reason: 'ScaleDown', message: 'deleting pod for node scale down' });
  for (;;) {
    const outcome = await tools.evictor.evict(pod, graceMs, signal);
    metrics.scaleDown.evictions.inc({ outcome: outcome.kind });
    if (outcome.kind === 'evicted' || outcome.kind === 'gone') return undefined;
    if (outcome.kind === 'failed' && outcome.error.kind === 'cancelled') throw outcome.error;
    if (clock.monotonic() + policy.evictionRetryMs > giveUpAt) {
      return { done: false, step: 'evict', message: `pod ${podName(pod)}: ${refusalText(outcome)}` };
    }
    await clock.sleep(policy.evictionRetryMs, signal);
  }
}

function refusalText(outcome: Extract<EvictOutcome, { kind: 'blocked' | 'failed' }>): string {
  return outcome.kind === 'blocked' ? outcome.message : outcome.error.message;
}

async function waitUntilGone(pod: Pod, graceMs: number, tools: EvictTools, signal: AbortSignal): Promise<EvictResult> {
  const { clock } = tools;
  const deadline = clock.monotonic() + graceMs + WAIT_SLACK_MS;
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(SLOWEST_POLL_MS, pauseMs * 2)) {
    if (!(await mayExist(pod, tools, signal))) return { done: true };
    if (clock.monotonic() >= deadline) return { done: false, step: 'wait', message: `pod ${podName(pod)} did not end in time` };
    await clock.sleep(Math.min(pauseMs, Math.max(1, deadline - clock.monotonic())), signal);
  }
}

/** An API server that does not answer says nothing about the pod: it is asked again. */
async function mayExist(pod: Pod, tools: EvictTools, signal: AbortSignal): Promise<boolean> {
  try {
    return await tools.reader.podExists(pod, signal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'kube-api' || error.kind === 'unavailable' || error.kind === 'throttled') return true;
    throw error;
  }
}

function record(
  pod: Pod,
  tools: EvictTools,
  event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
): void {
  tools.events.record({ subject: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid }, ...event });
}

// In which order the pods of one node are evicted: those that others may rely on while they end go last. Must not know how
// a pod is evicted.

/** Kubernetes' own line: from here on a pod is critical to the system (`system-cluster-critical`). */
const CRITICAL_PRIORITY = 2_000_000_000;

export interface PodsToEvict {
  /** Must be gone before the node is. */
  readonly pods: readonly Pod[];
  /** Pods of DaemonSets. */
  readonly daemons: readonly Pod[];
  /** Of so low a priority that they are asked to go, but not waited for. */
  readonly expendables: readonly Pod[];
}

/** One step of a drain: these pods side by side, their grace capped (0: not). */
interface Band {
  readonly pods: readonly Pod[];
  readonly capMs: number;
}

/**
 * Evicts band after band, each seen to its end before the next begins. Where the policy names bands, pods of DaemonSets
 * are full members of them, or go band by band after all others if it says so; else they are asked once at the very end and not waited for. The first failure ends it.
 */
export async function evictInOrder(onNode: PodsToEvict, tools: EvictTools, signal: AbortSignal): Promise<EvictResult> {
  const { policy } = tools;
  const daemons = daemonsToEvict(onNode, policy);
  const named = policy.bands ?? [];
  const bands = named.length > 0 ? inNamedBands(onNode.pods, daemons, policy) : plainBands(onNode.pods, policy);
  for (const { pods, capMs } of bands) {
    const result = await evictPods(pods, capMs, tools, signal);
    if (!result.done) return result;
  }
  const unawaited = [...onNode.expendables, ...(named.length === 0 ? daemons : [])];
  await evictOnce(unawaited, policy.maxGracefulTerminationMs, tools, signal);
  return { done: true };
}

/** A pod's own word counts more than the policy's; what is ending already needs no asking. */
function daemonsToEvict({ pods, daemons }: Pick<PodsToEvict, 'pods' | 'daemons'>, policy: DrainPolicy): readonly Pod[] {
  const byPolicy = pods.length > 0 ? policy.evictDaemonPods?.fromOccupied : policy.evictDaemonPods?.fromEmpty;
  return daemons.filter((pod) => pod.deletionAtMs === undefined && (pod.daemonEviction ?? byPolicy ?? false));
}

function plainBands(pods: readonly Pod[], { maxGracefulTerminationMs: capMs }: DrainPolicy): readonly Band[] {
  const isCritical = (pod: Pod): boolean => (pod.shape.priority ?? 0) >= CRITICAL_PRIORITY;
  return [
    { pods: pods.filter((pod) => !isCritical(pod)), capMs },
    { pods: pods.filter(isCritical), capMs },
  ];
}

function inNamedBands(pods: readonly Pod[], daemons: readonly Pod[], { bands = [], daemonPodsLast }: DrainPolicy): readonly Band[] {
  if (daemonPodsLast !== true) return namedBands([...pods, ...daemons], bands);
  return [...namedBands(pods, bands), ...namedBands(daemons, bands)];
}

/** Each pod belongs to the highest band that is not above it; those below every band belong to the lowest. */
function namedBands(pods: readonly Pod[], named: readonly DrainBand[]): readonly Band[] {
  const ascending = [...named].sort((left, right) => left.priority - right.priority);
  const indexOf = (pod: Pod): number =>
    Math.max(
      0,
      ascending.findLastIndex((band) => band.priority <= (pod.shape.priority ?? 0)),
    );
  return ascending.map((band, index) => ({ pods: pods.filter((pod) => indexOf(pod) === index), capMs: band.graceMs }));
}
