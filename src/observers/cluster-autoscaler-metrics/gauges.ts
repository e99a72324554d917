/**
 * Publishes the gauges of a loop under the Cluster Autoscaler's metric names. Series of groups that no longer exist are
 * removed. Must not know the autoscaler's own metrics.
 */
import { arePublished, type DevicePool, type NodeDevices } from '../../domain/devices.ts';
import type { LoopListener, LoopReport, StepName } from '../../domain/loop-report.ts';
import type { Node } from '../../domain/node.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Pod } from '../../domain/pod.ts';
import type { UnremovableReason } from '../../domain/reasons.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { DELETION_CANDIDATE_TAINT, isStartupTaint, isStatusTaint, TO_BE_DELETED_TAINT, type TaintRules } from '../../domain/taints.ts';
import { schedulingStateOf } from '../../planning/scale-up/pods/unschedulable-pods.ts';
import { nominatedNode } from '../../planning/state/assumed-pods.ts';
import { nodeListFacts } from '../../planning/facts/node-list-facts.ts';
import { isTaintedForDeletion } from '../../planning/state/deletions.ts';
import { isGroupHealthy, clusterProblem } from '../../planning/state/cluster-health.ts';
import { countNodes, type CountedNodes } from '../../planning/state/node-counts.ts';
import type { CompatibleMetrics } from '../../telemetry/cluster-autoscaler-metrics.ts';
import { countPlan, publishBuffers, publishPlans } from './plans.ts';

type Mismatch = 'missing' | 'extra' | 'mismatch' | 'unknown';

/** Compares the devices of ready nodes with those of their group's template, by driver and kind of difference. */
function publishDevices({ cluster, cloud }: Observation, { deviceMismatches }: CompatibleMetrics): void {
  const expected = new Map<string, ReadonlyMap<string, number>>();
  for (const { id, template } of cloud.groups) {
    if (template === undefined) continue;
    expected.set(id, byDriver(template.devicePools));
  }
  deviceMismatches.reset();
  const noneExpected = [...expected.values()].every(({ size }) => size === 0);
  for (const node of noneExpected ? nodeListFacts(cluster.nodes).withDevices : cluster.nodes.values()) {
    const wanted = expected.get(cloud.groupOfNode.get(node.name) ?? '');
    if (wanted === undefined || !node.readiness.ready || (wanted.size === 0 && !arePublished(node.devices))) continue;
    for (const [driver, kind] of mismatches(wanted, node.devices)) deviceMismatches.inc({ driver, mismatch_type: kind });
  }
}

function mismatches(wanted: ReadonlyMap<string, number>, devices: NodeDevices): readonly (readonly [string, Mismatch])[] {
  const present = byDriver(devices.pools);
  const unfinished = new Set(devices.incomplete.map((pool) => pool.split('/')[0] ?? ''));
  return [...new Set([...wanted.keys(), ...present.keys(), ...unfinished])].flatMap((driver): readonly (readonly [string, Mismatch])[] => {
    if (unfinished.has(driver)) return [[driver, 'unknown']];
    const [there, here] = [present.get(driver), wanted.get(driver)];
    if (there === here) return [];
    return [[driver, there === undefined ? 'missing' : here === undefined ? 'extra' : 'mismatch']];
  });
}

/** Number of devices per driver in these pools. */
function byDriver(pools: readonly DevicePool[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { driver, devices } of pools) counts.set(driver, (counts.get(driver) ?? 0) + devices.length);
  return counts;
}

/** The Cluster Autoscaler's functions that each of our steps covers. One step here may be two there, with the same time. */
const FUNCTIONS: Readonly<Partial<Record<StepName, readonly string[]>>> = {
  observe: ['cloudProviderRefresh', 'updateClusterState'],
  'scale-up': ['scaleUp'],
  'scale-down': ['findUnneeded', 'scaleDown'],
  'soft-taint': ['scaleDown:softTaintUnneeded'],
};
/** Taints that are published by name, as upstream does: our two and those of Kubernetes. */
const TAINTS: ReadonlySet<string> = new Set([
  TO_BE_DELETED_TAINT,
  DELETION_CANDIDATE_TAINT,
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/network-unavailable',
  'node.kubernetes.io/pid-pressure',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cloudprovider.kubernetes.io/shutdown',
]);
/** The former name of startup taints, which upstream counts separately. */
const IGNORED_PREFIX = 'ignore-taint.cluster-autoscaler.kubernetes.io/';
const KINDS = ['startup-taint', 'status-taint', IGNORED_PREFIX, 'other'] as const;

/** Publishes the gauges of each loop. `policy` returns the rules that hold now. */
export function clusterAutoscalerGauges(metrics: CompatibleMetrics, policy: () => Policy): LoopListener {
  return (report) => publishClusterAutoscalerGauges(report, policy(), metrics);
}

/** Counts at once. The gauges are set when they are read. */
export function publishClusterAutoscalerGauges(report: LoopReport, policy: Policy, metrics: CompatibleMetrics): void {
  publishTimes(report, metrics);
  const { observation } = report;
  if (observation === undefined) return;
  updateGpus(observation.cloud.groups, metrics);
  updateDrivers(observation.cloud.groups, metrics);
  for (const { plan } of report.rounds) countPlan(plan, observation, metrics);
  metrics.deferred.defer('cluster-autoscaler', () => publishGauges(report, observation, policy, metrics));
}

function publishGauges(report: LoopReport, observation: Observation, policy: Policy, metrics: CompatibleMetrics): void {
  const { state } = report;
  publishDevices(observation, metrics);
  const counts = countNodes({ observation, state, policy });
  publishNodes(counts, observation, policy.cluster.taints, metrics);
  metrics.safeToAutoscale.set(clusterProblem(observation, state, policy) === undefined ? 1 : 0);
  publishCapacity(report, observation, metrics);
  publishLimits(policy, observation.cloud.groups, metrics);
  publishPods(report, observation, policy, metrics);
  publishPlans(report, metrics);
  publishBuffers(report, policy, metrics);
  publishScaleDown(report, policy, metrics);
  for (const gauge of [metrics.groupMin, metrics.groupMax, metrics.groupTarget, metrics.groupHealthiness, metrics.groupBackoff])
    gauge.reset();
  for (const group of observation.cloud.groups) publishGroup(group, { counts, report, policy, nowMs: observation.nowMs }, metrics);
}

const GPU_RESOURCES = ['nvidia.com/gpu', 'amd.com/gpu'] as const;
const GPU_LABELS = ['kubernetes.azure.com/accelerator', 'accelerator'] as const;
/** The names that the Cluster Autoscaler lists for Azure; what AKS itself writes (`nvidia`) is not among them. */
const LISTED_GPUS: ReadonlySet<string> = new Set(['nvidia-tesla-k80', 'nvidia-tesla-p100', 'nvidia-tesla-v100']);

/** As upstream `gpu.go`, for the next node of each pool. Deleted pools keep their entry, as their counters do. */
function updateGpus(groups: readonly NodeGroup[], { gpus }: CompatibleMetrics): void {
  for (const { id, template } of groups) {
    if (template === undefined) continue;
    const named = GPU_LABELS.map((label) => template.labels[label]).find((value) => value !== undefined);
    const { capacity } = template.origins;
    const resource = GPU_RESOURCES.find((name) => capacity[name] !== undefined);
    if (named === undefined && resource === undefined) continue;
    const listed = named === undefined ? 'generic' : LISTED_GPUS.has(named) ? named : 'not-listed';
    const hasNone = resource === undefined && Object.keys(capacity).length > 0;
    gpus.set(id, { gpu_resource_name: resource ?? GPU_RESOURCES[0], gpu_name: hasNone ? 'unexpected-label' : listed });
  }
}

/** As `updateGpus`, for devices. */
function updateDrivers(groups: readonly NodeGroup[], { drivers }: CompatibleMetrics): void {
  for (const { id, template } of groups) {
    const named = byDriver(template?.devicePools ?? []);
    if (named.size > 0) drivers.set(id, [...named.keys()].toSorted().join(','));
  }
}

function publishTimes({ startedAtMs, durationMs, stepMs, outcome }: LoopReport, metrics: CompatibleMetrics): void {
  const publishTime = (name: string, ms: number): void => {
    metrics.lastActivity.set({ activity: name }, startedAtMs / 1000);
    metrics.duration.observe({ function: name }, ms / 1000);
    metrics.durationQuantiles.observe({ function: name }, ms / 1000);
  };
  publishTime('main', durationMs);
  for (const step of Object.keys(FUNCTIONS) as StepName[]) {
    const ms = stepMs[step];
    if (ms !== undefined) for (const name of FUNCTIONS[step] ?? []) publishTime(name, ms);
  }
  // Set from the time when the cluster's state was known, as upstream does.
  if (stepMs['scale-up'] !== undefined) metrics.lastActivity.set({ activity: 'autoscaling' }, startedAtMs / 1000);
  if (outcome === 'completed') metrics.lastActivity.set({ activity: 'mainSuccessful' }, startedAtMs / 1000);
}

function publishNodes(
  { total }: CountedNodes,
  { cluster, cloud }: Observation,
  rules: TaintRules | undefined,
  metrics: CompatibleMetrics,
): void {
  const { ready, unready, notStarted, suspended, unregistered, longUnregistered } = total;
  for (const [state, count] of Object.entries({ ready, unready, notStarted, suspended, unregistered, longUnregistered })) {
    metrics.nodes.set({ state }, count);
  }
  metrics.nodeGroups.set({ node_group_type: 'autoscaled' }, cloud.groups.length);
  metrics.nodeGroups.set({ node_group_type: 'autoprovisioned' }, 0);
  const taints = new Map<string, number>([...TAINTS, ...KINDS].map((type) => [type, 0]));
  for (const node of nodeListFacts(cluster.nodes).tainted) {
    for (const { key } of node.taints) {
      const type = taintType(key, rules);
      taints.set(type, (taints.get(type) ?? 0) + 1);
    }
  }
  for (const [type, count] of taints) metrics.nodeTaints.set({ type }, count);
}

function taintType(key: string, rules: TaintRules | undefined): string {
  if (TAINTS.has(key)) return key;
  if (key.startsWith(IGNORED_PREFIX)) return IGNORED_PREFIX;
  if (isStartupTaint(key, rules)) return 'startup-taint';
  return isStatusTaint(key, rules) ? 'status-taint' : 'other';
}

function publishCapacity({ state }: LoopReport, { cluster, nowMs }: Observation, metrics: CompatibleMetrics): void {
  let cpuMillis = 0;
  let memoryBytes = 0;
  const leaving = new Set<Node>([...state.deleting.keys()].flatMap((name) => cluster.nodes.get(name) ?? []));
  for (const node of nodeListFacts(cluster.nodes).departing)
    if (node.deletionAtMs !== undefined || isTaintedForDeletion(node, nowMs)) leaving.add(node);
  for (const node of cluster.nodes.values()) {
    if (leaving.has(node)) continue;
    cpuMillis += node.capacity[CPU] ?? 0;
    memoryBytes += node.capacity[MEMORY] ?? 0;
  }
  metrics.cpuCores.set(cpuMillis / 1000);
  metrics.memoryBytes.set(memoryBytes);
}

function publishLimits({ scaleUp, scaleDown }: Policy, groups: readonly NodeGroup[], metrics: CompatibleMetrics): void {
  // Sums the groups alone, as upstream does: dashboards divide by it.
  const most = groups.reduce((sum, { maxSize }) => sum + maxSize, 0);
  metrics.maxNodes.set(scaleUp.maxNodesTotal > 0 ? Math.min(scaleUp.maxNodesTotal, most) : most);
  metrics.cpuLimits.set({ direction: 'minimum' }, scaleDown.minCoresTotal);
  metrics.cpuLimits.set({ direction: 'maximum' }, scaleUp.maxCoresTotal);
  metrics.memoryLimits.set({ direction: 'minimum' }, scaleDown.minMemoryTotalBytes);
  metrics.memoryLimits.set({ direction: 'maximum' }, scaleUp.maxMemoryTotalBytes);
}

/** Counts pending pods by standing. Ignored pods (gated, young, of other schedulers) do not count. */
function publishPods({ state }: LoopReport, observation: Observation, { scaleUp }: Policy, metrics: CompatibleMetrics): void {
  const isNominated = (pod: Pod): boolean => nominatedNode(pod, { observation, state }) !== undefined;
  const standings = observation.cluster.pendingPods.map((pod) => schedulingStateOf(pod, scaleUp, isNominated(pod)));
  metrics.unschedulablePods.set({ type: 'unschedulable' }, standings.filter((standing) => standing === 'refused').length);
  metrics.unschedulablePods.set({ type: 'scheduler_unprocessed' }, standings.filter((standing) => standing === 'unseen').length);
}

function publishScaleDown({ scaleDown, state, startedAtMs }: LoopReport, policy: Policy, metrics: CompatibleMetrics): void {
  const { delayAfterAddMs, delayAfterDeleteMs, delayAfterFailureMs, delaysPerGroup } = policy.scaleDown;
  const cooldownEnds = [
    state.lastScaleUpMs + delayAfterAddMs,
    state.lastScaleDownMs + delayAfterDeleteMs,
    state.lastScaleDownFailureMs + delayAfterFailureMs,
  ];
  // With cooldowns per group, the cluster as a whole has no cooldown, as upstream.
  metrics.scaleDownInCooldown.set(!delaysPerGroup && cooldownEnds.some((endMs) => startedAtMs < endMs) ? 1 : 0);
  if (scaleDown === undefined) return;
  metrics.unneededNodes.set(scaleDown.unneeded.size);
  metrics.unremovableNodes.reset();
  const kept = new Map<UnremovableReason, number>();
  for (const { reason } of scaleDown.kept) kept.set(reason, (kept.get(reason) ?? 0) + 1);
  for (const [reason, count] of kept) metrics.unremovableNodes.set({ reason }, count);
}

interface GroupInput {
  readonly counts: CountedNodes;
  readonly report: LoopReport;
  readonly policy: Policy;
  readonly nowMs: number;
}

function publishGroup(group: NodeGroup, { counts, report, policy, nowMs }: GroupInput, metrics: CompatibleMetrics): void {
  const labels = { node_group: group.id };
  metrics.groupMin.set(labels, group.minSize);
  metrics.groupMax.set(labels, group.maxSize);
  if (group.target.known) metrics.groupTarget.set(labels, group.target.value);
  const own = counts.byGroup.get(group.id);
  metrics.groupHealthiness.set(labels, own === undefined || isGroupHealthy(own, policy) ? 1 : 0);
  const backoff = report.state.backoffs.get(group.id);
  metrics.groupBackoff.set({ ...labels, reason: backoff?.cause ?? '' }, (backoff?.untilMs ?? 0) > nowMs ? 1 : 0);
}
