/** Devices that drivers publish and that pods claim (dynamic resource allocation, `resource.k8s.io/v1`). */
import type { Labels, NodeSelectorTerm } from './labels.ts';
import { compareText } from '../lib/comparison.ts';
import { parseQuantity } from './quantity.ts';
import type { Resources } from './resources.ts';
import type { Taint, Toleration } from './taints.ts';
import type { ClaimBlocker } from './volumes.ts';

/** A version differs from a string: it has an order of its own. */
export type AttributeValue = string | number | boolean | { readonly version: string };
/** By domain, then by name: `gpu.example.com/model`. A name without a domain belongs to the driver's own domain. */
type ByDomain<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>;

/** What a device consumes of a counter set that it shares with other devices. */
export interface CounterConsumption {
  readonly set: string;
  readonly counters: Readonly<Record<string, number>>;
}

/** Which parts of a capacity claims may have, in its units: what is asked for is rounded up to the next of them (`requestPolicy`). */
interface CapacityPolicy {
  /** For a claim that does not say how much. */
  readonly usual?: number;
  readonly range?: { readonly min: number; readonly max?: number; readonly step?: number };
  /** Ascending. */
  readonly values?: readonly number[];
}

/** A capacity of a device, as a request for a part of it sees it. */
export interface DividedCapacity extends CapacityPolicy {
  readonly whole: number;
}

type WrittenQuantity = string | number;

/** As a ResourceSlice has it. */
export interface WrittenPolicy {
  readonly default?: WrittenQuantity;
  readonly validRange?: { readonly min?: WrittenQuantity; readonly max?: WrittenQuantity; readonly step?: WrittenQuantity };
  readonly validValues?: readonly WrittenQuantity[];
}

/** @throws AutoscalerError of kind `config` if a text is not a quantity. */
export function dividedCapacity(whole: number, policy: WrittenPolicy = {}): DividedCapacity {
  const { default: usual, validRange, validValues = [] } = policy;
  const read = <Name extends string>(name: Name, value: WrittenQuantity | undefined): { readonly [Key in Name]?: number } =>
    value === undefined ? {} : ({ [name]: parseQuantity(value) } as { readonly [Key in Name]?: number });
  const { min, max, step } = validRange ?? {};
  return {
    whole,
    ...read('usual', usual),
    ...(min === undefined ? {} : { range: { min: parseQuantity(min), ...read('max', max), ...read('step', step) } }),
    ...(validValues.length === 0 ? {} : { values: validValues.map(parseQuantity) }),
  };
}

export interface Device {
  readonly driver: string;
  readonly pool: string;
  readonly name: string;
  readonly attributes: ByDomain<AttributeValue>;
  /** In base units. */
  readonly capacity: ByDomain<number>;
  readonly taints: readonly Taint[];
  /** Its taints without those of rules about its pool or itself: what such a device of another node has. If absent, all of them. */
  readonly usualTaints?: readonly Taint[];
  /** Several claims may have it at once, each a part of its capacities (`allowMultipleAllocations`). */
  readonly isDivided?: true;
  /** The capacities by their names in the slice, for requests of parts. If absent, all are of the driver's domain, and are had whole. */
  readonly divided?: Readonly<Record<string, DividedCapacity>>;
  /** For a partition of a device: what it consumes of the whole. */
  readonly consumes: readonly CounterConsumption[];
  /** A pod that gets it waits until conditions of the device hold, and is not bound before. Its pool comes after all others. */
  readonly binding?: true;
  /** Also if several nodes reach it, a claim that has it is bound to the node of its first pod (`bindsToNode`). */
  readonly isBound?: true;
  /** Of a device that several nodes reach: which. If absent, the nodes of its pool; in a pool of several nodes, every node. */
  readonly reach?: readonly NodeSelectorTerm[];
}

/** The devices of one pool on one node: complete, and of the newest generation. */
export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  readonly devices: readonly Device[];
  /** The counters that partitions share, by set and counter. Empty if the devices are whole ones. */
  readonly counters: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Other nodes reach devices of it, too: who has one has it for all of them. */
  readonly isCommon?: true;
}

/** A pool of devices that belong to no single node. */
export interface CommonPool extends DevicePool {
  /** Not all of its slices exist. */
  readonly isIncomplete?: true;
  /** What claims have of it. */
  readonly allocated: readonly HeldDevice[];
  /** The part of `allocated` that belongs to no claim of one pod of a node: it stays taken whatever pod moves. */
  readonly held: readonly HeldDevice[];
}

/** As kube-scheduler tries pools: by driver and name, those whose devices are bound under conditions last (`GatherPools`, 1.36.3). */
export function inOrderOfAllocation(pools: readonly DevicePool[]): readonly DevicePool[] {
  const waits = ({ devices }: DevicePool): number => (devices.some(({ binding }) => binding === true) ? 1 : 0);
  return pools.toSorted(
    (left, right) => waits(left) - waits(right) || compareText(left.driver, right.driver) || compareText(left.name, right.name),
  );
}

/** A part of a divided device that a claim has: amounts by the names of capacities in the slice. */
interface HeldPart {
  /** As {@link deviceId}. */
  readonly device: string;
  readonly parts: Readonly<Record<string, number>>;
}

/** A whole device, as {@link deviceId}, or a part of one. */
export type HeldDevice = string | HeldPart;

export function heldDeviceId(held: HeldDevice): string {
  return typeof held === 'string' ? held : held.device;
}

/** The devices of one node. */
export interface NodeDevices {
  /** Sorted by driver and name. Devices are in the order of their publication, in which they are allocated. */
  readonly pools: readonly DevicePool[];
  /** Pools that are not complete yet, as `driver/pool`. */
  readonly incomplete: readonly string[];
  /** Devices that are allocated, but to no claim of one pod of the node. */
  readonly held: readonly HeldDevice[];
}

/** Whether drivers publish devices for the node, or begin to. */
export function arePublished({ pools, incomplete }: NodeDevices): boolean {
  return pools.length > 0 || incomplete.length > 0;
}

/** One way to fill a device request. */
export interface DeviceSubRequest {
  readonly name: string;
  /** Expressions that must all hold: those of the class and those of the request. */
  readonly selectors: readonly string[];
  readonly count: number | 'all';
  /** Admin access: sees devices without taking them from others. */
  readonly admin: boolean;
  readonly tolerations: readonly Toleration[];
  /** What it wants of the capacities of each device, by their names in the slice. If absent, a policy or the whole device decides. */
  readonly parts?: Readonly<Record<string, number>>;
}

/** `asks` are alternatives; the first that can be filled is used. There is one, unless the request says `firstAvailable`. */
export interface DeviceRequest {
  readonly name: string;
  readonly asks: readonly DeviceSubRequest[];
  /** The resource by whose name the pod asks for it, as a vector of one. A node with an amount of its own fills the request without devices. */
  readonly insteadOf?: Resources;
}

/** A rule about an attribute of all devices of these requests. An empty list means the whole claim. */
export interface DeviceConstraint {
  readonly kind: 'same' | 'distinct';
  readonly attribute: string;
  readonly requests: readonly string[];
}

/** The API's limit of devices per claim. */
export const MAX_DEVICES_PER_CLAIM = 32;

export interface DeviceClaim {
  /** For messages. */
  readonly name: string;
  /** `namespace/name` of a claim that pods may share. If absent, it is the pod's own, and a replacement pod gets a new one. */
  readonly shared?: string;
  readonly requests: readonly DeviceRequest[];
  readonly rules: readonly DeviceConstraint[];
}

/** A claim with allocated devices: the pod must run where they are. */
export interface AllocatedClaim {
  readonly claim: string;
  /** Alternatives, as in node affinity. */
  readonly terms: readonly NodeSelectorTerm[];
}

/** What the device claims of a pod mean for its node. */
export interface DeviceRules {
  /** Claims without devices. */
  readonly claims: readonly DeviceClaim[];
  readonly pins: readonly AllocatedClaim[];
  readonly blockers: readonly ClaimBlocker[];
}

export const NO_DEVICE_RULES: DeviceRules = { claims: [], pins: [], blockers: [] };

/** Whether the pod waits for devices, is bound to those that it has, or cannot get them. */
export function needsDevices({ claims, pins, blockers }: DeviceRules): boolean {
  return claims.length + pins.length + blockers.length > 0;
}

/** A claim as a pod's spec names it. */
export interface DeviceClaimRef {
  readonly name: string;
  readonly claim?: string;
  readonly template?: string;
}

const usual = new WeakMap<readonly DevicePool[], readonly DevicePool[]>();

/** The pools as another node of the group has them: without what a rule says of these alone. The same object if there is no such rule. */
export function usualPools(pools: readonly DevicePool[]): readonly DevicePool[] {
  const known = usual.get(pools);
  if (known !== undefined) return known;
  const isSpecial = pools.some(({ devices }) => devices.some(({ usualTaints }) => usualTaints !== undefined));
  const found = isSpecial ? pools.map((pool) => ({ ...pool, devices: pool.devices.map(usualDevice) })) : pools;
  usual.set(pools, found);
  return found;
}

function usualDevice({ usualTaints, ...device }: Device): Device {
  return usualTaints === undefined ? device : { ...device, taints: usualTaints };
}

/** Identifies a device in the whole cluster. */
export function deviceId({ driver, pool, name }: Pick<Device, 'driver' | 'pool' | 'name'>): string {
  return `${driver}/${pool}/${name}`;
}

/** The properties of a node that device rules read. */
export interface NodeForDevices {
  readonly name: string;
  readonly labels: Labels;
}

/** The claim in the words of the pod's spec. */
export function describeClaimRef({ name, claim, template }: DeviceClaimRef): string {
  if (claim !== undefined) return `resource claim ${name} (ResourceClaim ${claim})`;
  return `resource claim ${name}${template === undefined ? '' : ` (ResourceClaimTemplate ${template})`}`;
}

/** A name without a domain belongs to the driver's domain. Unreadable values are left out. */
export function byDomain<Value>(driver: string, entries: readonly (readonly [string, Value | undefined])[]): ByDomain<Value> {
  const domains: Record<string, Record<string, Value>> = {};
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const slash = name.indexOf('/');
    const domain = slash < 0 ? driver : name.slice(0, slash);
    const names = domains[domain] ?? {};
    domains[domain] = names;
    names[name.slice(slash + 1)] = value;
  }
  return domains;
}
