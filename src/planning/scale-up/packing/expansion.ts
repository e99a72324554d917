/** What is known and what is asked for while a plan grows: shared by the ways to find and to take options. */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { Expander } from '../../expanders/expander.ts';
import type { FamilyMember } from './estimate-interdependent.ts';
import type { Estimate } from './estimate.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import type { PlanDeadline } from '../pods/plan-deadline.ts';
import { nodesAllowed, countPlannedNodes, type Headroom } from '../groups/limits.ts';
import type { Scoring } from './option-score.ts';
import type { SimilarityRules } from '../groups/similar-groups.ts';
import { simulatedNodeName, type GroupTemplate } from '../groups/template-node.ts';

export interface GrowInput {
  readonly snapshot: ClusterSnapshot;
  readonly templates: readonly GroupTemplate[];
  /** Whose turn it is. */
  readonly groups: readonly EquivalenceGroup[];
  /** Whether new nodes are put into the snapshot whoever runs there: others may yet use what is left of them. */
  readonly keeps: boolean;
  readonly scoring: Scoring;
  readonly expanders: readonly Expander[];
  readonly headroom: Headroom;
  /** Size of a group with what was planned before: the minimum size. */
  readonly sizeOf: (group: NodeGroupId) => number;
  /** The size that it may have after this plan: its maximum, or less. */
  readonly ceilingOf: (group: NodeGroup) => number;
  /** The nodes of this plan that stand in the snapshot; filled as it grows. */
  readonly planned: Map<NodeName, NodeGroupId>;
  /** Places pods that find a place on nodes there are, those of earlier rounds included; answers those that did not. */
  readonly retry: (pods: readonly Pod[]) => readonly Pod[];
  readonly timer: PlanDeadline;
  /** Which group is estimated first, so that groups beyond the time of one plan have their turn in another. */
  readonly turn: number;
  readonly likeness: SimilarityRules;
  /** Either one option serves every pod, or nothing grows. Absent: each as far as it goes. */
  readonly allOrNothing?: boolean;
  /** Similar groups are one option, whatever their zones. */
  readonly together?: boolean;
  /** Whether growth is spread over similar groups. */
  readonly balance: boolean;
}

export interface Growth {
  /** New nodes and their pods per group. */
  readonly grown: ReadonlyMap<NodeGroupId, { readonly nodes: number; readonly pods: readonly Pod[]; readonly zoneBound: number }>;
  /** The first option of every group that had one. */
  readonly options: ReadonlyMap<NodeGroupId, ScoredOption>;
  readonly headroom: Headroom;
  /** The rounds, or the time, ran out before the pods that can be helped did. */
  readonly unfinished: boolean;
  /** The time was up after so many estimates; absent: it was not. */
  readonly cutShortAfter?: number;
  /** Groups that were estimated at least once. */
  readonly judged: ReadonlySet<NodeGroupId>;
}

export interface Option {
  readonly template: GroupTemplate;
  /** Set: siblings planned as one, the template first among them. */
  readonly family?: readonly FamilyMember[];
  readonly estimate: Estimate;
  readonly scored: ScoredOption;
  /** What the estimate was allowed; it stands while that is the same. */
  readonly limit: number;
}

/** What grows while the plan is made. */
export interface Progress {
  readonly grown: Map<NodeGroupId, { readonly nodes: number; readonly pods: readonly Pod[]; readonly zoneBound: number }>;
  readonly standing: Map<NodeGroupId, Option>;
  readonly judged: Set<NodeGroupId>;
  headroom: Headroom;
  /** Packings kept so far: makes the names of the next one's nodes its own. */
  kept: number;
}

/** Takes the pods and the nodes of an estimate over into what is planned. */
export function count(progress: Progress, { group, template }: GroupTemplate, estimate: Estimate): void {
  const pods = takePods(estimate);
  const sum = progress.grown.get(group.id) ?? { nodes: 0, pods: [], zoneBound: 0 };
  const { nodes, zoneBound } = estimate;
  progress.grown.set(group.id, { nodes: sum.nodes + nodes, pods: sum.pods.concat(pods), zoneBound: sum.zoneBound + zoneBound });
  progress.headroom = countPlannedNodes(progress.headroom, template, nodes);
}

export function sizeIn(input: GrowInput, { grown }: Progress, id: NodeGroupId): number {
  return input.sizeOf(id) + (grown.get(id)?.nodes ?? 0);
}

/** How many nodes the group may still add; not more than the limits of cluster and plan allow. */
export function limitOf(input: GrowInput, progress: Progress, { group, template }: GroupTemplate): number {
  const toMaximum = input.ceilingOf(group) - sizeIn(input, progress, group.id);
  const allowed = nodesAllowed(progress.headroom, template);
  // All or nothing: a part is of no use.
  return isWhole(group) && allowed < toMaximum ? 0 : Math.min(toMaximum, allowed);
}

/** A group that grows to its maximum buys, and is weighed with, all the nodes up to there. */
export function asBought(estimate: Estimate, { group }: GroupTemplate, limit: number): Estimate {
  return isWhole(group) && estimate.nodes > 0 ? { ...estimate, nodes: limit } : estimate;
}

/** Looks at the items from `turn` on and then at those before; what comes of them stands in the items' own order. */
export function inTurn<Item, Found>(items: readonly Item[], turn: number, look: (item: Item) => readonly Found[]): readonly Found[] {
  const start = items.length === 0 ? 0 : turn % items.length;
  const behind = items.slice(start).flatMap(look);
  return [...items.slice(0, start).flatMap(look), ...behind];
}

/** Whether the time is up before the groups are estimated. */
export function isTooLate(input: GrowInput, progress: Progress, templates: readonly GroupTemplate[]): boolean {
  if (!input.timer.allowsOneMore()) return true;
  for (const { group } of templates) progress.judged.add(group.id);
  return false;
}

/** Names are one per turn, not per group: the snapshot remembers every host name that it has met. */
export function tiedLimits(nodes: number, turn: number) {
  return { nodes, prefix: simulatedNodeName(`new-${turn}`) };
}

function takePods({ placed }: Estimate): readonly Pod[] {
  return [...placed].flatMap(([group, count]) => group.pods.splice(0, count));
}
