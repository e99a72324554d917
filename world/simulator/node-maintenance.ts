/** What AKS does with nodes when it upgrades them: cordon, drain within budgets, uncordon. It acts on the cluster as one more client. */
import type { DrainOptions, NodeMaintenance } from './arm/state/arm-state.ts';
import type { SimClock } from './base/sim-clock.ts';
import type { SimCluster } from './cluster/cluster.ts';
import { conditionOf, controllerOf, type NodeObject, type PodObject } from './cluster/store/objects.ts';

/** Simulated time between two rounds of evictions. */
export const ROUND_MS = 5_000;

export interface StoppableMaintenance extends NodeMaintenance {
  stop(): void;
}

export function createNodeMaintenance(cluster: Pick<SimCluster, 'store' | 'apply' | 'evict'>, clock: SimClock): StoppableMaintenance {
  const waiting = new Set<() => void>();
  const later = (ms: number, action: () => void): void => {
    const forget = clock.after(ms, () => {
      waiting.delete(forget);
      action();
    });
    waiting.add(forget);
  };
  const nodeOf = (name: string): NodeObject | undefined => cluster.store.get('nodes', undefined, name) as NodeObject | undefined;
  const setUnschedulable = (name: string, unschedulable: boolean): void => {
    const node = nodeOf(name);
    if (node !== undefined && (node.spec.unschedulable === true) !== unschedulable)
      cluster.apply({ ...node, spec: { ...node.spec, unschedulable } });
  };
  const evictRound = (
    name: string,
    { timeoutMs: leftMs, goesOn = () => true }: DrainOptions,
    done: (failure: string | undefined) => void,
  ): void => {
    if (!goesOn()) return;
    const pods = nodeOf(name) === undefined ? [] : cluster.store.pods().filter((pod) => isEvicted(pod, name));
    if (pods.length === 0) return done(undefined);
    const tried = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map((pod) => ({ pod, why: cluster.evict(pod) }));
    const refused = tried.find(({ why }) => why !== undefined);
    if (leftMs <= 0) return done(drainFailure(name, refused?.pod ?? pods[0], refused?.why));
    later(ROUND_MS, () => evictRound(name, { timeoutMs: leftMs - ROUND_MS, goesOn }, done));
  };
  return {
    drain: (name, options, done) => {
      setUnschedulable(name, true);
      evictRound(name, options, done);
    },
    uncordon: (name) => setUnschedulable(name, false),
    isReady: (name) => {
      const node = nodeOf(name);
      return node !== undefined && conditionOf(node, 'Ready')?.status === 'True';
    },
    stop: () => {
      for (const forget of waiting) forget();
    },
  };
}

/** As `kubectl drain --ignore-daemonsets`. */
export function isEvicted(pod: PodObject, nodeName: string): boolean {
  const { spec, status, metadata } = pod;
  if (spec.nodeName !== nodeName || status.phase === 'Succeeded' || status.phase === 'Failed') return false;
  return controllerOf(pod)?.kind !== 'DaemonSet' && metadata.annotations?.['kubernetes.io/config.mirror'] === undefined;
}

export function drainFailure(nodeName: string, pod: PodObject | undefined, why = 'the pod did not end in time'): string {
  return `Drain node ${nodeName} failed when evicting pod ${pod?.metadata.name ?? ''}: ${why}`;
}
