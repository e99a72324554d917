/**
 * Groups: whether a group may grow, by how much, what a new node of it offers, and which of its nodes are on their way. This
 * file has the reasons why a group cannot grow now, for any pod, in one ordered list: the first that applies is reported. Must not know
 * packing, expanders or which pods are pending.
 */
import { describeBlock } from '../../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { NodeTemplate } from '../../../domain/node-template.ts';
import type { SkipReason } from '../../../domain/reasons.ts';
import { closedReason } from '../../state/closures.ts';
import type { IncreaseCeiling } from '../../state/increases/increase-rate.ts';
import { type QuotaRoom, limitReason } from './quotas.ts';

/** What decides whether groups may grow. */
export interface GroupStanding {
  readonly state: LoopState;
  readonly nowMs: number;
  /** Groups that this loop has already tried. */
  readonly exclude: ReadonlySet<NodeGroupId>;
  /** Groups in which most nodes are not ready, and how many. */
  readonly unhealthy: ReadonlyMap<NodeGroupId, string>;
}

/** What one group may become in a plan. */
export interface GroupGrowth {
  readonly group: NodeGroup;
  readonly standing: GroupStanding;
  /** The target size with what the plan has added. */
  readonly size: number;
  readonly ceiling: IncreaseCeiling;
  readonly template: NodeTemplate | undefined;
  /** What limits leave beside what the plan has added. */
  readonly room: QuotaRoom;
}

type Rule<Facts> = (facts: Facts) => SkipReason | undefined;

/** Reasons that forbid any increase, even to the minimum size. */
const AGAINST_ANY: readonly Rule<Pick<GroupGrowth, 'group' | 'standing'>>[] = [
  ({ group: { blocks } }) => {
    const block = blocks.change ?? blocks.increase;
    return block === undefined ? undefined : { kind: 'frozen', detail: describeBlock(block) };
  },
  ({ group, standing }) => (standing.exclude.has(group.id) ? { kind: 'frozen', detail: 'already tried in this loop' } : undefined),
  ({ group: { target } }) => (target.known ? undefined : { kind: 'target-unknown', detail: target.reason }),
  ({ group, standing: { state, nowMs } }) => closedReason(group, state, nowMs),
];

/** Reasons that leave no room for one more node. */
const AGAINST_MORE: readonly Rule<GroupGrowth>[] = [
  ({ group, size }) => (size >= group.maxSize ? maximumReason(group) : undefined),
  ({ template }) => (template === undefined ? { kind: 'no-template' } : undefined),
  ({ size, ceiling }) => (size >= ceiling.ceiling ? ceiling.reason : undefined),
  ({ group, template, size, room }) => (template === undefined ? undefined : limitReason(room, { group, template }, size)),
];

const AGAINST_PODS: readonly Rule<GroupGrowth>[] = [
  ...AGAINST_ANY,
  ({ group, standing }) => {
    const detail = standing.unhealthy.get(group.id);
    return detail === undefined ? undefined : { kind: 'unhealthy', detail };
  },
  ...AGAINST_MORE,
];

/** Why a group may not even grow to its minimum size. */
export function reasonAgainstAnyIncrease(group: NodeGroup, standing: GroupStanding): SkipReason | undefined {
  return firstReason(AGAINST_ANY, { group, standing });
}

/** Why a group may not grow for pods. */
export function reasonAgainstIncrease(growth: GroupGrowth): SkipReason | undefined {
  return firstReason(AGAINST_PODS, growth);
}

/** Why a group that could grow cannot grow further. */
export function reasonAgainstMore(growth: GroupGrowth): SkipReason | undefined {
  return firstReason(AGAINST_MORE, growth);
}

function firstReason<Facts>(rules: readonly Rule<Facts>[], facts: Facts): SkipReason | undefined {
  for (const rule of rules) {
    const reason = rule(facts);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** The reason of a group at its maximum size. */
function maximumReason({ maxSize: max, poolLimit: limit }: Pick<NodeGroup, 'maxSize' | 'poolLimit'>): SkipReason {
  return limit === undefined ? { kind: 'max-size', max } : { kind: 'pool-limit', limit, max };
}
