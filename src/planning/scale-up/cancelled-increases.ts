/**
 * Nodes on their way that are no longer needed: the pods of their increase are gone, and a plan without the nodes requests nothing and leaves no
 * pod behind. They are deleted before they join. A node that has joined is left to ordinary removal. Pure.
 * Idea: increase.
 */
import type { InstanceKey, NodeGroupId, PodUid } from '../../domain/ids.ts';
import type { AcceptedIncrease, LoopState } from '../../domain/loop-state.ts';
import { type Instance, isWhole, type NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { SlicedWork } from '../../lib/slices.ts';
import { absentInstances } from '../facts/instance-facts.ts';
import { FIRST_PLAN, type ScaleUpInput } from './plan-input.ts';
import { decideScaleUpInSlices } from './plan.ts';
import { isOwn, withoutAwaited } from '../state/increases/increase-records.ts';
import { mayJoin } from '../state/unregistered.ts';

/** A controller that replaces its pods deletes them first, and a job that failed is created again soon. */
const GONE_FOR_MS = 20_000;
/** Each costs a plan. The others follow in later loops. */
const MOST_GROUPS = 5;

export type CancellableInstances = ReadonlySet<InstanceKey>;

const NONE: CancellableInstances = new Set();

type CancelInput = Pick<ScaleUpInput, 'observation' | 'state' | 'policy' | 'names' | 'snapshot'>;

/** `plan`: what this loop's scale-up came to. Empty unless it is certain that nothing needs the nodes. Leaves the snapshot as found. */
export function* cancellableInstances(input: CancelInput, plan: ScaleUpPlan | undefined): SlicedWork<CancellableInstances> {
  const { scaleDown } = input.policy;
  if (!scaleDown.cancelIncreases || !scaleDown.enabled || plan === undefined || !isAtRest(plan)) return NONE;
  const found = new Set<InstanceKey>();
  let left = input;
  let tried = 0;
  for (const { id } of input.observation.cloud.groups) {
    const group = left.observation.cloud.groups.find((each) => each.id === id);
    const instances = group === undefined ? [] : unneededBy(group, left);
    if (instances.length === 0 || tried >= MOST_GROUPS) continue;
    tried += 1;
    const without = withoutInstances(left, id, instances);
    const again = yield* decideScaleUpInSlices({ ...FIRST_PLAN, ...without });
    // guard: nodes on their way are cancelled only if a plan without them needs no others
    if (!needsNothing(again, plan)) continue;
    left = without;
    for (const { key } of instances) found.add(key);
  }
  return found;
}

/** Whether the plan adds nothing, and had time for all pods. */
function isAtRest({ increases, cutShortAfter, searchedUntilLate, verdicts }: ScaleUpPlan): boolean {
  if (increases.length > 0 || cutShortAfter !== undefined || searchedUntilLate !== undefined) return false;
  return [...verdicts.values()].every((verdict) => verdict.kind !== 'waiting' || verdict.leftOut === 'explanation');
}

/** Instances of increases of this process whose pods are gone. Empty if it is not certain which of the group's instances those are. */
function unneededBy(group: NodeGroup, { observation, state }: Pick<CancelInput, 'observation' | 'state'>): readonly Instance[] {
  const { target, blocks } = group;
  // guard: nodes on their way for a repack, or for room, are not cancelled
  if (isAwaitedByOthers(group.id, state)) return [];
  if (isWhole(group) || blocks.change !== undefined || blocks.removal !== undefined || !target.known || !target.confirmed) return [];
  const open = (state.increases.get(group.id) ?? []).filter(({ coming }) => coming !== undefined);
  const ours = new Set(open.flatMap((record) => instancesOf(record, observation.nowMs) ?? []));
  // guard: if another increase of the group is on its way, whose instances are whose is a guess
  if (open.some((record) => instancesOf(record, observation.nowMs) === undefined)) return [];
  // guard: a size that another writer has changed since is not cancelled
  if (open.at(-1)?.followed?.to !== target.value) return [];
  return absentInstances(group, observation.cloud).filter((instance) => ours.has(instance.key) && mayJoin(instance));
}

/** Whether such nodes are for pods that run elsewhere until they come. */
function isAwaitedByOthers(id: NodeGroupId, { repacks: { running, rooms } }: LoopState): boolean {
  return (
    running.some(({ stage, set }) => stage === 'adding' && set.add?.group === id) || [...rooms.values()].some(({ added }) => added === id)
  );
}

/** Those that have not registered; undefined if the increase is not ours, has failed in part, or its pods may still come. */
function instancesOf(record: AcceptedIncrease, nowMs: number): readonly InstanceKey[] | undefined {
  const { followed, podsGoneSinceMs, incomplete, started } = record;
  // A stopped instance that was started has its node already.
  if (!isOwn(record) || started > 0 || incomplete || followed === undefined || followed.failed) return undefined;
  // guard: pods that are replaced have the nodes that were requested for the former ones
  if (podsGoneSinceMs === undefined || nowMs - podsGoneSinceMs < GONE_FOR_MS) return undefined;
  return [...followed.instances].flatMap(([key, { registeredAtMs }]) => (registeredAtMs === undefined ? [key] : []));
}

/** As if the instances had not been requested. Of nodes that are not listed yet, none counts either. */
function withoutInstances(input: CancelInput, id: NodeGroupId, instances: readonly Instance[]): CancelInput {
  const { observation, state } = input;
  const gone = new Set(instances.map(({ key }) => key));
  const without = (group: NodeGroup): NodeGroup =>
    group.id !== id || !group.target.known || group.instances === undefined
      ? group
      : {
          ...group,
          target: { ...group.target, value: group.target.value - gone.size },
          instances: group.instances.filter(({ key }) => !gone.has(key)),
        };
  const cloud: Observation['cloud'] = { ...observation.cloud, groups: observation.cloud.groups.map(without) };
  const left: LoopState = { ...state, increases: withoutAwaited(state.increases, [id]) };
  return { ...input, observation: { ...observation, cloud }, state: left };
}

/** Whether the plan adds nothing, and no pod is without a place that has one in the other plan. */
function needsNothing(again: ScaleUpPlan, before: ScaleUpPlan): boolean {
  const placeless = (plan: ScaleUpPlan): readonly PodUid[] =>
    [...plan.verdicts].flatMap(([{ uid }, { kind }]) => (kind === 'helpless' || kind === 'waiting' ? [uid] : []));
  const known = new Set(placeless(before));
  return again.increases.length === 0 && again.cutShortAfter === undefined && placeless(again).every((uid) => known.has(uid));
}
