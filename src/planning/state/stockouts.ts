/**
 * Lack of capacity that Azure reported, or showed by a wave of evictions: which groups it affects, and how it is probed. While a stockout lasts, affected groups do not
 * grow. Then it is half-open: an affected group requests one node, and more only after that node came. After 15 minutes without a probe it
 * is forgotten.
 * Idea: closure.
 */
import type { Eviction, LoopState, Stockout } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { zonePart } from '../../domain/node-template.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import { nextDurationMs, phaseOf } from '../../lib/closure.ts';
import { defined } from '../../lib/defined.ts';
import type { StockScope } from '../../lib/errors.ts';
import { preemptedNodes } from './node-counts.ts';

const HALF_OPEN_MS = 15 * 60_000;
/** Larger sizes are only suspected to be out of capacity: they are probed after this time, even if the smaller size is refused again. */
const SUSPECT_MS = 5 * 60_000;

/** What is announced within this time is one wave. */
const WAVE_MS = 10 * 60_000;
const TIMES = { firstMs: 5 * 60_000, longestMs: 30 * 60_000 };
const ZONE_LABEL = 'topology.kubernetes.io/zone';
/** The cause of such a stockout, where Azure's code stands otherwise. */
export const EVICTION_WAVE = 'SpotEvictions';

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
  return group?.template?.draws.some((draw) => draw.quota === quota) === true;
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

/** A later, weaker signal never shortens an earlier stockout. */
export function withStockout(known: readonly Stockout[], added: Stockout | undefined): readonly Stockout[] {
  if (added === undefined) return known;
  const same = known.find((entry) => sameScope(entry.scope, added.scope));
  if (same === undefined) return [...known, added];
  const merged = { ...(added.untilMs >= same.untilMs ? added : same), sinceMs: same.sinceMs };
  return known.map((entry) => (entry === same ? merged : entry));
}

function sameScope(left: StockScope, right: StockScope): boolean {
  if (left.quota !== right.quota) return false;
  const alike = left.vmSize === right.vmSize && left.zone === right.zone && left.priority === right.priority;
  return alike && left.family?.name === right.family?.name && left.family?.vcpus === right.family?.vcpus;
}

// Waves of evictions of Spot nodes are evidence that a size has no stock in a zone: a new node there would hardly live longer.

/** Takes in announced evictions. Returns the state itself if waves are not heeded, or nothing is new. */
export function noteEvictions(state: LoopState, observation: Observation, { spotEvictionWave: wave }: ScaleUpPolicy): LoopState {
  if (wave === 0) return state.evictions.size === 0 ? state : { ...state, evictions: new Map() };
  const { nowMs } = observation;
  const fresh = newEvictions(state, observation);
  const kept = [...state.evictions].filter(([, { sinceMs }]) => nowMs - sinceMs < WAVE_MS);
  if (fresh.length === 0 && kept.length === state.evictions.size) return state;
  const evictions = new Map([...kept, ...fresh]);
  const stockouts = fresh.reduce((known, [, eviction]) => {
    const count = [...evictions.values()].filter((other) => isAlike(other, eviction)).length;
    // guard: fewer evictions than the configured wave close nothing
    return count < wave ? known : withStockout(known, stockoutOf(known, eviction, nowMs));
  }, state.stockouts);
  return { ...state, evictions, stockouts };
}

/** Of managed Spot groups, by the uid of the node. */
function newEvictions({ evictions }: LoopState, observation: Observation): readonly (readonly [string, Eviction])[] {
  const { cluster, cloud, nowMs } = observation;
  return preemptedNodes(observation).flatMap((name): readonly (readonly [string, Eviction])[] => {
    const node = cluster.nodes.get(name);
    const group = cloud.groups.find(({ id }) => id === cloud.groupOfNode.get(name));
    if (node === undefined || group?.priority !== 'Spot' || evictions.has(node.uid)) return [];
    // The label of a node outside of zones names a fault domain.
    const label = group.zones.length === 0 ? undefined : node.labels[ZONE_LABEL];
    return [[node.uid, { vmSize: group.vmSize, zone: label === undefined ? undefined : zonePart(label), sinceMs: nowMs }]];
  });
}

function isAlike(left: Eviction, right: Eviction): boolean {
  return left.vmSize.toLowerCase() === right.vmSize.toLowerCase() && left.zone === right.zone;
}

/** A wave while an earlier one is probed closes for twice as long; one that goes on, from its last eviction. */
function stockoutOf(known: readonly Stockout[], { vmSize, zone }: Eviction, nowMs: number): Stockout {
  const before = known.find(
    ({ code, scope }) => code === EVICTION_WAVE && scope.zone === zone && scope.vmSize?.toLowerCase() === vmSize.toLowerCase(),
  );
  const probed = before === undefined || nowMs < before.untilMs ? undefined : { durationMs: before.untilMs - before.sinceMs };
  const untilMs = nowMs + nextDurationMs(TIMES, probed);
  return { scope: { vmSize, ...defined({ zone }), priority: 'Spot' }, code: EVICTION_WAVE, sinceMs: nowMs, untilMs };
}
