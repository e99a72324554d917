/** Raises an incident of the catalogue, and ends it. */
import { possibleZones } from '../../base/world-spec.ts';
import { INCIDENT_CATALOGUE, type PlatformIncident, type IncidentTarget } from './incident-catalogue.ts';
import type { WorldEvent } from './world-event.ts';
import type { Fault, FaultMatch } from '../state/fault-rules.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { stockKey, usages } from '../state/stock-and-quota.ts';
import { subnetId } from '../state/subnet-addresses.ts';
import type { ArmWorld } from '../state/arm-state.ts';

export interface IncidentRequest {
  readonly number: number;
  /** The name for its removal. */
  readonly id: string;
  /**
   * Combined with the match of the incident's own faults. `pool` names the target. Default: the first pool that the incident
   * applies to.
   */
  readonly match?: FaultMatch;
}

export interface IncidentDeps {
  readonly world: ArmWorld;
  readonly addFault: (fault: Fault) => void;
  readonly removeFault: (id: string) => void;
  readonly raise: (event: WorldEvent) => string | undefined;
}

/** Returns a function that ends the incident; an event cannot be undone. A text result describes what is wrong with the request. */
export function raiseIncident(deps: IncidentDeps, { number, id, match = {} }: IncidentRequest): string | (() => void) {
  const entry = INCIDENT_CATALOGUE.get(number);
  if (entry === undefined) return `the catalogue has no incident ${number}; its numbers are 1 to ${Math.max(...INCIDENT_CATALOGUE.keys())}`;
  const target = targetOf(deps.world, number, match.pool);
  if (target === undefined)
    return match.pool === undefined ? 'no pool is suitable for this incident' : `pool "${match.pool}" does not exist`;
  const incident = entry.make(target);
  if ('event' in incident) return deps.raise(incident.event) ?? (() => undefined);
  if ('faults' in incident) return raiseFaults(deps, incident, { id, match });
  return changeWorld(deps.world, incident, target);
}

const SPOT_NUMBERS: ReadonlySet<number> = new Set([3, 43, 44, 45]);

function targetOf({ agentPools, spec }: ArmWorld, number: number, named: string | undefined): IncidentTarget | undefined {
  const pools = [...agentPools.values()];
  const users = pools.filter((pool) => pool.spec.mode !== 'System');
  const fitting = users.find((pool) => !SPOT_NUMBERS.has(number) || pool.spec.priority === 'Spot') ?? users[0];
  const pool = named === undefined ? fitting : agentPools.get(named.toLowerCase());
  if (pool === undefined) return undefined;
  return { pool: pool.name, vmSize: pool.spec.vmSize, zone: possibleZones(pool.spec)[0], subnet: subnetId(spec), location: spec.location };
}

/** Whether the fault matches requests of a single pool. */
function isOfPool({ match, effect }: Pick<Fault, 'match' | 'effect'>): boolean {
  if (effect.kind === 'birth' || effect.kind === 'removal') return true;
  return /virtualMachineScaleSets\/\*|agentPools\/\*/.test(match.pathGlob ?? '');
}

function raiseFaults(
  deps: IncidentDeps,
  { faults }: Extract<PlatformIncident, { readonly faults: unknown }>,
  { id, match }: { readonly id: string; readonly match: FaultMatch },
): () => void {
  const { pool, ...rest } = match;
  const ids = faults.map((fault, index) => {
    const own = index === 0 ? id : `${id}/${index}`;
    deps.addFault({ ...fault, id: own, match: { ...fault.match, ...rest, ...(pool !== undefined && isOfPool(fault) ? { pool } : {}) } });
    return own;
  });
  return () => {
    for (const own of ids) deps.removeFault(own);
  };
}

/** Changes quota, stock and restrictions: what Azure offers. */
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

/** The overlapping changes by map and key. Their ends may come in another order than their starts. */
const layers = new WeakMap<object, Map<unknown, (() => void)[]>>();

/** Sets the key. The returned function restores the value of the last other change that is still active, or the original value. */
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
