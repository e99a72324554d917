/**
 * The known devices, device classes and claims: from the tables of the watch, or from the objects of a file. Gives
 * nodes the devices published for them, and pods with device claims a shape that includes what the claims mean.
 */
import {
  heldDeviceId,
  inOrderOfAllocation,
  type CommonPool,
  type CounterConsumption,
  type DevicePool,
  type HeldDevice,
  type NodeDevices,
} from '../../domain/devices.ts';
import type { ClusterView } from '../../domain/observation.ts';
import { RESOURCE_NOT_READY, type Node } from '../../domain/node.ts';
import { claimableResource, type ResourceNames } from '../../domain/resources.ts';
import {
  type ResourceClaim,
  type Slice,
  classesByResource,
  nodeOnly,
  projectClaimTemplate,
  projectDeviceClass,
  projectResourceClaim,
  projectSlice,
  projectTaintRule,
  type DeviceTaintRule,
  withTaintRules,
} from '../projection/devices.ts';
import { nameOf, namespacedName, Table } from '../watch/object-table.ts';
import type { Source } from '../watch/reflector-options.ts';
import { DeviceShapes, type Claiming, type DeviceTables, type NamedDevices } from './device-shapes.ts';
import { sameItems } from '../../lib/collections.ts';
import { compareText, compareBy } from '../../lib/comparison.ts';

/** Holds the index over the tables and rebuilds it after they changed. */
export class KnownDevices {
  readonly #tables: DeviceTables;
  readonly #shapes = new DeviceShapes();
  #version = 0;
  #trouble: string | undefined;
  /** By node, without allocated devices. */
  #published: ReadonlyMap<string, Published> = new Map();
  /** Pools of devices that several nodes reach, without what is allocated of them. */
  #reachable: ReadonlyMap<string, { readonly slices: readonly Slice[]; readonly pool: Omit<CommonPool, 'allocated' | 'held'> }> = new Map();
  #common: readonly CommonPool[] = [];
  #last: { readonly given: Claiming; readonly version: number; readonly found: Claiming & WithCommon } | undefined;
  readonly #nodes = new WeakMap<Node, { readonly devices: NodeDevices; readonly node: Node }>();
  #devices: ReadonlyMap<string, NodeDevices> = new Map();
  #rules: readonly DeviceTaintRule[] = [];
  #taintedSlices = new WeakMap<Slice, Slice>();

  readonly #names: ResourceNames;
  /** Resources that device classes stand for. */
  #named: readonly NamedDevices[] = [];

  constructor(tables: DeviceTables, names: ResourceNames) {
    this.#tables = tables;
    this.#names = names;
    this.#index();
  }

  /** To be called after the tables changed. */
  changed(): void {
    this.#version += 1;
    this.#index();
  }

  /** `trouble` says why pods with device claims cannot be evaluated. If undefined, they can. */
  setTrouble(trouble: string | undefined): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#version += 1;
  }

  /** Returns the view with device claims resolved. Parts without device claims are returned unchanged. */
  resolve<View extends Claiming>(view: View): View & WithCommon {
    const last = this.#last;
    if (last !== undefined && last.version === this.#version && isSame(last.given, view)) return { ...view, ...last.found };
    const storage = { ...this.#tables, named: this.#named, trouble: this.#trouble };
    const pods = this.#shapes.resolve(view, storage, this.#version);
    const held = heldByPool(this.#tables.claims.values());
    const nodes = this.#withDevices({ nodes: view.nodes, podsByNode: pods.podsByNode }, held);
    const { podsByNode, pendingPods, daemonSets } = pods;
    const found = {
      nodes,
      podsByNode,
      pendingPods,
      daemonSets,
      commonDevices: this.#commonDevices({ nodes: view.nodes, podsByNode: pods.podsByNode }, held),
    };
    this.#last = {
      given: { nodes: view.nodes, podsByNode: view.podsByNode, pendingPods: view.pendingPods, daemonSets: view.daemonSets },
      version: this.#version,
      found,
    };
    return { ...view, ...found };
  }

  /** The same objects while nothing of them changes. */
  #commonDevices({ nodes, podsByNode }: Pick<Claiming, 'nodes' | 'podsByNode'>, held: HeldByPool): ClusterView['commonDevices'] {
    if (this.#reachable.size === 0 && this.#common.length === 0) return this.#common;
    const own = new Set(
      [...podsByNode].flatMap(([node, pods]) => (nodes.has(node) ? pods.flatMap(({ status }) => status.heldDevices ?? []) : [])),
    );
    const pools = [...this.#reachable.values()].map(({ pool }, at): CommonPool => {
      const allocated = held.get(`${pool.driver}/${pool.name}`) ?? [];
      const others = allocated.filter((one) => !own.has(one));
      const known = this.#common[at];
      const isSame = known?.devices === pool.devices && sameItems(known.allocated, allocated) && sameItems(known.held, others);
      return isSame ? known : { ...pool, allocated, held: others };
    });
    if (!sameItems(pools, this.#common)) this.#common = pools;
    return this.#common;
  }

  #withDevices({ nodes, podsByNode }: Pick<Claiming, 'nodes' | 'podsByNode'>, held: HeldByPool): Claiming['nodes'] {
    if (this.#published.size === 0 && this.#devices.size === 0) return nodes;
    const before = this.#devices;
    const after = new Map<string, NodeDevices>();
    for (const [name, published] of this.#published) {
      if (!nodes.has(name)) continue;
      const own = new Set((podsByNode.get(name) ?? []).flatMap(({ status }) => status.heldDevices ?? []));
      const others = published.pools
        .flatMap(({ driver, name: pool }) => held.get(`${driver}/${pool}`) ?? [])
        .filter((one) => !own.has(one));
      const known = before.get(name);
      const same =
        known !== undefined &&
        known.pools === published.pools &&
        known.incomplete === published.incomplete &&
        sameItems(known.held, others);
      after.set(name, same ? known : { ...published, held: others });
    }
    this.#devices = after;
    return after.size === 0 ? nodes : new Map([...nodes].map(([name, node]) => [name, this.#nodeWith(node, after.get(name))]));
  }

  #nodeWith(node: Node, devices: NodeDevices | undefined): Node {
    if (devices === undefined) return node;
    const known = this.#nodes.get(node);
    if (known?.devices === devices) return known.node;
    const made = { ...node, devices, readiness: withDrivers(node.readiness, devices) };
    this.#nodes.set(node, { devices, node: made });
    return made;
  }

  #tainted(slice: Slice): Slice {
    if (this.#rules.length === 0) return slice;
    const known = this.#taintedSlices.get(slice) ?? withTaintRules(slice, this.#rules);
    this.#taintedSlices.set(slice, known);
    return known;
  }

  /** Slices keep what the rules made of them while the rules are the same. */
  #readRules(): void {
    const rules = [...(this.#tables.taintRules?.values() ?? [])].filter((rule) => rule !== undefined).sort(compareBy(({ name }) => name));
    if (sameItems(rules, this.#rules)) return;
    this.#rules = rules;
    this.#taintedSlices = new WeakMap();
  }

  #index(): void {
    this.#readRules();
    this.#named = [...classesByResource(this.#tables.classes.values())].map(([resource, className]) => ({
      resource,
      className,
      own: this.#names.indexOf(resource),
      asked: this.#names.indexOf(claimableResource(resource)),
    }));
    const before = this.#published;
    const slices = [...this.#tables.slices.values()].map((slice) => this.#tainted(slice));
    const byPool = [...Map.groupBy(slices, ({ driver, pool }) => `${driver}/${pool}`)];
    const common = byPool.filter(([, own]) => isCommon(own)).sort(([, left], [, right]) => comparePools(left[0], right[0]));
    const kept = this.#reachable;
    this.#reachable = new Map(
      common.map(([id, own]) => {
        const known = kept.get(id);
        return [id, known !== undefined && sameItems(known.slices, own) ? known : { slices: own, pool: publishCommon(own) }];
      }),
    );
    const byNode = Map.groupBy(
      byPool.flatMap(([, own]) => (isCommon(own) ? [] : own)),
      ({ node = '' }) => node,
    );
    this.#published = new Map(
      [...byNode].map(([node, own]) => {
        const known = before.get(node);
        return [node, known !== undefined && sameItems(known.slices, own) ? known : publish(own)];
      }),
    );
  }
}

type WithCommon = Pick<ClusterView, 'commonDevices'>;
type HeldByPool = ReadonlyMap<string, readonly HeldDevice[]>;

interface Published extends Omit<NodeDevices, 'held'> {
  readonly slices: readonly Slice[];
}

/** For each pool only the newest generation counts, and only if all of its slices exist. */
export function publish(slices: readonly Slice[]): Published {
  const pools: DevicePool[] = [];
  const incomplete: string[] = [];
  for (const [id, all] of Map.groupBy(slices, ({ driver, pool }) => `${driver}/${pool}`)) {
    const { driver = '', pool: name = '' } = all[0] ?? {};
    const { devices, counters, isWhole } = newestOf(all);
    if (isWhole) pools.push({ driver, name, devices, counters });
    else incomplete.push(id);
  }
  return { slices, pools: inOrderOfAllocation(pools), incomplete: incomplete.sort() };
}

/** kube-scheduler allocates devices in this order. Drivers use it to say which devices come first. */
function newestOf(slices: readonly Slice[]): Pick<DevicePool, 'devices' | 'counters'> & { readonly isWhole: boolean } {
  const newest = Math.max(...slices.map(({ generation }) => generation));
  const current = slices.filter(({ generation }) => generation === newest).sort(compareBy(({ name }) => name));
  const isOfOne = new Set(slices.map(({ node }) => node)).size === 1;
  const devices = current.flatMap(({ node, devices: own }) =>
    isOfOne || node === undefined ? own : own.map((device) => ({ ...device, reach: [nodeOnly(node)] })),
  );
  const counters = Object.assign({}, ...current.map((slice) => slice.counters)) as DevicePool['counters'];
  const isWhole =
    current.every(({ slices: count }) => count === current.length) &&
    new Set(devices.map(({ name }) => name)).size === devices.length &&
    devices.every(({ consumes }) => consumes.every((each) => hasCounters(counters, each)));
  return { devices, counters, isWhole };
}

/** Devices of several nodes: a slice says which nodes reach them, or the slices of several nodes are one pool. */
function isCommon(slices: readonly Slice[]): boolean {
  const nodes = new Set(slices.map(({ node }) => node));
  if (nodes.has(undefined) || nodes.size < 2) return nodes.has(undefined);
  const newest = Math.max(...slices.map(({ generation }) => generation));
  const current = slices.filter(({ generation }) => generation === newest);
  return current.every(({ slices: count }) => count === current.length);
}

function publishCommon(slices: readonly Slice[]): Omit<CommonPool, 'allocated' | 'held'> {
  const { driver = '', pool: name = '' } = slices[0] ?? {};
  const { devices, counters, isWhole } = newestOf(slices);
  return { driver, name, devices, counters, ...(isWhole ? {} : { isIncomplete: true }) };
}

/** A device that consumes what does not exist makes its pool invalid. */
function hasCounters(counters: DevicePool['counters'], { set, counters: used }: CounterConsumption): boolean {
  return Object.keys(used).every((name) => counters[set]?.[name] !== undefined);
}

function comparePools(left: Slice | undefined, right: Slice | undefined): number {
  if (left === undefined || right === undefined || left.driver === right.driver) return compareText(left?.pool ?? '', right?.pool ?? '');
  return compareText(left.driver, right.driver);
}

/** The published devices are the ones that the node's labels promise, so the node does not wait for a device plugin. */
function withDrivers(readiness: Node['readiness'], { pools }: NodeDevices): Node['readiness'] {
  return readiness.reason === RESOURCE_NOT_READY && pools.length > 0 ? { ...readiness, ready: true, reason: '' } : readiness;
}

/** Devices that claims have been allocated, by `driver/pool`. Admin access does not take a device. */
function heldByPool(claims: Iterable<ResourceClaim>): ReadonlyMap<string, readonly HeldDevice[]> {
  const held = new Map<string, HeldDevice[]>();
  for (const { allocation } of claims) {
    for (const { pool, admin, device } of allocation?.devices ?? []) {
      if (admin) continue;
      const known = held.get(pool);
      if (known === undefined) held.set(pool, [device]);
      else known.push(device);
    }
  }
  for (const all of held.values()) all.sort(compareBy(heldDeviceId));
  return held;
}

function isSame(left: Claiming, right: Claiming): boolean {
  return (
    left.nodes === right.nodes &&
    left.podsByNode === right.podsByNode &&
    left.pendingPods === right.pendingPods &&
    left.daemonSets === right.daemonSets
  );
}

const API = '/apis/resource.k8s.io/v1';

/**
 * The tables of devices, device classes and claims, with their watches. In a cluster without these kinds, no node has
 * devices.
 */
export class WatchedDevices {
  readonly #slices = new Table({ keyOf: nameOf, project: (object) => projectSlice(object) });
  readonly #classes = new Table({ keyOf: nameOf, project: (object) => projectDeviceClass(object) });
  readonly #claims = new Table({ keyOf: namespacedName, project: (object) => projectResourceClaim(object) });
  readonly #templates = new Table({ keyOf: namespacedName, project: (object) => projectClaimTemplate(object) });
  readonly #taintRules = new Table({ keyOf: nameOf, project: (object) => projectTaintRule(object) });
  readonly #known: KnownDevices;

  constructor(names: ResourceNames) {
    this.#known = new KnownDevices(
      {
        slices: this.#slices.items,
        classes: this.#classes.items,
        claims: this.#claims.items,
        templates: this.#templates.items,
        taintRules: this.#taintRules.items,
      },
      names,
    );
  }

  sources(): readonly Source[] {
    const kind = { onlyFor: 'devices', mayBeAbsent: true } as const;
    return [
      { resource: 'resourceslices', path: `${API}/resourceslices`, table: this.#slices, ...kind },
      { resource: 'deviceclasses', path: `${API}/deviceclasses`, table: this.#classes, ...kind },
      { resource: 'resourceclaims', path: `${API}/resourceclaims`, table: this.#claims, ...kind },
      { resource: 'resourceclaimtemplates', path: `${API}/resourceclaimtemplates`, table: this.#templates, ...kind },
      { resource: 'devicetaintrules', path: `${API}/devicetaintrules`, table: this.#taintRules, ...kind, onlyFor: 'device-taints' },
    ];
  }

  /** `trouble` says why pods with device claims cannot be evaluated now. If undefined, they can. */
  resolve<View extends Claiming>(view: View, trouble: string | undefined): View & WithCommon {
    const changed = [this.#slices, this.#classes, this.#claims, this.#templates, this.#taintRules].filter((table) => table.takeChanged());
    if (changed.length > 0) this.#known.changed();
    this.#known.setTrouble(trouble);
    return this.#known.resolve(view);
  }
}
