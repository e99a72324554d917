/** What is settled before any pod is placed: group health, nodes on their way, increases to minimum sizes, and limits. */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import { type NodeGroup, isWhole } from '../../domain/node-group.ts';
import type { Pod } from '../../domain/pod.ts';
import { seededRandom, stableHash } from '../../lib/random.ts';
import { withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import type { CountedNode } from '../capacity-objects/quota.ts';
import { type Expander, checkExpanderChain, createExpanders } from '../expanders/expander.ts';
import { unhealthyGroups } from '../state/cluster-health.ts';
import { type IncreaseCeiling, rateCeiling } from '../state/increases/increase-rate.ts';
import { brokenNodes, preemptedNodes } from '../state/node-counts.ts';
import { trialReason } from '../promises/corrected-templates.ts';
import { outOfStockZones, probingReason } from '../state/stockouts.ts';
import { overdueInstances } from '../state/unregistered.ts';
import type { UpcomingGroupNodes } from './groups/existing-capacity.ts';
import { type GroupGrowth, type GroupStanding, reasonAgainstAnyIncrease } from './groups/group-eligibility.ts';
import { type QuotaRoom, quotaRoomBeside, nodesAllowed, takeNodes } from './groups/quotas.ts';
import { makeTemplate } from './groups/template-node.ts';
import { findUpcomingNodes, indexUpcomingNodes } from './groups/upcoming-nodes.ts';
import type { ExpansionResult } from './packing/expansion.ts';
import { type Scoring, createScoring } from './packing/option-score.ts';
import type { PodsToPlan, ScaleUpInput } from './plan-input.ts';
import { inFlight } from '../state/increases/increase-records.ts';

const NO_ZONES: ReadonlySet<string> = new Set();

/** All pods that get a place in a plan. */
export interface PodsToPlace extends PodsToPlan {
  /** Granted requests: placed before all other pods. */
  readonly booked: readonly Pod[];
  /** Pending pods of DaemonSets: they cause no increase, but take room on present nodes like all other pods. */
  readonly daemons: readonly Pod[];
  /** Pods of nodes that are about to go, as they come back. */
  readonly displaced: readonly Pod[];
  /** The same pods as they are. */
  readonly leaving: readonly Pod[];
}

/** One per plan: what does not change while pods are placed. */
export interface ScaleUpContext {
  readonly input: ScaleUpInput;
  readonly pods: PodsToPlace;
  /** What decides whether a group may grow. */
  readonly standing: GroupStanding;
  /** What compares options. */
  readonly scoring: Scoring;
  /** Nodes on their way and fresh nodes, of every group that has some. */
  readonly upcoming: readonly UpcomingGroupNodes[];
  /** New nodes that lift a group to its minimum size. */
  readonly minimumIncreases: ReadonlyMap<NodeGroupId, number>;
  /** What limits leave beside present nodes, nodes on their way, and the increases to minimum sizes. */
  readonly room: QuotaRoom;
}

/** @throws AutoscalerError `config` if the list of expanders or a priority pattern is invalid. */
export function makeScaleUpContext(input: ScaleUpInput, pods: PodsToPlace): ScaleUpContext {
  const { observation, state, policy } = input;
  // Checked here, so that an invalid list is refused even if no group grows.
  checkExpanderChain(policy.scaleUp.expanders);
  const standing: GroupStanding = {
    state,
    nowMs: observation.nowMs,
    exclude: input.exclude,
    unhealthy: unhealthyGroups(observation, state, policy),
  };
  const scoring = createScoring(policy.scaleUp, input.names, observation.cluster);
  const upcoming = findUpcoming(input);
  const before = quotaRoomBeside(unregisteredNodes(upcoming), { observation, policy: policy.scaleUp, names: input.names });
  const minimum = increasesToMinimum(input, standing, before);
  return { input, pods, standing, scoring, upcoming, ...minimum };
}

/**
 * The expanders of one choice, with a seed from the choice itself and not from the loop: another look at the same pods chooses the same
 * groups by chance, and so explains the nodes that are on their way. `choice` names what is chosen for.
 */
export function seededExpanders({ policy }: ScaleUpInput): (choice: string) => readonly Expander[] {
  const { expanders, randomSeed } = policy.scaleUp;
  return (choice) => createExpanders(expanders, seededRandom(stableHash(`${randomSeed}|${choice}`)));
}

function findUpcoming({ observation, state, policy, names }: ScaleUpInput): readonly UpcomingGroupNodes[] {
  const index = indexUpcomingNodes({ observation, state, policy });
  return observation.cloud.groups.flatMap((group): readonly UpcomingGroupNodes[] => {
    if (group.template === undefined) return [];
    const upcoming = findUpcomingNodes(group, index);
    if (upcoming.unregistered.length + upcoming.unready.length + upcoming.fresh.length === 0) return [];
    const template = makeTemplate(group, withAttachLimits(group.template, names), observation.cluster, NO_ZONES);
    return [{ template, upcoming }];
  });
}

/** Nodes on their way that are no nodes of the cluster yet. */
function* unregisteredNodes(upcomingNodes: readonly UpcomingGroupNodes[]): Iterable<CountedNode> {
  for (const { template, upcoming } of upcomingNodes)
    for (const _zone of upcoming.unregistered) yield template.group.template ?? template.template;
}

function increasesToMinimum(
  input: ScaleUpInput,
  standing: GroupStanding,
  before: QuotaRoom,
): Pick<ScaleUpContext, 'minimumIncreases' | 'room'> {
  const { observation, state, policy } = input;
  const minimumIncreases = new Map<NodeGroupId, number>();
  let room = before;
  const broken = brokenNodes(observation, state, policy);
  for (const group of policy.scaleUp.enforceMinSize ? observation.cloud.groups : []) {
    const overdue = overdueInstances(group, { state, policy, nowMs: observation.nowMs });
    const missing = nodesBelowMinimum(group, overdue + (broken.get(group.id) ?? 0), standing);
    const toCeiling = group.target.known ? increaseCeiling(group, input).ceiling - group.target.value : 0;
    const node = { group, template: group.template };
    const nodes = Math.min(missing, toCeiling, nodesAllowed(room, node));
    if (nodes < 1 || (isWhole(group) && nodes < missing)) continue;
    minimumIncreases.set(group.id, nodes);
    room = takeNodes(room, node, nodes);
  }
  return { minimumIncreases, room };
}

/** Instances that never registered, or broke, count as missing: a replacement comes first, then they may be removed. */
function nodesBelowMinimum(group: NodeGroup, lost: number, standing: GroupStanding): number {
  if (!group.target.known || reasonAgainstAnyIncrease(group, standing) !== undefined) return 0;
  const missing = Math.min(group.minSize + lost, group.maxSize) - group.target.value;
  return missing > 0 && isWhole(group) ? group.maxSize - group.target.value : missing;
}

/**
 * The largest size after this plan: by the group's rate of increase, or one node at a time after a stockout or a broken promise. An atomic
 * group cannot request a part, so it has no such limit.
 */
function increaseCeiling(group: NodeGroup, { policy, state, observation }: ScaleUpInput): IncreaseCeiling {
  const byRate = rateCeiling(group, policy.scaleUp, state, observation.nowMs);
  if (isWhole(group) || !group.target.known) return byRate;
  const ceiling = group.target.value + (inFlight(state, group.id) === undefined ? 1 : 0);
  // guard: one node is requested to try a disproved template again
  const reason = probingReason(group, state, observation.nowMs) ?? trialReason(group, state, observation);
  return reason === undefined || ceiling >= byRate.ceiling ? byRate : { ceiling, reason };
}

/** What decides whether a group of that size may grow in this plan. */
export function growthOf(
  { standing, input }: ScaleUpContext,
  { group, template }: Pick<GroupGrowth, 'group' | 'template'>,
  size: number,
  room: QuotaRoom,
): GroupGrowth {
  return { group, template, size, room, standing, ceiling: increaseCeiling(group, input) };
}

/** Nodes that we remove and nodes that the platform takes: what runs there needs a place before it turns pending. */
export function leavingNodes({ observation, state }: Pick<ScaleUpInput, 'observation' | 'state'>): ReadonlySet<NodeName> {
  return new Set([...state.deleting.keys(), ...preemptedNodes(observation)]);
}

/** The nodes of increases to minimum sizes. They serve pods like any other node on its way. */
export function nodesToMinimum({ input, standing, minimumIncreases }: ScaleUpContext): readonly UpcomingGroupNodes[] {
  const { cloud, cluster } = input.observation;
  return cloud.groups.flatMap((group) => {
    const nodes = minimumIncreases.get(group.id) ?? 0;
    if (nodes === 0 || group.template === undefined) return [];
    const offered = withAttachLimits(group.template, input.names);
    const template = makeTemplate(group, offered, cluster, outOfStockZones(group, standing.state.stockouts, standing.nowMs));
    return [{ template, upcoming: { unregistered: Array.from({ length: nodes }, () => undefined), unready: [], fresh: [] } }];
  });
}

/** The group's target size with what the plan adds: to the minimum and, if given, for pods. */
export function plannedSize({ minimumIncreases }: ScaleUpContext, group: NodeGroup, expansion?: ExpansionResult): number {
  const { id, target } = group;
  return (target.known ? target.value : 0) + (minimumIncreases.get(id) ?? 0) + (expansion?.added.get(id)?.nodes ?? 0);
}
