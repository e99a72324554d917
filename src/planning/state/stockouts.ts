/**
 * Lacks of stock that Azure told of: whom they concern, and how they are tried out again. While one lasts nobody asks for what
 * it is about. When its time is over it is half open: a group that it concerns asks for one node, and for more only once that
 * one came. What nobody tried within a quarter of an hour is forgotten.
 */
import type { LoopState, Stockout } from '../../domain/loop-state.ts';
import { isWhole, type NodeGroup } from '../../domain/node-group.ts';
import type { IncreaseCeiling } from './increase-rate.ts';
import { zonePart } from '../../domain/node-template.ts';

const HALF_OPEN_MS = 15 * 60_000;
/** Larger sizes are closed on suspicion only: however often the smaller one is refused again, they are tried after this. */
const SUSPECT_MS = 5 * 60_000;

type StockoutSubject = Pick<NodeGroup, 'vmSize' | 'priority' | 'sizeFamily' | 'zones' | 'template'>;

/** Whether nodes of the group may not be asked for, at least in the zone of the lack if it has one. */
export function isClosedFor(lack: Stockout, group: StockoutSubject, nowMs: number): boolean {
  return isAffected(lack, group) && nowMs < closedUntilMs(lack, group);
}

/** Still of use to a plan: lasting, or half open. */
export function isStillRelevant({ untilMs }: Pick<Stockout, 'untilMs'>, nowMs: number): boolean {
  return untilMs + HALF_OPEN_MS > nowMs;
}

/** How far a group may grow that is to find out whether a lack is over. A group of use only as a whole cannot ask for a part. */
export function probeCeiling(group: NodeGroup, state: Pick<LoopState, 'stockouts' | 'increases'>, nowMs: number): IncreaseCeiling {
  const free: IncreaseCeiling = { ceiling: group.maxSize, reason: undefined };
  if (isWhole(group) || !group.target.known) return free;
  const open = state.stockouts.find((lack) => isHalfOpenFor(lack, group, nowMs));
  if (open === undefined) return free;
  const ceiling = group.target.value + (state.increases.has(group.id) ? 0 : 1);
  return ceiling >= group.maxSize ? free : { ceiling, reason: { kind: 'probing', code: open.code } };
}

/** A node that a half-open lack is about came: it is over, or, when the node was of a larger size, over for those. */
export function withoutDisproved(stockouts: readonly Stockout[], came: readonly StockoutSubject[], nowMs: number): readonly Stockout[] {
  if (came.length === 0) return stockouts;
  return stockouts.flatMap((lack) => {
    const proof = came.filter((group) => isHalfOpenFor(lack, group, nowMs));
    if (proof.some((group) => isSameSize(lack, group))) return [];
    const { family: _family, ...itself } = lack.scope;
    return proof.length === 0 ? [lack] : [{ ...lack, scope: itself }];
  });
}

/** Whether a node of the group takes of a quota, by its folded name. */
export function drawsOn(group: Pick<NodeGroup, 'template'> | undefined, quota: string): boolean {
  return group?.template?.draws?.some((draw) => draw.quota === quota) === true;
}

function isAffected(lack: Stockout, group: StockoutSubject): boolean {
  const { priority, family, quota } = lack.scope;
  if (quota !== undefined) return drawsOn(group, quota);
  if (priority !== undefined && priority !== group.priority) return false;
  if (isSameSize(lack, group)) return true;
  // Where a size is sold out, larger ones of the same hardware probably are too.
  return family !== undefined && group.sizeFamily?.name === family.name && group.sizeFamily.vcpus >= family.vcpus;
}

function isSameSize({ scope: { vmSize } }: Stockout, group: StockoutSubject): boolean {
  return vmSize === undefined || vmSize.toLowerCase() === group.vmSize.toLowerCase();
}

function closedUntilMs(lack: Stockout, group: StockoutSubject): number {
  return isSameSize(lack, group) ? lack.untilMs : Math.min(lack.untilMs, lack.sinceMs + SUSPECT_MS);
}

/** Only a lack that would concern every node of the group: one that has other zones goes on there. */
function isHalfOpenFor(lack: Stockout, group: StockoutSubject, nowMs: number): boolean {
  if (!isAffected(lack, group) || nowMs < closedUntilMs(lack, group) || !isStillRelevant(lack, nowMs)) return false;
  const { zone } = lack.scope;
  const zones = group.template?.zones ?? group.zones;
  return zone === undefined || (zones.length > 0 && zones.every((each) => zonePart(each) === zonePart(zone)));
}
