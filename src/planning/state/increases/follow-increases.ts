/**
 * The instances that came of each increase of ours: the one rule for it. An instance belongs to the oldest increase of its group that still
 * misses one and was accepted before the instance was there. One that was stopped and is started again came again, for a later increase.
 * Must not know who asks.
 * Idea: increase.
 */
import type { InstanceKey, NodeGroupId } from '../../../domain/ids.ts';
import type { IncreaseRecord } from '../../../domain/loop-report.ts';
import type { AcceptedIncrease, FollowedInstances, InstanceStages, LoopState } from '../../../domain/loop-state.ts';
import type { Instance } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Observation } from '../../../domain/observation.ts';
import { nodeOfInstance } from '../../facts/instance-facts.ts';
import type { FollowedIncrease } from './increase-records.ts';

/** Instances that have not come after this time are not expected any more, milliseconds. */
export const FOLLOWED_MS = 3_600_000;
/** Kubernetes reports whole seconds. */
const ROUNDING_MS = 1_000;
/** An instance counts as started when the request is sent, its increase as made when Azure has answered all of them. */
const SENDING_MS = 60_000;

/** Names an increase within a process. `loopId` is that of the loop that made it. A loop may increase a group twice, to another size. */
export function increaseId({ increase, atMs }: Pick<IncreaseRecord, 'increase' | 'atMs'>, loopId: number): string {
  return `${loopId}/${increase.group}/${increase.to}/${atMs}`;
}

/** What is followed of an increase that the loop made, with no instance yet. undefined: it was not sent, or not accepted. */
export function followedSince(record: IncreaseRecord, loopId: number): FollowedInstances | undefined {
  const { increase, outcome, atMs: answeredAtMs } = record;
  if (outcome.kind !== 'accepted' && outcome.kind !== 'sent') return undefined;
  const to = Math.max(increase.from, outcome.target);
  return { id: increaseId(record, loopId), to, answeredAtMs, instances: new Map(), failed: false, request: undefined };
}

/** How many instances the increase still waits for. */
export function missingInstances({ nodes, instances, failed }: Pick<FollowedIncrease, 'nodes' | 'instances' | 'failed'>): number {
  return failed ? 0 : Math.max(0, nodes - instances.size);
}

/** The increases, those of the last hour with the instances that this observation shows. Call it once per observation. */
export function followIncreases(before: LoopState['increases'], observation: Observation): LoopState['increases'] {
  const { cloud, cluster, nowMs } = observation;
  const groups = new Map<NodeGroupId, Attribution>();
  for (const [group, records] of before)
    if (records.some(({ followed }) => followed !== undefined))
      groups.set(group, new Attribution(records.map((each) => young(each, nowMs))));
  if (groups.size === 0) return before;
  const nodeOf: NodeOf = (key) => {
    const name = nodeOfInstance(cloud).get(key);
    return name === undefined ? undefined : cluster.nodes.get(name);
  };
  for (const { id, instances = [] } of cloud.groups) {
    const attribution = groups.get(id);
    if (attribution !== undefined) for (const instance of instances) attribution.take(instance, nodeOf);
  }
  for (const event of cloud.events) if (event.kind === 'increase-failed') groups.get(event.group)?.fail();
  const next = new Map(before);
  for (const [group, { increases }] of groups) next.set(group, increases);
  return next;
}

/** The node that runs on an instance. */
type NodeOf = (key: InstanceKey) => Node | undefined;

function young(record: AcceptedIncrease, nowMs: number): AcceptedIncrease {
  return record.followed === undefined || nowMs - record.followed.answeredAtMs < FOLLOWED_MS ? record : { ...record, followed: undefined };
}

/** The increases of one group while the instances of one observation are given to them. */
class Attribution {
  /** The oldest first. */
  readonly #increases: AcceptedIncrease[];
  readonly #ownerOf = new Map<InstanceKey, number>();
  readonly #changed = new Map<number, Map<InstanceKey, InstanceStages>>();
  /** No earlier instance came of any of them. */
  readonly #sinceMs: number;

  constructor(increases: readonly AcceptedIncrease[]) {
    this.#increases = [...increases];
    this.#sinceMs = Math.min(...increases.map(({ followed }) => followed?.answeredAtMs ?? Infinity)) - SENDING_MS;
    for (const [at, { followed }] of this.#increases.entries())
      for (const key of followed?.instances.keys() ?? []) this.#ownerOf.set(key, at);
  }

  take(instance: Instance, nodeOf: NodeOf): void {
    const { key } = instance;
    const known = this.#ownerOf.get(key);
    if (known === undefined && !this.#mayHaveCome(instance)) return;
    const earlier = known === undefined ? undefined : this.#increases[known]?.followed?.instances.get(key);
    const isAgain = isStartedAgain(instance, earlier);
    const before = isAgain ? undefined : earlier;
    if (isComplete(before)) return;
    const stages = stagesOf(instance, nodeOf(key), before);
    // guard: an instance that is started again is of the increase that started it
    const at = isAgain ? this.#missing(instance, stages, (known ?? -1) + 1) : (known ?? this.#missing(instance, stages, 0));
    if (at < 0 || isSame(stages, before)) return;
    this.#instancesOf(at).set(key, stages);
    this.#ownerOf.set(key, at);
  }

  /** Most instances of a group are older than every increase that is followed: they are not looked at any further. */
  #mayHaveCome({ state, startedAtMs, firstSeenMs }: Instance): boolean {
    return state !== 'failed' && state !== 'deleting' && (startedAtMs ?? firstSeenMs) >= this.#sinceMs;
  }

  /** The place of the oldest increase, from this place on, that misses an instance and may have brought this one. */
  #missing({ startedAtMs }: Instance, { createdAtMs }: InstanceStages, from: number): number {
    const slackMs = startedAtMs === undefined ? ROUNDING_MS : SENDING_MS;
    return this.#increases.findIndex(
      ({ nodes, followed }, at) =>
        at >= from &&
        followed !== undefined &&
        missingInstances({ nodes, ...followed }) > 0 &&
        createdAtMs >= followed.answeredAtMs - slackMs,
    );
  }

  /** A thousand may come at once, so they are copied once for all. */
  #instancesOf(at: number): Map<InstanceKey, InstanceStages> {
    const known = this.#changed.get(at);
    if (known !== undefined) return known;
    const instances = new Map(this.#increases[at]?.followed?.instances);
    this.#changed.set(at, instances);
    this.#change(at, { instances });
    return instances;
  }

  #change(at: number, change: Partial<FollowedInstances>): void {
    const record = this.#increases[at];
    if (record?.followed !== undefined) this.#increases[at] = { ...record, followed: { ...record.followed, ...change } };
  }

  /** Azure does not say which increase failed: the oldest one that is not complete. */
  fail(): void {
    const at = this.#increases.findIndex(({ nodes, followed }) => followed?.failed === false && !areAllReady(nodes, followed));
    this.#change(at, { failed: true });
  }

  get increases(): readonly AcceptedIncrease[] {
    return this.#increases;
  }
}

function areAllReady(nodes: number, { instances }: FollowedInstances): boolean {
  return instances.size >= nodes && [...instances.values()].every(({ readyAtMs }) => readyAtMs !== undefined);
}

function isStartedAgain({ startedAtMs }: Instance, earlier: InstanceStages | undefined): boolean {
  return earlier !== undefined && startedAtMs !== undefined && startedAtMs > earlier.createdAtMs;
}

/** A stage that was reached stays, although the node is not ready now or gone. None is earlier than the one before it. */
function stagesOf({ firstSeenMs, startedAtMs }: Instance, node: Node | undefined, before: InstanceStages | undefined): InstanceStages {
  // A list that comes late must not make an instance younger than its node. A started instance had its node before.
  const createdAtMs = before?.createdAtMs ?? startedAtMs ?? Math.min(firstSeenMs, node?.createdAtMs ?? firstSeenMs);
  const registeredAtMs = before?.registeredAtMs ?? (node && Math.max(node.createdAtMs, createdAtMs));
  const readySinceMs = node?.readiness.ready === true ? Math.max(node.readiness.sinceMs, registeredAtMs ?? createdAtMs) : undefined;
  return { createdAtMs, registeredAtMs, readyAtMs: before?.readyAtMs ?? readySinceMs };
}

/** Nothing of them changes any more. */
function isComplete(stages: InstanceStages | undefined): boolean {
  return stages?.registeredAtMs !== undefined && stages.readyAtMs !== undefined;
}

function isSame(now: InstanceStages, before: InstanceStages | undefined): boolean {
  return before !== undefined && now.registeredAtMs === before.registeredAtMs && now.readyAtMs === before.readyAtMs;
}
