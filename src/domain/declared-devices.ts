/**
 * Devices that a user declares for the nodes of a pool, since no node has shown any yet. They are written like the devices of a ResourceSlice, in
 * the configuration or in a tag. Must not know where.
 */
import {
  byDomain,
  dividedCapacity,
  type AttributeValue,
  type Device,
  type DevicePool,
  type DividedCapacity,
  type WrittenPolicy,
} from './devices.ts';
import { parseQuantity, quantityText } from './quantity.ts';
import type { Taint } from './taints.ts';
import { compareBy } from '../lib/comparison.ts';
import { AutoscalerError, configError } from '../lib/errors.ts';

/** The driver is in the name of a tag, so an entry may lack it there. */
export const DECLARED_FORM =
  'devices such as {driver: gpu.nvidia.com, count: 4, attributes: {type: gpu}, capacity: {memory: 80Gi}}, with the values that a ResourceSlice has';

const KEYS: ReadonlySet<string> = new Set(['driver', 'count', 'attributes', 'capacity', 'taints', 'allowMultipleAllocations']);
/** The API's limit of devices in a slice. */
const MOST_DEVICES = 128;

type ReadDevices = { readonly ok: true; readonly pools: readonly DevicePool[] } | { readonly ok: false; readonly problem: string };
type Fields = Readonly<Record<string, unknown>>;

/**
 * The devices as a driver would publish them: one pool for each driver. @param driver of entries without one. The first problem is a part of a
 * sentence.
 */
export function readDeclaredDevices(written: unknown, driver?: string): ReadDevices {
  try {
    const entries: readonly unknown[] = Array.isArray(written) ? written : [written];
    const devices = entries.flatMap((entry) => devicesOf(entry, driver));
    const byDriver = Map.groupBy(devices, (device) => device.driver);
    const pools = [...byDriver].map(([name, members]): DevicePool => {
      if (members.length > MOST_DEVICES) throw configError(`${members.length} devices of ${name}: the most are ${MOST_DEVICES}`);
      return { driver: name, name: POOL, devices: members.map((device, at) => ({ ...device, name: `${POOL}-${at}` })), counters: {} };
    });
    return { ok: true, pools: pools.sort(compareBy(({ driver: name }) => name)) };
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return { ok: false, problem: thrown.message };
    throw thrown;
  }
}

const POOL = 'declared';

function devicesOf(entry: unknown, ofTag: string | undefined): readonly Device[] {
  const fields = fieldsOf(entry, 'an entry');
  const strange = Object.keys(fields).find((key) => !KEYS.has(key));
  if (strange !== undefined) throw configError(`"${strange}" is unknown; accepted are ${[...KEYS].join(', ')}`);
  const { driver = ofTag, count = 1, attributes = {}, capacity = {}, taints = [], allowMultipleAllocations = false } = fields;
  if (typeof driver !== 'string' || driver === '') throw configError('an entry has no driver');
  if (!Array.isArray(taints)) throw configError('taints is not a list');
  if (typeof allowMultipleAllocations !== 'boolean') throw configError('allowMultipleAllocations is neither true nor false');
  const device: Device = {
    driver,
    pool: POOL,
    name: POOL,
    attributes: byDomain(driver, Object.entries(fieldsOf(attributes, 'attributes')).map(attributeOf)),
    capacity: byDomain(driver, Object.entries(fieldsOf(capacity, 'capacity')).map(quantityOf)),
    taints: (taints as readonly unknown[]).map(taintOf),
    consumes: [],
    ...(allowMultipleAllocations ? { isDivided: true, divided: dividedOf(fieldsOf(capacity, 'capacity')) } : {}),
  };
  return Array.from({ length: countOf(count) }, () => device);
}

function countOf(written: unknown): number {
  const count = Number(written);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_DEVICES) return count;
  throw configError(`count is ${JSON.stringify(written)}; it must be a whole number from 1 to ${MOST_DEVICES}`);
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw configError(`${what} is not a map`);
  return value as Fields;
}

const ATTRIBUTES: Readonly<Record<string, (value: unknown) => AttributeValue | undefined>> = {
  string: (value) => (typeof value === 'string' ? value : undefined),
  int: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  bool: (value) => (typeof value === 'boolean' ? value : undefined),
  version: (value) => (typeof value === 'string' ? { version: value } : undefined),
};

/** `4`, or as in a slice `{int: 4}`. A version is always written `{version: 1.2.3}`, since it differs from a text. */
function attributeOf([name, value]: readonly [string, unknown]): readonly [string, AttributeValue] {
  const isPlain = typeof value !== 'object' || value === null;
  const kinds = isPlain ? ['string', 'int', 'bool'].map((kind) => [kind, value] as const) : Object.entries(fieldsOf(value, name));
  const [found, ...others] = kinds.flatMap(([kind, inner]) => ATTRIBUTES[kind]?.(inner) ?? []);
  if (found !== undefined && others.length === 0 && (isPlain || kinds.length === 1)) return [name, found];
  throw configError(`attribute ${name} is ${JSON.stringify(value)}; it must be a text, a whole number, true, false or {version: 1.2.3}`);
}

/** `80Gi`, or as in a slice `{value: 80Gi}`. */
function quantityOf([name, value]: readonly [string, unknown]): readonly [string, number] {
  const plain = typeof value === 'object' && value !== null ? fieldsOf(value, name)['value'] : value;
  try {
    if (typeof plain === 'string' || typeof plain === 'number') return [name, parseQuantity(plain)];
  } catch (thrown) {
    if (!(thrown instanceof AutoscalerError)) throw thrown;
  }
  throw configError(`capacity ${name} is ${JSON.stringify(value)}; it must be a quantity such as 80Gi`);
}

function dividedOf(capacity: Fields): NonNullable<Device['divided']> {
  return Object.fromEntries(Object.entries(capacity).map((each) => [each[0], dividedCapacity(quantityOf(each)[1], policyOf(each))]));
}

function policyOf([name, value]: readonly [string, unknown]): WrittenPolicy {
  const policy = typeof value === 'object' && value !== null ? fieldsOf(value, name)['requestPolicy'] : undefined;
  return policy === undefined ? {} : fieldsOf(policy, `requestPolicy of ${name}`);
}

function taintOf(written: unknown): Taint {
  const { key, value = '', effect } = fieldsOf(written, 'a taint');
  const isEffect = effect === 'NoSchedule' || effect === 'NoExecute';
  if (typeof key !== 'string' || typeof value !== 'string' || !isEffect)
    throw configError('a taint must be {key: KEY, value: TEXT, effect: NoSchedule or NoExecute}');
  return { key, value, effect };
}

/** How published devices differ from the declared ones, as a part of a sentence. undefined: they have all that was declared. */
export function describeUndeclared(declared: readonly DevicePool[], published: readonly DevicePool[]): string | undefined {
  for (const { driver, devices } of declared) {
    const real = published.filter((pool) => pool.driver === driver).flatMap((pool) => pool.devices);
    if (real.length !== devices.length) return `${devices.length} devices of ${driver} are declared, and a node publishes ${real.length}`;
    const divides = (all: readonly Device[]): boolean => all.some(({ isDivided }) => isDivided === true);
    if (divides(real) !== divides(devices))
      return `devices of ${driver} are declared ${divides(devices) ? 'with' : 'without'} allowMultipleAllocations, and a node publishes the opposite`;
    for (const [part, of] of PARTS) {
      const shown = new Set(real.flatMap((device) => textsOf(of(device))));
      const missing = devices.flatMap((device) => textsOf(of(device))).find((text) => !shown.has(text));
      if (missing !== undefined) return `the ${part} ${missing} of ${driver} is declared, and no device of a node has it`;
    }
  }
  const strange = published.find(({ driver }) => !declared.some((pool) => pool.driver === driver));
  return strange === undefined ? undefined : `no device of ${strange.driver} is declared, and a node publishes ${strange.devices.length}`;
}

/**
 * What to declare for nodes that publish these devices, in the form that {@link readDeclaredDevices} reads. Of a driver that was declared, the
 * attributes and capacities that were named; of another, those that all its devices share.
 */
export function declarationOf(declared: readonly DevicePool[], published: readonly DevicePool[]): readonly Fields[] {
  const drivers = [...new Set(published.filter(({ devices }) => devices.length > 0).map(({ driver }) => driver))].sort();
  return drivers.flatMap((driver) => {
    const real = published.filter((pool) => pool.driver === driver).flatMap(({ devices }) => devices);
    const known = declared.filter((pool) => pool.driver === driver).flatMap(({ devices }) => devices);
    const alike = Map.groupBy(real, (device) =>
      JSON.stringify(writtenDevice(device, known.length === 0 ? real : known, known.length === 0)),
    );
    return [...alike].map(([text, members]) => ({ driver, count: members.length, ...(JSON.parse(text) as Fields) }));
  });
}

/** Its values under the names of these examples, or under those for which all examples have one value. */
function writtenDevice(device: Device, examples: readonly Device[], onlyCommon: boolean): Fields {
  const named = (of: (one: Device) => Values): readonly (readonly [string, unknown])[] => {
    const texts = examples.map((example) => new Set(textsOf(of(example))));
    const names = new Set(examples.flatMap((example) => namesOf(of(example))));
    return Object.entries(of(device)).flatMap(([domain, values]) =>
      Object.entries(values).flatMap(([name, value]) => {
        const isWritten = onlyCommon ? texts.every((all) => all.has(textOf(domain, name, value))) : names.has(`${domain}/${name}`);
        return isWritten ? [[domain === device.driver ? name : `${domain}/${name}`, value] as const] : [];
      }),
    );
  };
  const [attributes, capacity] = [named(({ attributes: all }) => all), named(({ capacity: all }) => all)];
  const amounts = capacity.map(([name, value]) => [name, writtenCapacity(device.divided?.[name], value as number)] as const);
  return {
    ...(attributes.length === 0 ? {} : { attributes: Object.fromEntries(attributes) }),
    ...(amounts.length === 0 ? {} : { capacity: Object.fromEntries(amounts) }),
    ...(device.isDivided === true ? { allowMultipleAllocations: true } : {}),
    ...(device.taints.length === 0 ? {} : { taints: device.taints }),
  };
}

function writtenCapacity(divided: DividedCapacity | undefined, amount: number): unknown {
  const { usual, range, values } = divided ?? {};
  if (usual === undefined && range === undefined && values === undefined) return quantityText(amount);
  const validRange = range === undefined ? {} : { validRange: Object.fromEntries(Object.entries(range).map(writtenQuantity)) };
  const validValues = values === undefined ? {} : { validValues: values.map(quantityText) };
  return {
    value: quantityText(amount),
    requestPolicy: { ...(usual === undefined ? {} : { default: quantityText(usual) }), ...validRange, ...validValues },
  };
}

function writtenQuantity([name, amount]: readonly [string, number]): readonly [string, string] {
  return [name, quantityText(amount)];
}

type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const PARTS: readonly (readonly [string, (device: Device) => Values])[] = [
  ['attribute', (device) => device.attributes],
  ['capacity', (device) => device.capacity],
  ['sharing', ({ driver, isDivided, divided = {} }) => (isDivided === true ? { [driver]: divided } : {})],
];

function textsOf(values: Values): readonly string[] {
  return Object.entries(values).flatMap(([domain, names]) => Object.entries(names).map(([name, value]) => textOf(domain, name, value)));
}

function namesOf(values: Values): readonly string[] {
  return Object.entries(values).flatMap(([domain, names]) => Object.keys(names).map((name) => `${domain}/${name}`));
}

function textOf(domain: string, name: string, value: unknown): string {
  return `${domain}/${name}=${JSON.stringify(value)}`;
}
