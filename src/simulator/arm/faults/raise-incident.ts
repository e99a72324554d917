/** Turns a number of the catalogue into what it stands for, and back. */
import { INCIDENT_CATALOGUE, type PlatformIncident, type IncidentTarget } from './incident-catalogue.ts';
import type { WorldEvent } from './world-event.ts';
import type { Fault, FaultMatch } from '../state/fault-rules.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { stockKey, usages } from '../state/stock-and-quota.ts';
import type { ArmWorld } from '../state/arm-state.ts';

export interface IncidentRequest {
  readonly number: number;
  /** By which it is removed again. */
  readonly id: string;
  /** Joined with the match of the number's own faults; `pool` names the victim. Default: the first pool that it can befall. */
  readonly match?: FaultMatch;
}

export interface IncidentDeps {
  readonly world: ArmWorld;
  readonly addFault: (fault: Fault) => void;
  readonly removeFault: (id: string) => void;
  readonly raise: (event: WorldEvent) => string | undefined;
}

/** Ends what was raised; an event cannot be taken back. Text says what was wrong with the order. */
export function raiseIncident(parts: IncidentDeps, { number, id, match = {} }: IncidentRequest): string | (() => void) {
  const entry = INCIDENT_CATALOGUE.get(number);
  if (entry === undefined) return `the catalogue has no number ${number}; it goes from 1 to ${Math.max(...INCIDENT_CATALOGUE.keys())}`;
  const victim = victimOf(parts.world, number, match.pool);
  if (victim === undefined) return match.pool === undefined ? 'there is no pool that it could befall' : `there is no pool "${match.pool}"`;
  const misfortune = entry.make(victim);
  if ('event' in misfortune) return parts.raise(misfortune.event) ?? (() => undefined);
  if ('faults' in misfortune) return raiseFaults(parts, misfortune, { id, match });
  return changeWorld(parts.world, misfortune, victim);
}

const SPOT_NUMBERS: ReadonlySet<number> = new Set([3, 43, 44, 45]);

function victimOf({ agentPools, spec }: ArmWorld, number: number, named: string | undefined): IncidentTarget | undefined {
  const pools = [...agentPools.values()];
  const users = pools.filter((pool) => pool.spec.mode !== 'System');
  const fitting = users.find((pool) => !SPOT_NUMBERS.has(number) || pool.spec.priority === 'Spot') ?? users[0];
  const pool = named === undefined ? fitting : agentPools.get(named.toLowerCase());
  if (pool === undefined) return undefined;
  const subnet = `/subscriptions/${spec.subscriptionId}/resourceGroups/${spec.nodeResourceGroup}/providers/Microsoft.Network/virtualNetworks/aks-vnet/subnets/aks-subnet`;
  return { pool: pool.name, vmSize: pool.spec.vmSize, zone: pool.spec.zones?.[0], subnet, location: spec.location };
}

/** Whether what the fault matches belongs to one pool. */
function isOfPool({ match, effect }: Pick<Fault, 'match' | 'effect'>): boolean {
  if (effect.kind === 'birth' || effect.kind === 'removal') return true;
  return /virtualMachineScaleSets\/\*|agentPools\/\*/.test(match.pathGlob ?? '');
}

function raiseFaults(
  parts: IncidentDeps,
  { faults }: Extract<PlatformIncident, { readonly faults: unknown }>,
  { id, match }: { readonly id: string; readonly match: FaultMatch },
): () => void {
  const { pool, ...rest } = match;
  const ids = faults.map((fault, index) => {
    const own = index === 0 ? id : `${id}/${index}`;
    parts.addFault({ ...fault, id: own, match: { ...fault.match, ...rest, ...(pool !== undefined && isOfPool(fault) ? { pool } : {}) } });
    return own;
  });
  return () => {
    for (const own of ids) parts.removeFault(own);
  };
}

/** Quota, stock and offers: what Azure has, not what it says. */
function changeWorld(
  world: ArmWorld,
  change: Exclude<PlatformIncident, { readonly faults: unknown } | { readonly event: unknown }>,
  { vmSize, zone }: IncidentTarget,
): () => void {
  if ('restrict' in change) return replace(world.restricted, vmSize.toLowerCase(), change.restrict);
  if ('stock' in change) return replace(world.stock, stockKey(vmSize, zone), change.stock);
  const name = change.quota === 'family' ? (findVmSize(vmSize)?.family ?? '') : change.quota;
  const used = usages(world).find((usage) => usage.name === name)?.current ?? 0;
  return replace(world.quota, name.toLowerCase(), used);
}

/** By map and key, from what was there before to what came last: misfortunes overlap, and end in another order than they came. */
const layers = new WeakMap<object, Map<unknown, (() => void)[]>>();

/** Ends with what another that still lasts says, or with what was there before all of them. */
function replace<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): () => void {
  const before = map.get(key);
  const keys = layers.get(map) ?? new Map<unknown, (() => void)[]>();
  layers.set(map, keys);
  const own = keys.get(key) ?? [() => (before === undefined ? map.delete(key) : map.set(key, before))];
  keys.set(key, own);
  const put = (): void => void map.set(key, value);
  own.push(put);
  put();
  return () => {
    const at = own.indexOf(put);
    if (at < 0) return;
    own.splice(at, 1);
    own.at(-1)?.();
    if (own.length === 1) keys.delete(key);
  };
}
