/** Publishes a loop under the Cluster Autoscaler's metric names. Gauges of what has gone are taken away with it. */
import type { NodeGroup } from '../domain/node-group.ts';
import type { Observation } from '../domain/observation.ts';
import type { Policy } from '../domain/policy.ts';
import { CPU, MEMORY } from '../domain/resources.ts';
import { DELETION_CANDIDATE_TAINT, TO_BE_DELETED_TAINT } from '../domain/taint.ts';
import type { CompatibleMetrics } from '../telemetry/compatible-metrics.ts';
import { isHealthy, unfitness } from '../planning/cluster-health.ts';
import { overflowingControllers } from './many-shapes.ts';
import { countNodes, type CountedNodes } from '../planning/node-counts.ts';
import type { LoopReport, StepName } from './report.ts';

/** Which of the Cluster Autoscaler's functions a step of ours is. Planning and beginning removals are one step here. */
const FUNCTIONS: Readonly<Partial<Record<StepName, string>>> = {
  observe: 'updateClusterState',
  'scale-up': 'scaleUp',
  'scale-down': 'scaleDown',
  'soft-taint': 'scaleDown:softTaintUnneeded',
};
const TAINTS: ReadonlySet<string> = new Set([TO_BE_DELETED_TAINT, DELETION_CANDIDATE_TAINT]);

export function publishCompatible(report: LoopReport, policy: Policy, metrics: CompatibleMetrics): void {
  publishTimes(report, metrics);
  const { observation, state } = report;
  if (observation === undefined) return;
  knowGpus(observation.cloud.groups, metrics);
  const counts = countNodes({ observation, state, policy });
  publishNodes(counts, observation, metrics);
  metrics.safeToAutoscale.set(unfitness(observation, state, policy) === undefined ? 1 : 0);
  publishCapacity(report, observation, metrics);
  publishLimits(policy, metrics);
  publishPods(observation, metrics);
  const plan = report.rounds.at(-1)?.plan;
  metrics.unschedulablePods.set({ type: 'injected' }, plan?.injection?.injected ?? 0);
  metrics.unschedulablePods.set({ type: 'skipped_injection' }, plan?.injection?.skipped ?? 0);
  metrics.overflowingControllers.set(plan === undefined ? 0 : overflowingControllers(plan));
  publishScaleDown(report, policy, metrics);
  for (const gauge of [metrics.groupMin, metrics.groupMax, metrics.groupTarget, metrics.groupHealthiness, metrics.groupBackoff])
    gauge.reset();
  for (const group of observation.cloud.groups) publishGroup(group, { counts, report, policy, nowMs: observation.nowMs }, metrics);
}

const GPU_RESOURCES = ['nvidia.com/gpu', 'amd.com/gpu'] as const;
const GPU_LABELS = ['kubernetes.azure.com/accelerator', 'accelerator'] as const;
/** The names that the Cluster Autoscaler lists for Azure; what AKS itself writes (`nvidia`) is not among them. */
const LISTED_GPUS: ReadonlySet<string> = new Set(['nvidia-tesla-k80', 'nvidia-tesla-p100', 'nvidia-tesla-v100']);

/** As upstream `gpu.go`, of what the next node of the pool will be: pools that are gone keep theirs, as their counters do. */
function knowGpus(groups: readonly NodeGroup[], { gpus }: CompatibleMetrics): void {
  for (const { id, template } of groups) {
    if (template === undefined) continue;
    const named = GPU_LABELS.map((label) => template.labels[label]).find((value) => value !== undefined);
    const resource = GPU_RESOURCES.find((name) => template.origins?.capacity[name] !== undefined);
    if (named === undefined && resource === undefined) continue;
    const listed = named === undefined ? 'generic' : LISTED_GPUS.has(named) ? named : 'not-listed';
    const hasNone = resource === undefined && template.origins !== undefined;
    gpus.set(id, { gpu_resource_name: resource ?? GPU_RESOURCES[0], gpu_name: hasNone ? 'unexpected-label' : listed });
  }
}

function publishTimes({ startedAtMs, durationMs, stepMs, outcome }: LoopReport, metrics: CompatibleMetrics): void {
  const seen = (name: string, ms: number): void => {
    metrics.lastActivity.set({ activity: name }, startedAtMs / 1000);
    metrics.duration.observe({ function: name }, ms / 1000);
  };
  seen('main', durationMs);
  for (const step of Object.keys(FUNCTIONS) as StepName[]) {
    const ms = stepMs[step];
    const name = FUNCTIONS[step];
    if (ms !== undefined && name !== undefined) seen(name, ms);
  }
  if (outcome === 'completed') metrics.lastActivity.set({ activity: 'mainSuccessful' }, startedAtMs / 1000);
}

function publishNodes({ total }: CountedNodes, { cluster, cloud }: Observation, metrics: CompatibleMetrics): void {
  const { ready, unready, notStarted, suspended, unregistered, longUnregistered } = total;
  for (const [state, count] of Object.entries({ ready, unready, notStarted, suspended, unregistered, longUnregistered })) {
    metrics.nodes.set({ state }, count);
  }
  metrics.nodeGroups.set({ node_group_type: 'autoscaled' }, cloud.groups.length);
  const taints = new Map<string, number>([...TAINTS, 'other'].map((type) => [type, 0]));
  for (const node of cluster.nodes.values()) {
    for (const { key } of node.taints) {
      const type = TAINTS.has(key) ? key : 'other';
      taints.set(type, (taints.get(type) ?? 0) + 1);
    }
  }
  for (const [type, count] of taints) metrics.nodeTaints.set({ type }, count);
}

function publishCapacity({ state }: LoopReport, { cluster }: Observation, metrics: CompatibleMetrics): void {
  let cpuMillis = 0;
  let memoryBytes = 0;
  for (const node of cluster.nodes.values()) {
    if (node.deletionAtMs !== undefined || state.deleting.has(node.name)) continue;
    cpuMillis += node.capacity[CPU] ?? 0;
    memoryBytes += node.capacity[MEMORY] ?? 0;
  }
  metrics.cpuCores.set(cpuMillis / 1000);
  metrics.memoryBytes.set(memoryBytes);
}

function publishLimits({ scaleUp, scaleDown }: Policy, metrics: CompatibleMetrics): void {
  metrics.maxNodes.set(scaleUp.maxNodesTotal === Number.MAX_SAFE_INTEGER ? 0 : scaleUp.maxNodesTotal);
  metrics.cpuLimits.set({ direction: 'minimum' }, scaleDown.minCoresTotal ?? 0);
  metrics.cpuLimits.set({ direction: 'maximum' }, scaleUp.maxCoresTotal);
  metrics.memoryLimits.set({ direction: 'minimum' }, scaleDown.minMemoryTotalBytes ?? 0);
  metrics.memoryLimits.set({ direction: 'maximum' }, scaleUp.maxMemoryTotalBytes);
}

function publishPods({ cluster }: Observation, metrics: CompatibleMetrics): void {
  const refused = cluster.pendingPods.filter((pod) => pod.unschedulable !== undefined).length;
  metrics.unschedulablePods.set({ type: 'unschedulable' }, refused);
  metrics.unschedulablePods.set({ type: 'scheduler_unprocessed' }, cluster.pendingPods.length - refused);
}

function publishScaleDown({ scaleDown, state, startedAtMs }: LoopReport, policy: Policy, metrics: CompatibleMetrics): void {
  const { delayAfterAddMs, delayAfterDeleteMs, delayAfterFailureMs } = policy.scaleDown;
  const rests = [
    state.lastScaleUpMs + delayAfterAddMs,
    state.lastScaleDownMs + delayAfterDeleteMs,
    state.lastScaleDownFailureMs + delayAfterFailureMs,
  ];
  metrics.scaleDownInCooldown.set(rests.some((endMs) => startedAtMs < endMs) ? 1 : 0);
  if (scaleDown === undefined) return;
  metrics.unneededNodes.set(scaleDown.unneeded.size);
  metrics.unremovableNodes.reset();
  for (const { reason } of scaleDown.kept) metrics.unremovableNodes.inc({ reason });
}

interface GroupScope {
  readonly counts: CountedNodes;
  readonly report: LoopReport;
  readonly policy: Policy;
  readonly nowMs: number;
}

function publishGroup(group: NodeGroup, { counts, report, policy, nowMs }: GroupScope, metrics: CompatibleMetrics): void {
  const labels = { node_group: group.id };
  metrics.groupMin.set(labels, group.minSize);
  metrics.groupMax.set(labels, group.maxSize);
  if (group.target.known) metrics.groupTarget.set(labels, group.target.value);
  const own = counts.byGroup.get(group.id);
  metrics.groupHealthiness.set(labels, own === undefined || isHealthy(own, policy) ? 1 : 0);
  const backoff = report.state.backoffs.get(group.id);
  metrics.groupBackoff.set({ ...labels, reason: backoff?.cause ?? '' }, (backoff?.untilMs ?? 0) > nowMs ? 1 : 0);
}
