/** What is settled before any pod is looked at: the limits, the nodes on their way, the minimum sizes. */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import { type NodeGroup, isWhole } from '../../domain/node-group.ts';
import type { Policy } from '../../domain/policy.ts';
import { seededRandom, stableHash } from '../../lib/random.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { attaching } from '../../scheduling/volumes/attachments.ts';
import { unhealthyGroups } from '../state/cluster-health.ts';
import { type Expander, createExpanders } from '../expanders/expander.ts';
import { emptyRooms } from '../capacity-objects/capacity-quotas.ts';
import { type Ramp, rampOf } from '../state/increase-rate.ts';
import { probeOf } from '../state/stockouts.ts';
import { preemptedNodes } from '../state/preempted-nodes.ts';
import { brokenNodes } from '../state/node-counts.ts';
import { overdueInstances } from '../state/unregistered.ts';
import type { Growth } from './packing/expansion.ts';
import {
  type Headroom,
  fullHeadroom,
  exceededLimit,
  nodesAllowed,
  countPresentNodes,
  countPlannedNodes,
  atomicLimitReason,
} from './groups/limits.ts';
import type { UpcomingGroupNodes } from './groups/existing-capacity.ts';
import { type Scoring, createScoring } from './packing/option-score.ts';
import { type GroupStanding, outOfStockZones, reasonAgainstAnyIncrease } from './groups/group-eligibility.ts';
import { makeTemplate } from './groups/template-node.ts';
import { findUpcoming } from './groups/upcoming-nodes.ts';
import type { Claims, ScaleUpInput } from './plan-input.ts';
import type { NodeTemplate } from '../../domain/node-template.ts';

const NO_ZONES: ReadonlySet<string> = new Set();

/** What is settled before any pod is looked at. */
export interface ScaleUpContext {
  readonly input: ScaleUpInput;
  readonly claims: Claims;
  readonly standing: GroupStanding;
  /** Of the same chances each time. */
  readonly makeExpanders: () => readonly Expander[];
  readonly scoring: Scoring;
  readonly coming: readonly UpcomingGroupNodes[];
  readonly minimum: ReadonlyMap<NodeGroupId, number>;
  readonly headroom: Headroom;
}

/** Throws AutoscalerError `config` when the list of expanders is not valid. */
export function makeScaleUpContext(input: ScaleUpInput, claims: Claims): ScaleUpContext {
  const { observation, state, policy } = input;
  const standing: GroupStanding = {
    state,
    nowMs: observation.nowMs,
    exclude: input.exclude ?? new Set<NodeGroupId>(),
    unhealthy: unhealthyGroups(observation, state, policy),
  };
  const seed = stableHash(`${policy.scaleUp.randomSeed}|${observation.loopId}`);
  const makeExpanders = (): readonly Expander[] => createExpanders(policy.scaleUp.expanders, seededRandom(seed));
  // A chain that is not valid is refused even where nothing grows.
  makeExpanders();
  const scoring = createScoring(policy.scaleUp, input.names, observation.cluster.nodes.size);
  const rooms = emptyRooms(observation.cluster.capacity?.quotas ?? [], input.names);
  let headroom = fullHeadroom(policy.scaleUp, observation.cloud.quotas, rooms);
  for (const node of observation.cluster.nodes.values()) headroom = countPresentNodes(headroom, node, 1);
  const coming: UpcomingGroupNodes[] = [];
  for (const group of observation.cloud.groups) {
    const upcoming = findUpcoming(group, observation, state, policy);
    if (group.template === undefined || upcoming.unregistered.length + upcoming.unready.length === 0) continue;
    coming.push({
      template: makeTemplate(group, attaching(group.template, input.names), observation.cluster.daemonSets, NO_ZONES),
      upcoming,
    });
    headroom = countPresentNodes(headroom, group.template, upcoming.unregistered.length);
  }
  const minimum = new Map<NodeGroupId, number>();
  const broken = brokenNodes(observation, state, policy);
  for (const group of policy.scaleUp.enforceMinSize ? observation.cloud.groups : []) {
    const overdue = overdueInstances(group, { state, policy, nowMs: observation.nowMs });
    const missing = missingToMinimum(group, overdue + (broken.get(group.id) ?? 0), standing);
    const room = group.target.known ? paceOf(group, input).ceiling - group.target.value : 0;
    const nodes = Math.min(missing, room, nodesAllowed(headroom, group.template));
    if (nodes < 1 || (isWhole(group) && nodes < missing)) continue;
    minimum.set(group.id, nodes);
    headroom = countPlannedNodes(headroom, group.template, nodes);
  }
  return { input, claims, standing, makeExpanders, scoring, coming, minimum, headroom };
}

/** How large the group may be after this plan. */
export function rampFor({ input }: Pick<ScaleUpContext, 'input'>, group: NodeGroup): Ramp {
  return paceOf(group, input);
}

/** The narrower of how fast the group may grow and what a lack of stock that may be over allows. */
function paceOf(group: NodeGroup, { policy, state, observation }: ScaleUpInput): Ramp {
  const ramp = rampOf(group, policy.scaleUp, state, observation.nowMs);
  const probe = probeOf(group, state, observation.nowMs);
  return probe.ceiling < ramp.ceiling ? probe : ramp;
}

/** Why a group of that size may not grow for now, if it may not. */
export function rampReason(context: ScaleUpContext, group: NodeGroup, size: number): SkipReason | undefined {
  const { ceiling, reason } = rampFor(context, group);
  return size >= ceiling ? reason : undefined;
}

/** Instances that never became nodes, or broke, count as missing: a replacement comes first, then they may go. */
function missingToMinimum(group: NodeGroup, lost: number, standing: GroupStanding): number {
  if (!group.target.known || reasonAgainstAnyIncrease(group, standing) !== undefined) return 0;
  const missing = Math.min(group.minSize + lost, group.maxSize) - group.target.value;
  return missing > 0 && isWhole(group) ? group.maxSize - group.target.value : missing;
}

/** Nodes that we remove and nodes that the platform takes: what runs there needs a place before it turns pending. */
export function leavingNodes({ observation, state }: Pick<ScaleUpInput, 'observation' | 'state'>): ReadonlySet<NodeName> {
  return new Set([...state.deleting.keys(), ...preemptedNodes(observation)]);
}

/** The nodes of an increase to the minimum size serve pods like any other node to come. */
export function nodesToMinimum(context: ScaleUpContext): readonly UpcomingGroupNodes[] {
  const { cloud, cluster } = context.input.observation;
  return cloud.groups.flatMap((group) => {
    const nodes = context.minimum.get(group.id) ?? 0;
    if (nodes === 0 || group.template === undefined) return [];
    const offered = attaching(group.template, context.input.names);
    const template = makeTemplate(group, offered, cluster.daemonSets, outOfStockZones(group, context.standing));
    return [{ template, upcoming: { unregistered: Array.from({ length: nodes }, () => undefined), unready: [] } }];
  });
}

/** Limits of the cluster, the plan and the cloud that keep the group from growing at all. */
export function limitReason(
  headroom: Headroom,
  group: NodeGroup,
  template: NodeTemplate,
  { policy, size }: { readonly policy: Policy; readonly size: number },
): SkipReason | undefined {
  const reached = exceededLimit(headroom, template, policy.scaleUp);
  return reached ?? (isWhole(group) ? atomicLimitReason(headroom, template, group.maxSize - size) : undefined);
}

/** The group's target with what the plan adds: to the minimum, and, once known, for pods. */
export function plannedSize(context: ScaleUpContext, id: NodeGroupId, growth: Growth | undefined): number {
  const target = context.input.observation.cloud.groups.find((group) => group.id === id)?.target;
  const before = target?.known === true ? target.value : 0;
  return before + (context.minimum.get(id) ?? 0) + (growth?.grown.get(id)?.nodes ?? 0);
}
