/** Publishes what a loop saw as gauges. Gauges of groups and states that have gone are taken away with them. */
import type { Observation } from '../domain/observation.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { ScaleUpPlan } from '../domain/plan.ts';
import type { PodVerdict } from '../domain/reasons.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const VERDICTS: readonly PodVerdict['kind'][] = ['triggered', 'fits-present-node', 'fits-upcoming-node', 'helpless', 'waiting', 'ignored'];

export function publishObservation(observation: Observation, state: LoopState, metrics: Metrics): void {
  const ready = readyByGroup(observation);
  metrics.cluster.groupSize.reset();
  metrics.cluster.groupFrozen.reset();
  for (const group of observation.cloud.groups) publishGroup(group, ready.get(group.id) ?? 0, metrics);
  const all = [...observation.cluster.nodes.values()];
  const readyNodes = all.filter((node) => node.readiness.ready).length;
  metrics.cluster.nodes.set({ state: 'ready' }, readyNodes);
  metrics.cluster.nodes.set({ state: 'unready' }, all.length - readyNodes);
  metrics.cluster.nodes.set({ state: 'deleting' }, state.deleting.size);
  metrics.scaleUp.stockouts.set(state.stockouts.filter((stockout) => stockout.untilMs > observation.nowMs).length);
}

export function publishVerdicts(plan: ScaleUpPlan, metrics: Metrics): void {
  const counts = new Map<string, number>(VERDICTS.map((kind) => [kind, 0]));
  for (const verdict of plan.verdicts.values()) counts.set(verdict.kind, (counts.get(verdict.kind) ?? 0) + 1);
  for (const [verdict, count] of counts) metrics.cluster.pods.set({ verdict }, count);
}

function publishGroup(group: NodeGroup, ready: number, metrics: Metrics): void {
  const size = (kind: string, value: number): void => metrics.cluster.groupSize.set({ node_group: group.id, kind }, value);
  size('min', group.minSize);
  size('max', group.maxSize);
  size('ready', ready);
  if (group.target.known) {
    size('target', group.target.value);
    size('upcoming', Math.max(0, group.target.value - ready));
  }
  metrics.cluster.groupFrozen.set({ node_group: group.id }, group.frozen === undefined ? 0 : 1);
}

function readyByGroup(observation: Observation): ReadonlyMap<string, number> {
  const ready = new Map<string, number>();
  for (const [name, group] of observation.cloud.groupOfNode) {
    if (observation.cluster.nodes.get(name)?.readiness.ready === true) ready.set(group, (ready.get(group) ?? 0) + 1);
  }
  return ready;
}
