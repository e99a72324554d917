/** Counters under the Cluster Autoscaler's metric names that need state across loops. */
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import { answeredIncreases, type LoopListener, type LoopReport } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import { inFlightByGroup, type InFlightIncrease } from '../../planning/state/increases/increase-records.ts';
import type { CompatibleMetrics } from '../../telemetry/cluster-autoscaler-metrics.ts';

/**
 * Counts requested nodes that were not provided. The operation, each instance and the time-out report the same failure in
 * any order, and each node is counted once.
 */
export function failedNodeCreations({ failedNodeCreations: counter }: Pick<CompatibleMetrics, 'failedNodeCreations'>): LoopListener {
  /** Instances known to have failed; undefined before the first loop, which counts nothing. */
  let failed: ReadonlySet<string> | undefined;
  let awaited: ReadonlyMap<NodeGroupId, InFlightIncrease> = new Map();
  return (report) => {
    const { observation } = report;
    for (const { reason, nodes } of failedWrites(report)) counter.inc({ reason }, nodes);
    if (observation === undefined) return;
    const late = lateFailures(report, observation);
    const seen = new Set<string>();
    const registered = new Set(observation.cloud.instanceOfNode.values());
    for (const group of observation.cloud.groups) {
      const instanceKeys = failedInstanceKeys(group, registered);
      for (const key of instanceKeys) seen.add(key);
      const newlyFailed = failed === undefined ? 0 : instanceKeys.filter((key) => failed?.has(key) === false).length;
      const missing = missingNodes(late.get(group.id), awaited.get(group.id)?.nodes ?? 0, joining(group, registered));
      const reason = late.get(group.id)?.kind === 'timeout' ? 'timeout' : 'cloudProviderError';
      counter.inc({ reason: 'cloudProviderError' }, newlyFailed);
      counter.inc({ reason }, Math.max(0, missing - newlyFailed));
    }
    failed = seen;
    awaited = inFlightByGroup(report.state);
  };
}

function failedWrites(report: LoopReport): readonly { readonly reason: string; readonly nodes: number }[] {
  return answeredIncreases(report).flatMap(({ increase, outcome }) => {
    if (outcome.kind !== 'failed' || outcome.error.kind === 'cancelled') return [];
    return [{ reason: outcome.error.kind === 'kube-api' ? 'apiCallError' : 'cloudProviderError', nodes: increase.to - increase.from }];
  });
}

/** Failed instances without a node. An instance with a node was provided. */
function failedInstanceKeys({ instances = [] }: NodeGroup, registered: ReadonlySet<InstanceKey>): readonly string[] {
  return instances.flatMap(({ key, state, error }) => (state === 'failed' && error !== undefined && !registered.has(key) ? [key] : []));
}

interface LateFailure {
  readonly kind: 'timeout' | 'operation';
  /** Number of requested instances; absent after a time-out. */
  readonly requested?: number;
}

function lateFailures({ state }: LoopReport, { cloud, nowMs }: Observation): ReadonlyMap<NodeGroupId, LateFailure> {
  const late = new Map<NodeGroupId, LateFailure>();
  for (const [group, { cause, lastFailureMs }] of state.backoffs) {
    if (cause === 'timeout' && lastFailureMs === nowMs) late.set(group, { kind: 'timeout' });
  }
  for (const event of cloud.events) {
    if (event.kind !== 'increase-failed' || event.error.detail.kind === 'conflict' || event.error.detail.kind === 'cancelled') continue;
    late.set(event.group, { kind: 'operation', requested: event.requested });
  }
  return late;
}

/** Requested nodes without an instance. */
function missingNodes(late: LateFailure | undefined, awaited: number, joining: number): number {
  if (late?.requested === undefined) return late === undefined ? 0 : awaited;
  return Math.max(0, Math.min(awaited, late.requested) - joining);
}

/** Instances that exist and have not registered as nodes yet. */
function joining({ instances = [] }: NodeGroup, registered: ReadonlySet<InstanceKey>): number {
  return instances.filter(({ key, state }) => (state === 'running' || state === 'creating') && !registered.has(key)).length;
}

/** Counts instances that were removed because they never registered as nodes. */
export function unregisteredRemovals({ oldUnregisteredRemoved }: Pick<CompatibleMetrics, 'oldUnregisteredRemoved'>): LoopListener {
  return ({ removed }) => {
    for (const outcome of removed) {
      if (outcome.kind === 'instances' && outcome.accepted && outcome.cause === 'never-registered')
        oldUnregisteredRemoved.inc(outcome.instances.length);
    }
  };
}
