/**
 * A world in a file: the differences from a named world. Everything is checked before the start. An error is one sentence with
 * the place of the problem.
 */
import { AutoscalerError } from '../../src/lib/errors.ts';
import { type BackgroundActorOptions, parseBackgroundActorOptions } from './arm/faults/background-actors.ts';
import { isJsonObject, type Json, type JsonObject } from './arm/http/json.ts';
import { DEFAULT_LATENCIES, type ArmLatencies } from './arm/state/latencies.ts';
import type { PoolSpec, WorldSpec } from './base/world-spec.ts';
import { defined } from '../../src/lib/defined.ts';

export interface WorldFile {
  /** Each given key replaces that of the named world. */
  readonly spec: Partial<Pick<WorldSpec, 'pools' | 'stock' | 'quota' | 'subnetPrefix' | 'addressesPerNode'>>;
  readonly knobs: Partial<ArmLatencies>;
  readonly ambient: BackgroundActorOptions;
}

const KEYS = ['pools', 'stock', 'quota', 'subnetPrefix', 'addressesPerNode', 'knobs', 'ambient'];

/** @throws AutoscalerError of kind `config` with the problem. */
export function parseWorldFile(document: Json | undefined): WorldFile {
  const whole = objectAt('the world file', document ?? {}, KEYS);
  const { pools, stock, quota } = whole;
  const ambient = parseBackgroundActorOptions(whole['ambient'] ?? {});
  if (typeof ambient === 'string') throw worldFileError(`ambient: ${ambient}`);
  return {
    spec: {
      ...(pools === undefined ? {} : { pools: poolsOf(pools) }),
      ...(stock === undefined ? {} : { stock: countsOf('stock', stock) }),
      ...(quota === undefined ? {} : { quota: countsOf('quota', quota) }),
      ...subnetOf(whole['subnetPrefix'], whole['addressesPerNode']),
    },
    knobs: knobsOf(whole['knobs'] ?? {}),
    ambient,
  };
}

function worldFileError(sentence: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, `The world is invalid: ${sentence}.`);
}

function objectAt(place: string, value: Json | undefined, known: readonly string[] | undefined): JsonObject {
  if (!isJsonObject(value)) throw worldFileError(`${place} must be an object`);
  const unknown = known === undefined ? undefined : Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw worldFileError(`${place} has no setting "${unknown}"; it has ${(known ?? []).join(', ')}`);
  return value;
}

function subnetOf(subnetPrefix: Json | undefined, addressesPerNode: Json | undefined): WorldFile['spec'] {
  if (subnetPrefix !== undefined && !isPrefix(subnetPrefix))
    throw worldFileError('subnetPrefix must be like 10.224.0.0/16, from /8 to /29');
  if (addressesPerNode !== undefined && (!isCount(addressesPerNode) || addressesPerNode === 0))
    throw worldFileError('addressesPerNode must be a whole number from 1');
  return defined({ subnetPrefix, addressesPerNode });
}

function isPrefix(value: Json): value is string {
  return typeof value === 'string' && /^(\d{1,3}\.){3}\d{1,3}\/([89]|1\d|2\d)$/.test(value);
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function countsOf(place: string, value: Json): Readonly<Record<string, number>> {
  const counts = objectAt(place, value, undefined);
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => {
      if (!isCount(count)) throw worldFileError(`${place}.${name} must be a whole number`);
      return [name, count];
    }),
  );
}

/** World files have no capacity reservation groups, which pools could name. */
type FileSetting = Exclude<keyof PoolSpec, 'name' | 'vmSize' | 'count' | 'min' | 'max' | 'capacityReservationGroup'>;

/** The checks of a pool's optional settings by name. */
const POOL_KEYS: Readonly<Record<FileSetting, (value: Json) => boolean>> = {
  kind: oneOf('vmss-uniform', 'vmss-flexible', 'vms-pool'),
  sizes: (value) =>
    Array.isArray(value) && value.every((size) => isJsonObject(size) && typeof size['vmSize'] === 'string' && isCount(size['count'])),
  zones: isTexts,
  priority: oneOf('Regular', 'Spot'),
  evictionPolicy: oneOf('Delete', 'Deallocate'),
  scaleDownMode: oneOf('Delete', 'Deallocate'),
  machineStops: oneOf('left-out', 'counted', 'deleted'),
  overprovision: isFlag,
  mode: oneOf('System', 'User'),
  managedAutoscaler: isFlag,
  labels: isTextMap,
  taints: isTexts,
  tags: isTextMap,
};

function oneOf(...accepted: readonly string[]): (value: Json) => boolean {
  return (value) => typeof value === 'string' && accepted.includes(value);
}

function isTexts(value: Json): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isFlag(value: Json): boolean {
  return typeof value === 'boolean';
}

function isTextMap(value: Json): boolean {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

function poolsOf(value: Json): readonly PoolSpec[] {
  if (!Array.isArray(value)) throw worldFileError('pools must be a list');
  return value.map((entry: Json, index) => poolOf(`pools[${index}]`, entry));
}

function poolOf(place: string, entry: Json): PoolSpec {
  const pool = objectAt(place, entry, ['name', 'vmSize', 'count', 'min', 'max', ...Object.keys(POOL_KEYS)]);
  for (const key of ['name', 'vmSize']) if (typeof pool[key] !== 'string') throw worldFileError(`${place}.${key} must be a string`);
  for (const key of ['count', 'min', 'max']) if (!isCount(pool[key])) throw worldFileError(`${place}.${key} must be a whole number`);
  for (const [key, isRight] of Object.entries(POOL_KEYS)) {
    const given = pool[key];
    if (given !== undefined && !isRight(given)) throw worldFileError(`${place}.${key} is ${JSON.stringify(given)}, which is not accepted`);
  }
  return pool as JsonObject & PoolSpec;
}

/** Each latency setting has the type of its default. */
function knobsOf(value: Json): Partial<ArmLatencies> {
  const given = objectAt('knobs', value, Object.keys(DEFAULT_LATENCIES));
  for (const [name, usual] of Object.entries(DEFAULT_LATENCIES)) {
    const knob = given[name];
    if (knob === undefined) continue;
    const place = `knobs.${name}`;
    if (typeof usual !== 'object') checkScalar(place, knob, usual);
    else for (const key of Object.keys(usual)) checkScalar(`${place}.${key}`, objectAt(place, knob, Object.keys(usual))[key], 0);
  }
  return given;
}

function checkScalar(place: string, value: Json | undefined, usual: number | boolean): void {
  if (typeof usual === 'boolean' ? typeof value === 'boolean' : typeof value === 'number' && value >= 0) return;
  throw worldFileError(`${place} must be ${typeof usual === 'boolean' ? 'true or false' : 'a number that is at least 0'}`);
}
