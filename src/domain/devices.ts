/** Devices that drivers publish and that pods claim (dynamic resource allocation, `resource.k8s.io/v1`). */
import type { Labels, NodeSelectorTerm } from './labels.ts';
import type { Taint, Toleration } from './taints.ts';

/** A version is told from a text: it has an order of its own. */
export type AttributeValue = string | number | boolean | { readonly version: string };
/** By domain, then by name: `gpu.example.com/model`. What a driver names without a domain is of its own domain. */
type ByDomain<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>;

/** What a device takes of a counter set that it shares with its neighbours. */
export interface CounterConsumption {
  readonly set: string;
  readonly counters: Readonly<Record<string, number>>;
}

export interface Device {
  readonly driver: string;
  readonly pool: string;
  readonly name: string;
  readonly attributes: ByDomain<AttributeValue>;
  /** In base units. */
  readonly capacity: ByDomain<number>;
  readonly taints: readonly Taint[];
  /** Of a device that is a part of something: what it takes of the whole. */
  readonly consumes: readonly CounterConsumption[];
  /** Set: it has something about it that is not judged here, and what. */
  readonly strange?: string;
}

/** The devices of one pool on one node: complete, and of the newest generation. */
export interface DevicePool {
  readonly driver: string;
  readonly name: string;
  readonly devices: readonly Device[];
  /** What parts share, by set and counter. Empty: the devices are whole ones. */
  readonly counters: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The devices of one node. */
export interface NodeDevices {
  /** Sorted by driver and name; the devices of each in the order of their publication, which is the order in which they are given away. */
  readonly pools: readonly DevicePool[];
  /** Pools that are not complete yet, as `driver/pool`. */
  readonly incomplete: readonly string[];
  /** Devices that are allocated, but to no claim that goes with one pod of the node; as {@link deviceId}. */
  readonly held: readonly string[];
}

/** How an ask is to be filled. */
export interface DeviceSubRequest {
  readonly name: string;
  /** Expressions that must all hold: those of the class and those of the request. */
  readonly selectors: readonly string[];
  readonly count: number | 'all';
  /** Looks at devices without taking them from others. */
  readonly admin: boolean;
  readonly tolerations: readonly Toleration[];
}

/** `asks`: alternatives, the first that can be filled is taken; one unless the request says `firstAvailable`. */
export interface DeviceRequest {
  readonly name: string;
  readonly asks: readonly DeviceSubRequest[];
}

/** A rule about an attribute that all devices of these requests have (none named: of the whole claim). */
export interface DeviceConstraint {
  readonly kind: 'same' | 'distinct';
  readonly attribute: string;
  readonly requests: readonly string[];
}

/** As many devices the API lets one claim have. */
export const MAX_DEVICES_PER_CLAIM = 32;

export interface DeviceClaim {
  /** For messages. */
  readonly name: string;
  /** `namespace/name` of a claim that other pods may share; absent: it is the pod's own, and a successor gets another. */
  readonly shared?: string;
  readonly requests: readonly DeviceRequest[];
  readonly rules: readonly DeviceConstraint[];
}

/** Why no node at all can take the pod now, in the words of kube-scheduler and with what is behind them. */
export interface DeviceBlocker {
  readonly message: string;
  readonly detail: string;
}

/** A claim that has its devices: the pod goes where they are. */
export interface AllocatedClaim {
  readonly claim: string;
  /** Alternatives, as in node affinity. */
  readonly terms: readonly NodeSelectorTerm[];
}

/** What the device claims of a pod mean for its place. */
export interface DeviceRules {
  /** Claims without devices. */
  readonly claims: readonly DeviceClaim[];
  readonly pins: readonly AllocatedClaim[];
  readonly blockers: readonly DeviceBlocker[];
}

/** A claim as a pod's spec names it. */
export interface DeviceClaimRef {
  readonly name: string;
  readonly claim?: string;
  readonly template?: string;
}

/** Names a device in the whole cluster. */
export function deviceId({ driver, pool, name }: Pick<Device, 'driver' | 'pool' | 'name'>): string {
  return `${driver}/${pool}/${name}`;
}

/** Site of a pin: what it reads of a node. */
export interface NodeForDevices {
  readonly name: string;
  readonly labels: Labels;
  readonly devices?: NodeDevices;
}

/** Which device the pod waits for, in the words of its own spec. */
export function describeClaimRef({ name, claim, template }: DeviceClaimRef): string {
  if (claim !== undefined) return `resource claim ${name} (ResourceClaim ${claim})`;
  return `resource claim ${name}${template === undefined ? '' : ` (ResourceClaimTemplate ${template})`}`;
}
