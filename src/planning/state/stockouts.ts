/**
 * Lack of capacity that Azure reported: which groups it affects, and how it is probed. While a stockout lasts, affected groups do not
 * grow. Then it is half-open: an affected group requests one node, and more only after that node came. After 15 minutes without a probe it
 * is forgotten.
 * Idea: closure.
 */
import type { LoopState, Stockout } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { zonePart } from '../../domain/node-template.ts';
import { phaseOf } from '../../lib/closure.ts';

const HALF_OPEN_MS = 15 * 60_000;
/** Larger sizes are only suspected to be out of capacity: they are probed after this time, even if the smaller size is refused again. */
const SUSPECT_MS = 5 * 60_000;

type StockoutSubject = Pick<NodeGroup, 'vmSize' | 'priority' | 'sizeFamily' | 'zones' | 'template'>;

/** Whether the group cannot grow, at least in the stockout's zone if it has one. */
export function isClosedFor(lack: Stockout, group: StockoutSubject, nowMs: number): boolean {
  return isAffected(lack, group) && nowMs < closedUntilMs(lack, group);
}

/** The stockout that leaves the group no zone to grow in. */
export function closingStockout(group: NodeGroup, stockouts: LoopState['stockouts'], nowMs: number): Stockout | undefined {
  const live = stockouts.filter((lack) => isClosedFor(lack, group, nowMs));
  const everywhere = live.find(({ scope }) => scope.zone === undefined);
  if (everywhere !== undefined) return everywhere;
  const zones = (group.template?.zones ?? group.zones).map(zonePart);
  const closing = zones.map((zone) => live.find(({ scope }) => scope.zone !== undefined && zonePart(scope.zone) === zone));
  return closing.every((stockout) => stockout !== undefined) ? closing[0] : undefined;
}

/** Zones of the group, by their last part, in which Azure has reported a stockout. */
export function outOfStockZones(group: NodeGroup, stockouts: LoopState['stockouts'], nowMs: number): ReadonlySet<string> {
  const live = stockouts.filter((lack) => isClosedFor(lack, group, nowMs));
  return new Set(live.flatMap(({ scope }) => (scope.zone === undefined ? [] : [zonePart(scope.zone)])));
}

/** Whether a plan still needs the stockout: it lasts, or it is half-open. */
export function isStillRelevant(lack: Pick<Stockout, 'untilMs'>, nowMs: number): boolean {
  return phaseOf(lack, HALF_OPEN_MS, nowMs) !== 'over';
}

/** Why the group probes with one node whether a stockout is over. */
export function probingReason(group: NodeGroup, { stockouts }: Pick<LoopState, 'stockouts'>, nowMs: number): SkipReason | undefined {
  const open = stockouts.find((lack) => isHalfOpenFor(lack, group, nowMs));
  return open === undefined ? undefined : { kind: 'probing', code: open.code };
}

/** Removes half-open stockouts that a new node disproved. A node of a larger size disproves the stockout for larger sizes only. */
export function withoutDisproved(stockouts: readonly Stockout[], came: readonly StockoutSubject[], nowMs: number): readonly Stockout[] {
  if (came.length === 0) return stockouts;
  return stockouts.flatMap((lack) => {
    const proof = came.filter((group) => isHalfOpenFor(lack, group, nowMs));
    if (proof.some((group) => isSameSize(lack, group))) return [];
    const { family: _family, ...itself } = lack.scope;
    return proof.length === 0 ? [lack] : [{ ...lack, scope: itself }];
  });
}

/** Whether a node of the group counts against a quota, by the quota's folded name. */
export function drawsOn(group: Pick<NodeGroup, 'template'> | undefined, quota: string): boolean {
  return group?.template?.draws?.some((draw) => draw.quota === quota) === true;
}

function isAffected(lack: Stockout, group: StockoutSubject): boolean {
  const { priority, family, quota } = lack.scope;
  if (quota !== undefined) return drawsOn(group, quota);
  if (priority !== undefined && priority !== group.priority) return false;
  if (isSameSize(lack, group)) return true;
  // If a size is out of capacity, larger sizes of the same hardware probably are, too.
  return family !== undefined && group.sizeFamily?.name === family.name && group.sizeFamily.vcpus >= family.vcpus;
}

function isSameSize({ scope: { vmSize } }: Stockout, group: StockoutSubject): boolean {
  return vmSize === undefined || vmSize.toLowerCase() === group.vmSize.toLowerCase();
}

function closedUntilMs(lack: Stockout, group: StockoutSubject): number {
  return isSameSize(lack, group) ? lack.untilMs : Math.min(lack.untilMs, lack.sinceMs + SUSPECT_MS);
}

/** Only if the stockout affects every zone of the group: else the group grows in its other zones. */
function isHalfOpenFor(lack: Stockout, group: StockoutSubject, nowMs: number): boolean {
  if (!isAffected(lack, group) || nowMs < closedUntilMs(lack, group) || !isStillRelevant(lack, nowMs)) return false;
  const { zone } = lack.scope;
  const zones = group.template?.zones ?? group.zones;
  return zone === undefined || (zones.length > 0 && zones.every((each) => zonePart(each) === zonePart(zone)));
}
