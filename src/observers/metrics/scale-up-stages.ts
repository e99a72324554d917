/**
 * How long each stage of a scale-up takes, from the pending pod to the bound pod. Must not know how an increase is planned or written, nor
 * which instances come of it: the loop says so.
 */
import { isReal } from '../../domain/pod.ts';
import type { InstanceKey, NodeGroupId, PodUid } from '../../domain/ids.ts';
import type { InstanceStages } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import { followedIncreases, type FollowedIncrease } from '../../planning/state/increases/increase-records.ts';
import { FOLLOWED_MS } from '../../planning/state/increases/follow-increases.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type AnsweredRecord, answeredIncreases, type LoopListener, type LoopReport } from '../../domain/loop-report.ts';

/** A closed set, used as a metric label. */
export const STAGES = ['planned', 'written', 'created', 'ready', 'bound'] as const;
type Stage = (typeof STAGES)[number];

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
  /** As of the last report. */
  #followed: ReadonlyMap<string, FollowedIncrease> = new Map();
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
    this.#trackInstances(followedIncreases(report.state));
    this.#trackPods(observation);
    this.#seen = observation.cluster.podsByNode;
    for (const record of answeredIncreases(report)) this.#trackIncrease(record);
  }

  #trackIncrease({ increase, outcome, atMs, startedAtMs: plannedMs }: AnsweredRecord): void {
    if (outcome.kind !== 'accepted') return;
    const { group } = increase;
    this.#observe(group, 'written', atMs - plannedMs);
    for (const { uid, unschedulable } of increase.pods.filter(isReal)) {
      if (unschedulable === undefined || this.#pods.has(uid)) continue;
      this.#observe(group, 'planned', plannedMs - unschedulable.sinceMs);
      this.#pods.set(uid, { sinceMs: unschedulable.sinceMs, increasedMs: atMs });
    }
  }

  #trackInstances(followed: readonly FollowedIncrease[]): void {
    for (const increase of followed) {
      const before = this.#followed.get(increase.id)?.instances;
      if (before === increase.instances) continue;
      for (const [key, stages] of increase.instances) this.#trackInstance(increase, before?.get(key), stages);
    }
    this.#followed = new Map(followed.map((increase) => [increase.id, increase]));
  }

  #trackInstance({ group, answeredAtMs }: FollowedIncrease, before: InstanceStages | undefined, now: InstanceStages): void {
    const { createdAtMs, readyAtMs } = now;
    if (before === undefined) this.#observe(group, 'created', createdAtMs - answeredAtMs);
    if (readyAtMs !== undefined && before?.readyAtMs === undefined) this.#observe(group, 'ready', readyAtMs - createdAtMs);
  }

  /** Whether the instance came of an increase. */
  #isNew(key: InstanceKey): boolean {
    return [...this.#followed.values()].some(({ instances }) => instances.has(key));
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
        if (key !== undefined && node !== undefined && this.#isNew(key)) this.#observe(group, 'bound', nowMs - node.readiness.sinceMs);
      }
    }
  }

  #dropOld(nowMs: number): void {
    const endedMs = nowMs - FOLLOWED_MS;
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
