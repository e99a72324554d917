import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { LoopListener, LoopReport } from '../../domain/loop-report.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { CompatibleMetrics } from '../../telemetry/cluster-autoscaler-metrics.ts';

// Counts nodes that were asked for and did not come, under the Cluster Autoscaler's name. A failure is told in several
// voices (the operation, each machine, the time that is up), in any order; each node is counted once.

type Counter = Pick<CompatibleMetrics, 'failedNodeCreations'>;

export function failedCreations({ failedNodeCreations }: Counter): LoopListener {
  /** Machines that were known to have failed; undefined before the first look, which counts nothing: it is old news. */
  let failed: ReadonlySet<string> | undefined;
  let awaited: LoopState['increases'] = new Map();
  return (report) => {
    const { observation } = report;
    for (const { reason, nodes } of refused(report)) failedNodeCreations.inc({ reason }, nodes);
    if (observation === undefined) return;
    const late = lateFailures(report, observation);
    const seen = new Set<string>();
    const registered = new Set(observation.cloud.instanceOfNode.values());
    for (const group of observation.cloud.groups) {
      const machines = failedMachines(group, registered);
      for (const key of machines) seen.add(key);
      const news = failed === undefined ? 0 : machines.filter((key) => failed?.has(key) === false).length;
      const gone = lost(late.get(group.id), awaited.get(group.id)?.nodes ?? 0, joining(group, registered));
      const reason = late.get(group.id)?.kind === 'timeout' ? 'timeout' : 'cloudProviderError';
      failedNodeCreations.inc({ reason: 'cloudProviderError' }, news);
      failedNodeCreations.inc({ reason }, Math.max(0, gone - news));
    }
    failed = seen;
    awaited = report.state.increases;
  };
}

function refused({ rounds }: LoopReport): readonly { readonly reason: string; readonly nodes: number }[] {
  return rounds
    .flatMap(({ increases }) => increases)
    .flatMap(({ increase, outcome }) => {
      if (outcome.kind !== 'failed' || outcome.error.kind === 'cancelled') return [];
      return [{ reason: outcome.error.kind === 'kube-api' ? 'apiCallError' : 'cloudProviderError', nodes: increase.to - increase.from }];
    });
}

/** A node whose machine reports a failure did come. */
function failedMachines({ instances = [] }: NodeGroup, registered: ReadonlySet<InstanceKey>): readonly string[] {
  return instances.flatMap(({ key, state, error }) => (state === 'failed' && error !== undefined && !registered.has(key) ? [key] : []));
}

interface Late {
  readonly kind: 'timeout' | 'operation';
  /** How many machines were asked for; absent: the time was up. */
  readonly requested?: number;
}

function lateFailures({ state }: LoopReport, { cloud, nowMs }: Observation): ReadonlyMap<NodeGroupId, Late> {
  const late = new Map<NodeGroupId, Late>();
  for (const [group, { cause, lastFailureMs }] of state.backoffs) {
    if (cause === 'timeout' && lastFailureMs === nowMs) late.set(group, { kind: 'timeout' });
  }
  for (const event of cloud.events) {
    if (event.kind !== 'increase-failed' || event.error.detail.kind === 'conflict' || event.error.detail.kind === 'cancelled') continue;
    late.set(event.group, { kind: 'operation', requested: event.requested });
  }
  return late;
}

/** Of the nodes that were awaited and asked for: those whose machine is not there either. */
function lost(late: Late | undefined, awaited: number, joining: number): number {
  if (late?.requested === undefined) return late === undefined ? 0 : awaited;
  return Math.max(0, Math.min(awaited, late.requested) - joining);
}

/** Machines that came and are no nodes yet. */
function joining({ instances = [] }: NodeGroup, registered: ReadonlySet<InstanceKey>): number {
  return instances.filter(({ key, state }) => (state === 'running' || state === 'creating') && !registered.has(key)).length;
}

/** Counts instances that were removed because they never registered as nodes. */
export function neverNodes({ oldUnregisteredRemoved }: Pick<CompatibleMetrics, 'oldUnregisteredRemoved'>): LoopListener {
  return ({ removed }) => {
    for (const outcome of removed) {
      if (outcome.kind === 'instances' && outcome.accepted && outcome.cause === 'never-registered')
        oldUnregisteredRemoved.inc(outcome.instances.length);
    }
  };
}
