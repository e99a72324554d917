/**
 * How long each stage of a scale-up takes, from the pending pod to the bound pod. An instance belongs to the oldest increase
 * of its group that is still incomplete. Must not know how an increase is planned or written.
 */
import type { InstanceKey, NodeGroupId, PodUid } from '../../domain/ids.ts';
import { nodesByInstance, type Observation } from '../../domain/observation.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { IncreaseRecord, LoopListener, LoopReport } from '../../domain/loop-report.ts';

/** A closed set, used as a metric label. */
export const STAGES = ['planned', 'written', 'created', 'ready', 'bound'] as const;
type Stage = (typeof STAGES)[number];

/** Increases, instances and pods are dropped after this time: failed increases are among them. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** Kubernetes reports whole seconds. */
const ROUNDING_MS = 1_000;

interface TrackedIncrease {
  readonly acceptedMs: number;
  missing: number;
}

interface TrackedInstance {
  readonly createdMs: number;
  readonly increasedMs: number;
  isReady: boolean;
}

interface PendingPod {
  readonly sinceMs: number;
  readonly increasedMs: number;
}

export function scaleUpStages(metrics: Metrics['scaleUp']): LoopListener {
  const times = new StageTimes(metrics);
  return (report) => times.observe(report);
}

class StageTimes {
  readonly #metrics: Metrics['scaleUp'];
  readonly #increases = new Map<NodeGroupId, TrackedIncrease[]>();
  readonly #instances = new Map<InstanceKey, TrackedInstance>();
  readonly #pods = new Map<PodUid, PendingPod>();
  /** The lists of the last observation: a pod that was bound since is on a node with another list. */
  #seen: Observation['cluster']['podsByNode'] = new Map();

  constructor(metrics: Metrics['scaleUp']) {
    this.#metrics = metrics;
  }

  observe(report: LoopReport): void {
    const { observation } = report;
    if (observation === undefined) return;
    this.#dropOld(observation.nowMs);
    this.#trackInstances(observation);
    this.#trackPods(observation);
    this.#seen = observation.cluster.podsByNode;
    for (const record of report.rounds.flatMap(({ increases }) => increases)) this.#trackIncrease(record, report.startedAtMs);
  }

  #trackIncrease({ increase, outcome, atMs }: IncreaseRecord, plannedMs: number): void {
    if (outcome.kind !== 'accepted') return;
    const { group } = increase;
    this.#observe(group, 'written', atMs - plannedMs);
    const increases = this.#increases.get(group) ?? [];
    increases.push({ acceptedMs: atMs, missing: Math.max(0, outcome.target - increase.from) });
    this.#increases.set(group, increases);
    for (const { uid, unschedulable, injected } of increase.pods) {
      if (unschedulable === undefined || injected === true || this.#pods.has(uid)) continue;
      this.#observe(group, 'planned', plannedMs - unschedulable.sinceMs);
      this.#pods.set(uid, { sinceMs: unschedulable.sinceMs, increasedMs: atMs });
    }
  }

  #trackInstances(observation: Observation): void {
    if (this.#increases.size === 0 && this.#instances.size === 0) return;
    const nodes = nodesByInstance(observation);
    for (const { id, instances = [] } of observation.cloud.groups) {
      if (!this.#increases.has(id)) continue;
      for (const { key, state, firstSeenMs } of instances) {
        const node = nodes.get(key);
        if (state !== 'failed' && state !== 'deleting')
          this.#trackInstance(id, key, Math.min(firstSeenMs, node?.createdAtMs ?? firstSeenMs));
        if (node?.readiness.ready === true) this.#ready(id, key, node.readiness.sinceMs);
      }
    }
  }

  #ready(group: NodeGroupId, key: InstanceKey, sinceMs: number): void {
    const instance = this.#instances.get(key);
    if (instance === undefined || instance.isReady) return;
    instance.isReady = true;
    this.#observe(group, 'ready', sinceMs - instance.createdMs);
  }

  #trackInstance(group: NodeGroupId, key: InstanceKey, createdMs: number): void {
    if (this.#instances.has(key)) return;
    const increase = this.#increases.get(group)?.find(({ acceptedMs, missing }) => missing > 0 && createdMs >= acceptedMs - ROUNDING_MS);
    if (increase === undefined) return;
    increase.missing -= 1;
    this.#instances.set(key, { createdMs, increasedMs: increase.acceptedMs, isReady: false });
    this.#observe(group, 'created', createdMs - increase.acceptedMs);
  }

  /** Reads the pods of nodes whose pods changed, while some are awaited. */
  #trackPods({ cloud, cluster, nowMs }: Observation): void {
    if (this.#pods.size === 0) return;
    for (const [name, pods] of cluster.podsByNode) {
      if (this.#seen.get(name) === pods) continue;
      for (const { uid } of pods) {
        const pending = this.#pods.get(uid);
        const group = cloud.groupOfNode.get(name);
        if (pending === undefined) continue;
        this.#pods.delete(uid);
        if (group === undefined) continue;
        this.#metrics.podsToBound.observe({ node_group: group }, seconds(nowMs - pending.sinceMs));
        const key = cloud.instanceOfNode.get(name);
        const node = cluster.nodes.get(name);
        // If the pod fits on an old node, the last stage has no start.
        if (key !== undefined && node !== undefined && this.#instances.has(key))
          this.#observe(group, 'bound', nowMs - node.readiness.sinceMs);
      }
    }
  }

  #dropOld(nowMs: number): void {
    const endedMs = nowMs - FORGOTTEN_AFTER_MS;
    for (const [group, increases] of this.#increases) {
      const live = increases.filter(({ acceptedMs }) => acceptedMs > endedMs);
      if (live.length === 0) this.#increases.delete(group);
      else this.#increases.set(group, live);
    }
    for (const [key, { increasedMs }] of this.#instances) if (increasedMs <= endedMs) this.#instances.delete(key);
    for (const [uid, { increasedMs }] of this.#pods) if (increasedMs <= endedMs) this.#pods.delete(uid);
  }

  #observe(group: NodeGroupId, stage: Stage, ms: number): void {
    this.#metrics.stages.observe({ stage }, seconds(ms));
    this.#metrics.groupStages.observe({ node_group: group, stage }, seconds(ms));
  }
}

/** A short stage may be negative, since its ends come from different clocks. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}
