/**
 * Follows each accepted increase from its decision to the pods on its nodes, and learns how long each stage takes. An instance belongs to
 * the oldest increase of its group that still misses one.
 */
import { type DurationSummary, type ScaleUpProgress, type StageDurations, summarizeDurations } from '../../domain/history.ts';
import type { InstanceKey, NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { Node } from '../../domain/node.ts';
import type { Instance } from '../../domain/node-group.ts';
import type { CloudEvent, Observation } from '../../domain/observation.ts';
import { causeOf, type DecidedIncrease } from './capacity-changes.ts';
import { FollowedIncrease, type InstanceStages } from './followed-increase.ts';
import { LearnedDurations } from './learned-durations.ts';
import type { RecentLimits } from './recent.ts';

/** Kubernetes reports whole seconds. */
const ROUNDING_MS = 1_000;

export class ScaleUpFollower {
  readonly #limits: RecentLimits;
  /** The oldest first. */
  #increases: readonly FollowedIncrease[] = [];
  readonly #learned = new LearnedDurations();
  /** As the loop remembers them. */
  #readyTimes: LoopState['readyTimes'];

  constructor(limits: RecentLimits) {
    this.#limits = limits;
  }

  observe({ observation, startedAtMs, state }: LoopReport, increases: readonly DecidedIncrease[]): void {
    if (observation === undefined) return;
    this.#readyTimes = state.readyTimes;
    this.#dropOld(observation.nowMs);
    this.#followInstances(observation);
    this.#followPods(observation);
    for (const event of observation.cloud.events) this.#followFailure(event);
    this.#settle(observation);
    for (const decided of increases) this.#begin(decided, startedAtMs);
  }

  /** The newest first. */
  progress(): readonly ScaleUpProgress[] {
    return this.#increases.map((increase) => increase.progress(this.timeToReady(increase.group))).reverse();
  }

  durations(group: NodeGroupId | undefined): readonly StageDurations[] {
    return this.#learned.stages(group);
  }

  timeToReady(group: NodeGroupId): DurationSummary | undefined {
    return summarizeDurations(this.#readyTimes?.get(group) ?? []);
  }

  get #open(): readonly FollowedIncrease[] {
    return this.#increases.filter(({ isOpen }) => isOpen);
  }

  #begin(decided: DecidedIncrease, decidedMs: number): void {
    const { increase, outcome, atMs: acceptedMs, decision } = decided;
    if (outcome.kind !== 'accepted') return;
    const { group, from } = increase;
    const pods = increase.pods.filter(({ injected }) => injected !== true);
    for (const { unschedulable } of pods)
      if (unschedulable !== undefined) this.#learned.add(group, 'decided', decidedMs - unschedulable.sinceMs);
    this.#learned.add(group, 'accepted', acceptedMs - decidedMs);
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
    this.#learn(increase, before, now);
  }

  #learn({ group, acceptedMs }: FollowedIncrease, before: InstanceStages | undefined, now: InstanceStages): void {
    const { created, registered, ready } = now;
    if (before === undefined) this.#learned.add(group, 'created', created - acceptedMs);
    if (registered === undefined) return;
    if (before?.registered === undefined) this.#learned.add(group, 'registered', registered - created);
    if (ready === undefined || before?.ready !== undefined) return;
    this.#learned.add(group, 'ready', ready - registered);
  }

  /** Reads all pods, but only while some are awaited. */
  #followPods({ cloud, cluster, nowMs }: Observation): void {
    const open = this.#open.filter(({ waiting }) => waiting.size > 0);
    if (open.length === 0) return;
    for (const [name, pods] of cluster.podsByNode) {
      for (const { uid } of pods) {
        const increase = open.find(({ waiting }) => waiting.has(uid));
        if (increase === undefined) continue;
        increase.podBound(uid, nowMs);
        const key = cloud.instanceOfNode.get(name);
        const readyMs = key === undefined ? undefined : increase.stagesOf(key)?.ready;
        // If the pod found room on an old node, the last stage has no start.
        if (readyMs !== undefined) this.#learned.add(increase.group, 'bound', nowMs - readyMs);
      }
    }
  }

  #followFailure(event: CloudEvent): void {
    if (event.kind !== 'increase-failed') return;
    this.#open.find(({ group }) => group === event.group)?.fail(event.error.code, event.atMs);
  }

  #settle({ cluster, nowMs }: Observation): void {
    const open = this.#open;
    if (open.length === 0) return;
    const pending = new Set(cluster.pendingPods.map(({ uid }) => uid));
    for (const increase of open) increase.settle(pending, nowMs);
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

function nodesByInstance({ cloud, cluster }: Observation): ReadonlyMap<InstanceKey, Node> {
  const nodes = new Map<InstanceKey, Node>();
  for (const [name, key] of cloud.instanceOfNode) {
    const node = cluster.nodes.get(name);
    if (node !== undefined) nodes.set(key, node);
  }
  return nodes;
}
