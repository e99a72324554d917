/** Metrics of plans under the Cluster Autoscaler's names: pods, limits, shapes, buffers. */
import { isReal } from '../../domain/pod.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { CPU } from '../../domain/resources.ts';
import type { CompatibleMetrics } from '../../telemetry/cluster-autoscaler-metrics.ts';

/** The Cluster Autoscaler remembers this many different pods of one controller. Beyond, it counts an overflow. */
const REMEMBERED_SHAPES = 10;

/**
 * Controllers with more shapes of unplaceable pods than the Cluster Autoscaler would remember. Here they are still grouped;
 * the number shows controllers that create pods of ever new shapes.
 */
export function podShapeOverflow(plan: ScaleUpPlan): number {
  const shapes = new Map<string, Set<string>>();
  for (const [pod, { kind }] of plan.verdicts) {
    const { controller, shape } = pod;
    if (!isReal(pod) || controller === undefined || (kind !== 'helpless' && kind !== 'waiting')) continue;
    const known = shapes.get(controller.uid);
    if (known === undefined) shapes.set(controller.uid, new Set([shape.key]));
    else known.add(shape.key);
  }
  return [...shapes.values()].filter((keys) => keys.size > REMEMBERED_SHAPES).length;
}

export function publishPlans({ rounds }: LoopReport, metrics: CompatibleMetrics): void {
  const plan = rounds.at(-1)?.plan;
  metrics.unschedulablePods.set({ type: 'injected' }, plan?.injection?.injected ?? 0);
  metrics.unschedulablePods.set({ type: 'skipped_injection' }, plan?.injection?.skipped ?? 0);
  metrics.overflowingControllers.set(plan === undefined ? 0 : podShapeOverflow(plan));
  metrics.skippedPods.set({ requestor: 'scaleUp' }, plan === undefined ? 0 : unjudgedPods(plan));
}

/** Pods that a pool might fit and that the plan had no time for. */
function unjudgedPods({ cutShortAfter, verdicts }: ScaleUpPlan): number {
  if (cutShortAfter === undefined) return 0;
  return [...verdicts.values()].filter(
    (verdict) => verdict.kind === 'helpless' && verdict.byGroup.some(({ skip }) => skip?.kind === 'not-judged'),
  ).length;
}

const LIMITS = { cores: 'CpuResourceLimit', memory: 'MemoryResourceLimit' } as const;

/** These are counters, so each plan counts once. */
export function countPlan({ skipped, increases }: ScaleUpPlan, { cloud }: Observation, metrics: CompatibleMetrics): void {
  for (const { reason } of skipped) {
    if (reason.kind !== 'cluster-limit') continue;
    for (const { limit } of [reason, ...(reason.also ?? [])])
      if (limit !== 'nodes') metrics.skippedScaleEvents.inc({ direction: 'up', reason: LIMITS[limit] });
  }
  for (const { group: id, pods } of increases) {
    const group = cloud.groups.find((candidate) => candidate.id === id);
    if (pods.length === 0 || group === undefined) continue;
    const cores = Math.floor((group.template?.capacity[CPU] ?? 0) / 1000);
    const namespaces = new Set(pods.map(({ namespace }) => namespace)).size;
    const labels = { ...sizeLabels(group.vmSize, cores, metrics), namespace_count: namespaceCount(namespaces) };
    metrics.heterogeneity.observe(labels, new Set(pods.map(({ shape }) => shape.key)).size);
  }
}

/** A histogram for each VM size of a region would be thousands of series. Further sizes share one series. */
const OWN_SERIES = 4;

function sizeLabels(size: string, cores: number, { sizes }: CompatibleMetrics) {
  if (sizes.size < OWN_SERIES) sizes.add(size);
  return sizes.has(size) ? { instance_type: size, cpu_count: String(cores) } : { instance_type: 'other', cpu_count: 'other' };
}

function namespaceCount(count: number): string {
  if (count > 10) return '11+';
  return count > 5 ? '6-10' : '0-5';
}

/** Every loop reconciles every buffer. One without a status waits since its creation. */
export function publishBuffers({ observation, startedAtMs, failures }: LoopReport, policy: Policy, metrics: CompatibleMetrics): void {
  metrics.bufferReconciled.reset();
  const oldest = new Map<string, number>();
  const failed = failures.some(({ step }) => step === 'capacity');
  if (!policy.capacity.bufferController || failed) return;
  for (const { ref, status } of observation?.cluster.capacity.buffers ?? []) {
    const isNew = status.conditions.length === 0;
    const atMs = isNew ? ref.createdAtMs : startedAtMs;
    const key = isNew ? 'true' : 'false';
    oldest.set(key, Math.min(oldest.get(key) ?? atMs, atMs));
  }
  for (const [key, atMs] of oldest) metrics.bufferReconciled.set({ new_buffer: key }, atMs / 1000);
}
