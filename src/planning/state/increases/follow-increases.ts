/**
 * The instances that came of each increase of ours: the one rule for it. An instance belongs to the oldest increase of its group that still
 * misses one and was accepted before the instance was there. Must not know who asks.
 * Idea: increase.
 */
import type { InstanceKey, NodeGroupId } from '../../../domain/ids.ts';
import type { IncreaseRecord } from '../../../domain/loop-report.ts';
import type { FollowedIncrease, InstanceStages } from '../../../domain/loop-state.ts';
import type { Instance } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import { nodesByInstance, type Observation } from '../../../domain/observation.ts';

/** Instances that have not come after this time are not expected any more, milliseconds. */
export const FOLLOWED_MS = 3_600_000;
/** Kubernetes reports whole seconds. */
const ROUNDING_MS = 1_000;

/** Names an increase within a process. `loopId` is that of the loop that made it. A loop may increase a group twice, to another size. */
export function increaseId({ increase, atMs }: Pick<IncreaseRecord, 'increase' | 'atMs'>, loopId: number): string {
  return `${loopId}/${increase.group}/${increase.to}/${atMs}`;
}

/** Those of the records that Azure accepted, with no instance yet. */
export function begunIncreases(records: readonly IncreaseRecord[], loopId: number): readonly FollowedIncrease[] {
  return records.flatMap((record): readonly FollowedIncrease[] => {
    const { increase, outcome, atMs: acceptedAtMs } = record;
    if (outcome.kind !== 'accepted') return [];
    const { group, from } = increase;
    const sizes = { from, to: Math.max(from, outcome.target) };
    return [{ id: increaseId(record, loopId), group, ...sizes, acceptedAtMs, instances: new Map(), failed: false, request: undefined }];
  });
}

/** How many instances the increase still waits for. */
export function missingInstances({ from, to, instances, failed }: FollowedIncrease): number {
  return failed ? 0 : Math.max(0, to - from - instances.size);
}

/** The increases of the last hour with the instances that this observation shows. Call it once per observation. */
export function followIncreases(before: readonly FollowedIncrease[], observation: Observation): readonly FollowedIncrease[] {
  const { cloud, nowMs } = observation;
  const young = before.filter(({ acceptedAtMs }) => nowMs - acceptedAtMs < FOLLOWED_MS);
  if (young.length === 0) return young;
  const byGroup = Map.groupBy(young, ({ group }) => group);
  const groups = new Map<NodeGroupId, Attribution>([...byGroup].map(([group, own]) => [group, new Attribution(own)]));
  const nodes = nodesByInstance(observation);
  for (const { id, instances = [] } of cloud.groups) {
    const attribution = groups.get(id);
    if (attribution !== undefined) for (const instance of instances) attribution.take(instance, nodes.get(instance.key));
  }
  for (const event of cloud.events) if (event.kind === 'increase-failed') groups.get(event.group)?.fail();
  const after = new Map([...groups].map(([group, { increases }]) => [group, increases.values()]));
  return young.map((increase) => after.get(increase.group)?.next().value ?? increase);
}

/** The increases of one group while the instances of one observation are given to them. */
class Attribution {
  /** The oldest first. */
  readonly #increases: FollowedIncrease[];
  readonly #ownerOf = new Map<InstanceKey, number>();
  readonly #changed = new Map<number, Map<InstanceKey, InstanceStages>>();

  constructor(increases: readonly FollowedIncrease[]) {
    this.#increases = [...increases];
    for (const [at, { instances }] of this.#increases.entries()) for (const key of instances.keys()) this.#ownerOf.set(key, at);
  }

  take(instance: Instance, node: Node | undefined): void {
    const { key, state } = instance;
    const known = this.#ownerOf.get(key);
    if (known === undefined && (state === 'failed' || state === 'deleting')) return;
    const before = known === undefined ? undefined : this.#increases[known]?.instances.get(key);
    const stages = stagesOf(instance, node, before);
    const at = known ?? this.#missing(stages);
    const increase = this.#increases[at];
    if (increase === undefined || isSame(stages, before)) return;
    this.#instancesOf(increase, at).set(key, stages);
    this.#ownerOf.set(key, at);
  }

  /** The place of the oldest increase that misses an instance and may have brought this one. */
  #missing({ createdAtMs }: InstanceStages): number {
    return this.#increases.findIndex((each) => missingInstances(each) > 0 && createdAtMs >= each.acceptedAtMs - ROUNDING_MS);
  }

  /** A thousand may come at once, so they are copied once for all. */
  #instancesOf(increase: FollowedIncrease, at: number): Map<InstanceKey, InstanceStages> {
    const known = this.#changed.get(at);
    if (known !== undefined) return known;
    const instances = new Map(increase.instances);
    this.#changed.set(at, instances);
    this.#increases[at] = { ...increase, instances };
    return instances;
  }

  /** Azure does not say which increase failed: the oldest one that is not complete. */
  fail(): void {
    const at = this.#increases.findIndex((each) => !each.failed && !isComplete(each));
    const increase = this.#increases[at];
    if (increase !== undefined) this.#increases[at] = { ...increase, failed: true };
  }

  get increases(): readonly FollowedIncrease[] {
    return this.#increases;
  }
}

function isComplete({ from, to, instances }: FollowedIncrease): boolean {
  return instances.size >= to - from && [...instances.values()].every(({ readyAtMs }) => readyAtMs !== undefined);
}

/** A stage that was reached stays, although the node is not ready now or gone. */
function stagesOf({ firstSeenMs }: Instance, node: Node | undefined, before: InstanceStages | undefined): InstanceStages {
  return {
    // A list that comes late must not make an instance younger than its node.
    createdAtMs: before?.createdAtMs ?? Math.min(firstSeenMs, node?.createdAtMs ?? firstSeenMs),
    registeredAtMs: node?.createdAtMs ?? before?.registeredAtMs,
    readyAtMs: node?.readiness.ready === true ? node.readiness.sinceMs : before?.readyAtMs,
  };
}

function isSame(now: InstanceStages, before: InstanceStages | undefined): boolean {
  return before !== undefined && now.registeredAtMs === before.registeredAtMs && now.readyAtMs === before.readyAtMs;
}
