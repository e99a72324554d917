/**
 * Groups: whether a group may grow, by how much, what a new node of it offers, and which of its nodes are on their way. This
 * file has the reasons why a group cannot grow now, for any pod; the first that applies is reported. Must not know packing,
 * expanders or which pods are pending.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { LoopState, Stockout } from '../../../domain/loop-state.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { SkipReason } from '../../../domain/reasons.ts';
import type { IncreaseCeiling } from '../../state/increases/increase-rate.ts';
import { defined } from '../../../lib/defined.ts';
import { isClosedFor } from '../../state/stockouts.ts';
import { zonePart } from '../../../domain/node-template.ts';

/** What decides whether groups may grow. */
export interface GroupStanding {
  readonly state: LoopState;
  readonly nowMs: number;
  /** Groups that this loop has already tried. */
  readonly exclude: ReadonlySet<NodeGroupId>;
  /** Groups in which most nodes are not ready, and how many. */
  readonly unhealthy: ReadonlyMap<NodeGroupId, string>;
}

/** Reasons that forbid any increase, even to the minimum size. */
export function reasonAgainstAnyIncrease(group: NodeGroup, { state, nowMs, exclude }: GroupStanding): SkipReason | undefined {
  if (group.frozen !== undefined) return { kind: 'frozen', detail: group.frozen };
  if (group.growthHeld !== undefined) return { kind: 'frozen', detail: group.growthHeld };
  if (exclude.has(group.id)) return { kind: 'frozen', detail: 'already tried in this loop' };
  if (!group.target.known) return { kind: 'target-unknown', detail: group.target.reason };
  const backoff = state.backoffs.get(group.id);
  if (backoff !== undefined && backoff.untilMs > nowMs) {
    const { untilMs, cause, message, correlationId } = backoff;
    return { kind: 'backoff', untilMs, cause, ...defined({ message, correlationId }) };
  }
  const stockout = findStockout(group, state, nowMs);
  return stockout === undefined ? undefined : { kind: 'stockout', untilMs: stockout.untilMs, code: stockout.code };
}

/**
 * The same reasons, and those that only allow an increase to the minimum size: an unhealthy group, or no room to grow.
 * `size` is the target size with what this plan has added.
 */
export function reasonAgainstIncrease(
  group: NodeGroup,
  standing: GroupStanding,
  size: number,
  ramp: IncreaseCeiling,
): SkipReason | undefined {
  const reason = reasonAgainstAnyIncrease(group, standing);
  if (reason !== undefined) return reason;
  const unhealthy = standing.unhealthy.get(group.id);
  if (unhealthy !== undefined) return { kind: 'unhealthy', detail: unhealthy };
  if (size >= group.maxSize) return maximumReason(group);
  if (group.template === undefined) return { kind: 'no-template' };
  return size >= ramp.ceiling ? ramp.reason : undefined;
}

/** The reason of a group at its maximum size. */
export function maximumReason({ maxSize: max, poolLimit: limit }: Pick<NodeGroup, 'maxSize' | 'poolLimit'>): SkipReason {
  return limit === undefined ? { kind: 'max-size', max } : { kind: 'pool-limit', limit, max };
}

/** Zones of the group, by their last part, in which Azure has reported a stockout. */
export function outOfStockZones(group: NodeGroup, { state, nowMs }: GroupStanding): ReadonlySet<string> {
  const zonal = liveStockouts(group, state, nowMs).flatMap(({ scope }) => (scope.zone === undefined ? [] : [zonePart(scope.zone)]));
  return new Set(zonal);
}

/** A stockout in one zone closes the group only if it has no other zone. */
function findStockout(group: NodeGroup, state: LoopState, nowMs: number): Stockout | undefined {
  const live = liveStockouts(group, state, nowMs);
  const everywhere = live.find(({ scope }) => scope.zone === undefined);
  if (everywhere !== undefined) return everywhere;
  const zones = (group.template?.zones ?? group.zones).map(zonePart);
  const closing = zones.map((zone) => live.find(({ scope }) => scope.zone !== undefined && zonePart(scope.zone) === zone));
  return closing.every((stockout) => stockout !== undefined) ? closing[0] : undefined;
}

function liveStockouts(group: NodeGroup, state: LoopState, nowMs: number): readonly Stockout[] {
  return state.stockouts.filter((lack) => isClosedFor(lack, group, nowMs));
}
