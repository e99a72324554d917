/** Follows each accepted increase from its decision to the pods on its nodes, and learns how long each stage takes. */
import { isReal } from '../../domain/pod.ts';
import {
  type DurationSummary,
  type HistorySink,
  type ScaleUpProgress,
  type ScaleUpStage,
  type StageDurations,
  summarizeDurations,
} from '../../domain/history.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { InstanceStages, LoopState } from '../../domain/loop-state.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { CloudEvent, Observation } from '../../domain/observation.ts';
import { describePurpose } from '../../planning/explain/pod-owners.ts';
import { followedIncreases } from '../../planning/state/increases/increase-records.ts';
import { increaseId } from '../../planning/state/increases/follow-increases.ts';
import type { DecidedIncrease } from './capacity-changes.ts';
import { TrackedScaleUp } from './tracked-scale-up.ts';
import { LearnedDurations } from './learned-durations.ts';
import { Recent, type RecentLimits } from './recent.ts';

/** Of one increase, whose times are learned. */
const MOST_PODS = 10;

interface EndedScaleUp {
  readonly atMs: number;
  readonly progress: ScaleUpProgress;
}

export class ScaleUpFollower {
  readonly #limits: RecentLimits;
  /** The oldest first. */
  #increases: readonly TrackedScaleUp[] = [];
  readonly #learned = new LearnedDurations();
  /** As the loop remembers them. */
  #times: Pick<LoopState, 'readyTimes' | 'startTimes'> = { readyTimes: new Map(), startTimes: new Map() };
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

  observe({ observation, state }: LoopReport, increases: readonly DecidedIncrease[]): void {
    if (observation === undefined) return;
    this.#times = state;
    this.#dropOld(observation.nowMs);
    this.#ended.dropOld(observation.nowMs);
    this.#followInstances(state);
    this.#followPods(observation);
    this.#seen = observation.cluster.podsByNode;
    const failedIds = new Set(followedIncreases(state).flatMap(({ id, failed }) => (failed ? [id] : [])));
    for (const event of observation.cloud.events) this.#followFailure(event, failedIds);
    this.#settle(observation);
    for (const decided of increases) this.#begin(decided);
  }

  /** The newest first. */
  progress(): readonly ScaleUpProgress[] {
    const own = this.#increases.map((increase) => this.#progressOf(increase));
    return [...this.#ended.all.map(({ progress }) => progress), ...own].reverse();
  }

  durations(group: NodeGroupId | undefined): readonly StageDurations[] {
    return this.#learned.stages(group);
  }

  timeToReady(group: NodeGroupId): DurationSummary | undefined {
    return summarizeDurations(this.#times.readyTimes.get(group) ?? []);
  }

  /** Starts are compared with starts. */
  #progressOf(increase: TrackedScaleUp): ScaleUpProgress {
    const { readyTimes, startTimes } = this.#times;
    return increase.progress(summarizeDurations((increase.isStart ? startTimes : readyTimes).get(increase.group) ?? []));
  }

  get #open(): readonly TrackedScaleUp[] {
    return this.#increases.filter(({ isOpen }) => isOpen);
  }

  #begin(decided: DecidedIncrease): void {
    const { increase, outcome, atMs: acceptedMs, sentAtMs: atMs, startedAtMs: decidedMs, loopId, decision } = decided;
    if (outcome.kind !== 'accepted') return;
    const { group, from } = increase;
    const pods = increase.pods.filter(isReal);
    // Pods of one burst are alike.
    for (const { unschedulable } of pods.slice(0, MOST_PODS))
      if (unschedulable !== undefined) this.#learn(group, 'decided', decidedMs - unschedulable.sinceMs, decidedMs);
    this.#learn(group, 'accepted', acceptedMs - decidedMs, acceptedMs);
    const sizes = { from, to: Math.max(from, outcome.target) };
    const isStart = sizes.to > from && (outcome.started ?? 0) >= sizes.to - from;
    const begun = {
      id: `${decision}/${group}`,
      group,
      ...sizes,
      isStart,
      cause: describePurpose(decided.increase),
      decision,
      decidedMs,
      acceptedMs,
    };
    this.#increases = [
      ...this.#increases,
      new TrackedScaleUp({ ...begun, followedId: increaseId({ increase, atMs }, loopId), pods }),
    ].slice(-this.#limits.maxCount);
  }

  /** The loop says which instances are whose. What is new since the last loop is learned. */
  #followInstances(state: LoopState): void {
    const now = new Map(followedIncreases(state).map((increase) => [increase.id, increase]));
    for (const open of this.#open) {
      const seen = now.get(open.followedId);
      if (seen === undefined) continue;
      for (const [key, stages] of seen.instances) this.#learnFrom(open, open.instances.get(key), stages);
      open.reached(seen.instances);
    }
  }

  #learnFrom({ group, acceptedMs }: TrackedScaleUp, before: InstanceStages | undefined, now: InstanceStages): void {
    const { createdAtMs, registeredAtMs, readyAtMs } = now;
    if (before === undefined) this.#learn(group, 'created', createdAtMs - acceptedMs, createdAtMs);
    if (registeredAtMs === undefined) return;
    if (before?.registeredAtMs === undefined) this.#learn(group, 'registered', registeredAtMs - createdAtMs, registeredAtMs);
    if (readyAtMs === undefined || before?.readyAtMs !== undefined) return;
    this.#learn(group, 'ready', readyAtMs - registeredAtMs, readyAtMs);
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
        const readyMs = key === undefined ? undefined : increase.instances.get(key)?.readyAtMs;
        // If the pod found room on an old node, the last stage has no start.
        if (readyMs !== undefined && increase.bound <= MOST_PODS) this.#learn(increase.group, 'bound', nowMs - readyMs, nowMs);
      }
    }
  }

  /** `failedIds`: the increases that the loop knows to have failed. */
  #followFailure(event: CloudEvent, failedIds: ReadonlySet<string>): void {
    if (event.kind !== 'increase-failed') return;
    const failed = this.#open.find(({ group, followedId }) => group === event.group && failedIds.has(followedId));
    failed?.fail(event.error.code, event.atMs);
    this.#writeEnded(failed === undefined ? [] : [failed]);
  }

  #writeEnded(increases: readonly TrackedScaleUp[]): void {
    for (const increase of increases) {
      if (!increase.isOpen) this.#sink({ kind: 'scale-up', progress: this.#progressOf(increase) });
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
