/**
 * In which order the pods of one node are evicted: those that others may rely on while they end go last. Must not know how
 * a pod is evicted.
 */
import type { Pod } from '../domain/pod.ts';
import type { DrainBand, DrainPolicy } from '../domain/policy.ts';
import { evictOnce, evictPods, type EvictResult, type EvictTools } from './evict-pods.ts';

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
