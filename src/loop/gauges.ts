/** Publishes what a loop saw as gauges. Gauges of groups and states that have gone are taken away with them. */
import type { Observation } from '../domain/observation.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { ScaleUpPlan } from '../domain/plan.ts';
import type { PodVerdict } from '../domain/reasons.ts';
import { classOf, VERDICT_CLASSES } from '../planning/scale-up/verdict-class.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export function publishObservation(observation: Observation, state: LoopState, metrics: Metrics): void {
  const present = presentByGroup(observation);
  metrics.cluster.groupSize.reset();
  metrics.cluster.groupFrozen.reset();
  for (const group of observation.cloud.groups) publishGroup(group, present.get(group.id) ?? NOBODY, metrics);
  const all = [...observation.cluster.nodes.values()];
  const readyNodes = all.filter((node) => node.readiness.ready).length;
  metrics.cluster.nodes.set({ state: 'ready' }, readyNodes);
  metrics.cluster.nodes.set({ state: 'unready' }, all.length - readyNodes);
  metrics.cluster.nodes.set({ state: 'deleting' }, state.deleting.size);
  metrics.scaleUp.stockouts.set(state.stockouts.filter((stockout) => stockout.untilMs > observation.nowMs).length);
}

export function publishVerdicts(plan: ScaleUpPlan, nowMs: number, metrics: Metrics): void {
  const pods = new Map<PodVerdict, number>();
  const oldest = new Map<PodVerdict, number>();
  for (const [pod, verdict] of plan.verdicts) {
    if (pod.injected === true) continue;
    pods.set(verdict, (pods.get(verdict) ?? 0) + 1);
    if (pod.unschedulable !== undefined) oldest.set(verdict, Math.min(oldest.get(verdict) ?? nowMs, pod.unschedulable.sinceMs));
  }
  const counts = new Map<string, number>(VERDICT_CLASSES.map((name) => [name, 0]));
  // Equal pods share their verdict.
  for (const [verdict, count] of pods) counts.set(classOf(verdict), (counts.get(classOf(verdict)) ?? 0) + count);
  for (const [verdict, count] of counts) metrics.cluster.pods.set({ verdict }, count);
  const ages = new Map<string, number>(VERDICT_CLASSES.map((name) => [name, 0]));
  for (const [verdict, sinceMs] of oldest) ages.set(classOf(verdict), Math.max(ages.get(classOf(verdict)) ?? 0, nowMs - sinceMs));
  for (const [verdict, ageMs] of ages) metrics.cluster.oldestPod.set({ verdict }, ageMs / 1000);
}

function publishGroup(group: NodeGroup, { ready, joined }: Present, metrics: Metrics): void {
  const size = (kind: string, value: number): void => metrics.cluster.groupSize.set({ node_group: group.id, kind }, value);
  size('min', group.minSize);
  size('max', group.maxSize);
  size('ready', ready);
  if (group.target.known) {
    size('target', group.target.value);
    size('upcoming', Math.max(0, group.target.value - joined));
  }
  metrics.cluster.groupFrozen.set({ node_group: group.id }, group.frozen === undefined ? 0 : 1);
}

/** Nodes of one group: those that are ready, and those that have joined and that the target counts. */
interface Present {
  readonly ready: number;
  readonly joined: number;
}

const NOBODY: Present = { ready: 0, joined: 0 };

function presentByGroup({ cloud, cluster }: Observation): ReadonlyMap<string, Present> {
  const leaving = new Set(
    cloud.groups.flatMap(({ instances = [] }) => instances.filter(({ state }) => state === 'deleting').map(({ key }) => key)),
  );
  const present = new Map<string, Present>();
  for (const [name, group] of cloud.groupOfNode) {
    const known = present.get(group) ?? NOBODY;
    const instance = cloud.instanceOfNode.get(name);
    // Azure's target no longer counts a machine that is on its way out, though its node may be ready still.
    const counts = instance === undefined || !leaving.has(instance);
    const ready = cluster.nodes.get(name)?.readiness.ready === true;
    present.set(group, { ready: known.ready + (ready ? 1 : 0), joined: known.joined + (counts ? 1 : 0) });
  }
  return present;
}
