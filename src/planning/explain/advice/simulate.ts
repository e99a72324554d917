/** Tries changes on the planner itself: with them, are the pods placed, and by how many more nodes? */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { GroupRefusal, PodVerdict } from '../../../domain/reasons.ts';
import { compareText } from '../../../lib/comparison.ts';
import { costOfNew } from '../../facts/paid-nodes.ts';
import { freeAmong, freeRoom, takeFree } from '../../scale-up/groups/quotas.ts';
import { priceOf } from '../../expanders/node-price.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { planScaleUpInSlices } from '../../scale-up/plan.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { PodShape } from '../../../domain/pod.ts';
import { reshaped, withCluster } from '../changes/edits.ts';
import { applyChanges, type Change } from '../changes/change-kinds.ts';
import { addedPoolId } from '../changes/new-pool.ts';
import type { Fix } from './fix.ts';

/** What is to be helped, and what the plan is without help. */
export interface Subject {
  readonly input: ScaleUpInput;
  readonly plan: ScaleUpPlan;
  /** The pods of the class, by uid. */
  readonly pods: ReadonlySet<string>;
}

export interface Simulation {
  readonly proof: Fix['proof'];
  /** New nodes beyond those of the plan without the changes. */
  readonly newNodes: number;
  /** Why the first pod that is left stays pending; undefined if none is left, or if it only waits. */
  readonly refusals: readonly GroupRefusal[] | undefined;
}

/** undefined: the changes have no meaning in this cluster. */
export function* simulate(subject: Subject, changes: readonly Change[]): SlicedWork<Simulation | undefined> {
  const { input, plan, pods } = subject;
  const changed = changedInput(subject, changes);
  if (changed === undefined) return undefined;
  const after = yield* planScaleUpInSlices(withOwnModel(changed, input));
  const verdicts = [...after.verdicts].flatMap(([pod, verdict]) => (pods.has(pod.uid) ? [verdict] : []));
  const added = addedNodes(plan, after);
  const left = verdicts.find((verdict) => verdict.kind === 'helpless');
  return {
    proof: {
      pods: verdicts.filter(isHelped).length,
      of: pods.size,
      others: Math.max(0, helpedBeside(pods, after) - helpedBeside(pods, plan)),
      ...costOf(added, changed),
      groups: grownGroups(added, changes),
    },
    newNodes: [...added.values()].reduce((sum, count) => sum + Math.max(0, count), 0),
    refusals: left?.byGroup,
  };
}

function changedInput({ input, pods }: Subject, changes: readonly Change[]): ScaleUpInput | undefined {
  return applyChanges(input, changes, {
    names: input.names,
    modelOf: ({ observation }) => modelOf({ ...input, observation }),
    reshape: (world, edit) => {
      const shapes = new Map<PodShape, PodShape>();
      const pendingPods = world.observation.cluster.pendingPods.map((pod) => (pods.has(pod.uid) ? reshaped(pod, edit, shapes) : pod));
      return withCluster(world, () => ({ pendingPods }));
    },
  });
}

/** A model of the cluster of the input, with nothing in it that the input has not. */
export function modelOf({ names, observation }: Pick<ScaleUpInput, 'names' | 'observation'>): ClusterSnapshot {
  const model = new ClusterSnapshot({ names });
  model.sync(observation.cluster);
  return model;
}

/** The model of the cluster does not have changes of running pods: the plan makes its own then. */
function withOwnModel(changed: ScaleUpInput, before: ScaleUpInput): ScaleUpInput {
  const isSame = changed.observation.cluster.podsByNode === before.observation.cluster.podsByNode;
  return isSame ? changed : { ...changed, snapshot: undefined };
}

/** Pods outside the class: a limit that is raised for the class may serve others first. */
function helpedBeside(pods: ReadonlySet<string>, { verdicts }: ScaleUpPlan): number {
  let count = 0;
  for (const [pod, verdict] of verdicts) if (!pods.has(pod.uid) && isHelped(verdict)) count += 1;
  return count;
}

function isHelped({ kind }: PodVerdict): boolean {
  return kind === 'triggered' || kind === 'fits-present-node' || kind === 'fits-upcoming-node';
}

function addedNodes(before: ScaleUpPlan, after: ScaleUpPlan): ReadonlyMap<NodeGroupId, number> {
  const added = new Map<NodeGroupId, number>();
  for (const { group, from, to } of after.increases) added.set(group, to - from);
  for (const { group, from, to } of before.increases) added.set(group, (added.get(group) ?? 0) - (to - from));
  return added;
}

function grownGroups(added: ReadonlyMap<NodeGroupId, number>, changes: readonly Change[]): readonly NodeGroupId[] {
  const models = new Map(
    changes.flatMap((change) => (change.kind === 'add-pool' ? [[addedPoolId(change.like), change.like] as const] : [])),
  );
  const grown = [...added].filter(([, nodes]) => nodes > 0).map(([id]) => models.get(id) ?? id);
  return [...new Set(grown)].sort(compareText);
}

/** Other groups may get fewer nodes than without the changes. */
function costOf(added: ReadonlyMap<NodeGroupId, number>, { observation, policy }: ScaleUpInput): Pick<Fix['proof'], 'nodes' | 'perHour'> {
  let free = freeRoom(policy.scaleUp, observation);
  const counts = observation.cloud.groups.flatMap((group) => {
    const nodes = added.get(group.id) ?? 0;
    const price = priceOf(policy.scaleUp, group);
    const newNode = { group, template: group.template };
    // Fewer nodes than without the changes leave more paid ones to others: they save what they would cost.
    const cost = nodes > 0 ? costOfNew(nodes, freeAmong(free, newNode, nodes), price) : price === undefined ? undefined : nodes * price;
    free = takeFree(free, newNode, Math.max(0, nodes));
    return nodes === 0 ? [] : [{ nodes, cost }];
  });
  const nodes = counts.reduce((sum, count) => sum + count.nodes, 0);
  const isPriced = counts.every(({ cost }) => cost !== undefined);
  return {
    nodes,
    ...(isPriced && counts.length > 0 ? { perHour: counts.reduce((sum, count) => sum + (count.cost ?? 0), 0) } : {}),
  };
}
