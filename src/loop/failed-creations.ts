/**
 * Counts nodes that were asked for and did not come, under the Cluster Autoscaler's name. A failure is told in several
 * voices (the operation, each machine, the time that is up), in any order; each node is counted once.
 */
import type { NodeGroupId } from '../domain/ids.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { Observation } from '../domain/observation.ts';
import type { CompatibleMetrics } from '../telemetry/compatible-metrics.ts';
import type { LoopListener, LoopReport } from './report.ts';

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
    for (const group of observation.cloud.groups) {
      const machines = failedMachines(group);
      for (const key of machines) seen.add(key);
      const news = failed === undefined ? 0 : machines.filter((key) => failed?.has(key) === false).length;
      const gone = lost(late.get(group.id), group, awaited.get(group.id)?.nodes ?? 0);
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

function failedMachines({ instances = [] }: NodeGroup): readonly string[] {
  return instances.flatMap(({ key, state, error }) => (state === 'failed' && error !== undefined ? [key] : []));
}

interface Late {
  readonly kind: 'timeout' | 'operation';
  /** The size that was asked for; absent: the time was up. */
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

/** Of the nodes that were awaited: those that are not among the machines there are. */
function lost(late: Late | undefined, { instances = [] }: NodeGroup, awaited: number): number {
  if (late?.requested === undefined) return late === undefined ? 0 : awaited;
  const present = instances.filter(({ state }) => state === 'running' || state === 'creating').length;
  return Math.min(awaited, Math.max(0, late.requested - present));
}
