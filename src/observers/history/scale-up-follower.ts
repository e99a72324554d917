/**
 * Follows each accepted increase from its decision to the pods on its nodes, and learns how long each stage takes. An instance belongs to
 * the oldest increase of its group that still misses one.
 */
import {
  type DurationSummary,
  type HistorySink,
  type ScaleUpProgress,
  type ScaleUpStage,
  type StageDurations,
  summarizeDurations,
} from '../../domain/history.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { Node } from '../../domain/node.ts';
import type { Instance } from '../../domain/node-group.ts';
import { type CloudEvent, nodesByInstance, type Observation } from '../../domain/observation.ts';
import { causeOf, type DecidedIncrease } from './capacity-changes.ts';
import { FollowedIncrease, type InstanceStages } from './followed-increase.ts';
import { LearnedDurations } from './learned-durations.ts';
import { Recent, type RecentLimits } from './recent.ts';

/** Kubernetes reports whole seconds. */
const ROUNDING_MS = 1_000;
/** Of one increase, whose times are learned. */
const MOST_PODS = 10;

interface EndedScaleUp {
  readonly atMs: number;
  readonly progress: ScaleUpProgress;
}

export class ScaleUpFollower {
  readonly #limits: RecentLimits;
  /** The oldest first. */
  #increases: readonly FollowedIncrease[] = [];
  readonly #learned = new LearnedDurations();
  /** As the loop remembers them. */
  #readyTimes: LoopState['readyTimes'] = new Map();
  /** Of earlier processes, the oldest first. */
  readonly #ended: Recent<EndedScaleUp>;
  readonly #sink: HistorySink;
  /** The lists of the last observation: a pod that was bound since is on a node with another list. */
  #seen: Observation['cluster']['podsByNode'] = new Map();

  constructor(limits: RecentLimits, sink: HistorySink) {
    this.#limits = limits;
    this.#ended = new Recent(limits);
    this.#sink = sink;
  }

  restore(progress: ScaleUpProgress): void {
    this.#ended.push({ atMs: progress.endedMs ?? 0, progress });
  }

  restoreStage(group: NodeGroupId, stage: ScaleUpStage, ms: number): void {
    this.#learned.add(group, stage, ms);
  }

  observe({ observation, startedAtMs, state }: LoopReport, increases: readonly DecidedIncrease[]): void {
    if (observation === undefined) return;
    this.#readyTimes = state.readyTimes;
    this.#dropOld(observation.nowMs);
    this.#ended.dropOld(observation.nowMs);
    this.#followInstances(observation);
    this.#followPods(observation);
    this.#seen = observation.cluster.podsByNode;
    for (const event of observation.cloud.events) this.#followFailure(event);
    this.#settle(observation);
    for (const decided of increases) this.#begin(decided, startedAtMs);
  }

  /** The newest first. */
  progress(): readonly ScaleUpProgress[] {
    const own = this.#increases.map((increase) => increase.progress(this.timeToReady(increase.group)));
    return [...this.#ended.all.map(({ progress }) => progress), ...own].reverse();
  }

  durations(group: NodeGroupId | undefined): readonly StageDurations[] {
    return this.#learned.stages(group);
  }

  timeToReady(group: NodeGroupId): DurationSummary | undefined {
    return summarizeDurations(this.#readyTimes.get(group) ?? []);
  }

  get #open(): readonly FollowedIncrease[] {
    return this.#increases.filter(({ isOpen }) => isOpen);
  }

  #begin(decided: DecidedIncrease, decidedMs: number): void {
    const { increase, outcome, atMs: acceptedMs, decision } = decided;
    if (outcome.kind !== 'accepted') return;
    const { group, from } = increase;
    const pods = increase.pods.filter(({ injected }) => injected !== true);
    // Pods of one burst are alike.
    for (const { unschedulable } of pods.slice(0, MOST_PODS))
      if (unschedulable !== undefined) this.#learn(group, 'decided', decidedMs - unschedulable.sinceMs, decidedMs);
    this.#learn(group, 'accepted', acceptedMs - decidedMs, acceptedMs);
    const sizes = { from, to: Math.max(from, outcome.target) };
    const begun = { id: `${decision}/${group}`, group, ...sizes, cause: causeOf(decided), decision, decidedMs, acceptedMs, pods };
    this.#increases = [...this.#increases, new FollowedIncrease(begun)].slice(-this.#limits.maxCount);
  }

  #followInstances(observation: Observation): void {
    const open = this.#open;
    if (open.length === 0) return;
    const groups = new Set(open.map(({ group }) => group));
    const nodes = nodesByInstance(observation);
    for (const { id, instances = [] } of observation.cloud.groups) {
      if (!groups.has(id)) continue;
      for (const instance of instances) this.#followInstance(id, instance, nodes.get(instance.key));
    }
  }

  #followInstance(group: NodeGroupId, { key, state, firstSeenMs }: Instance, node: Node | undefined): void {
    const ofGroup = this.#open.filter((each) => each.group === group);
    const owner = ofGroup.find((each) => each.stagesOf(key) !== undefined);
    const before = owner?.stagesOf(key);
    // A list that comes late must not make an instance younger than its node.
    const created = before?.created ?? Math.min(firstSeenMs, node?.createdAtMs ?? firstSeenMs);
    const increase = owner ?? ofGroup.find(({ misses, acceptedMs }) => misses > 0 && created >= acceptedMs - ROUNDING_MS);
    if (increase === undefined || (before === undefined && (state === 'failed' || state === 'deleting'))) return;
    const now = stagesOf(created, node);
    increase.reach(key, { ...before, ...now });
    this.#learnFrom(increase, before, now);
  }

  #learnFrom({ group, acceptedMs }: FollowedIncrease, before: InstanceStages | undefined, now: InstanceStages): void {
    const { created, registered, ready } = now;
    if (before === undefined) this.#learn(group, 'created', created - acceptedMs, created);
    if (registered === undefined) return;
    if (before?.registered === undefined) this.#learn(group, 'registered', registered - created, registered);
    if (ready === undefined || before?.ready !== undefined) return;
    this.#learn(group, 'ready', ready - registered, ready);
  }

  /** Reads the pods of nodes whose pods changed, while some are awaited. */
  #followPods({ cloud, cluster, nowMs }: Observation): void {
    const open = this.#open.filter(({ waiting }) => waiting.size > 0);
    if (open.length === 0) return;
    for (const [name, pods] of cluster.podsByNode) {
      if (this.#seen.get(name) === pods) continue;
      for (const { uid } of pods) {
        const increase = open.find(({ waiting }) => waiting.has(uid));
        if (increase === undefined) continue;
        increase.podBound(uid, nowMs);
        const key = cloud.instanceOfNode.get(name);
        const readyMs = key === undefined ? undefined : increase.stagesOf(key)?.ready;
        // If the pod found room on an old node, the last stage has no start.
        if (readyMs !== undefined && increase.bound <= MOST_PODS) this.#learn(increase.group, 'bound', nowMs - readyMs, nowMs);
      }
    }
  }

  #followFailure(event: CloudEvent): void {
    if (event.kind !== 'increase-failed') return;
    const failed = this.#open.find(({ group }) => group === event.group);
    failed?.fail(event.error.code, event.atMs);
    this.#writeEnded(failed === undefined ? [] : [failed]);
  }

  #writeEnded(increases: readonly FollowedIncrease[]): void {
    for (const increase of increases) {
      if (!increase.isOpen) this.#sink({ kind: 'scale-up', progress: increase.progress(this.timeToReady(increase.group)) });
    }
  }

  #learn(group: NodeGroupId, stage: ScaleUpStage, ms: number, atMs: number): void {
    this.#learned.add(group, stage, ms);
    this.#sink({ kind: 'stage', atMs, group, stage, ms });
  }

  #settle({ cluster, nowMs }: Observation): void {
    const open = this.#open;
    if (open.length === 0) return;
    const pending = new Set(cluster.pendingPods.map(({ uid }) => uid));
    for (const increase of open) increase.settle(pending, nowMs);
    this.#writeEnded(open);
  }

  #dropOld(nowMs: number): void {
    const fromMs = nowMs - this.#limits.maxAgeMs;
    if ((this.#increases[0]?.acceptedMs ?? nowMs) < fromMs)
      this.#increases = this.#increases.filter(({ acceptedMs }) => acceptedMs >= fromMs);
  }
}

function stagesOf(created: number, node: Node | undefined): InstanceStages {
  if (node === undefined) return { created };
  const { createdAtMs: registered, readiness } = node;
  return readiness.ready ? { created, registered, ready: readiness.sinceMs } : { created, registered };
}
