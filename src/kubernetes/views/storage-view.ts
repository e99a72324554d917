/** The known claims, volumes, storage classes and CSINodes: from the tables of the watch, or from the objects of a file. */
import type { NodeSelectorTerm } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import { attachResource, minus, plus, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { AZURE_DISK_DRIVER, AZURE_FILE_DRIVER, blockerIdentity } from '../../domain/volumes.ts';
import type { Claim, CsiDriver, CsiNode, StorageCapacity, StorageClass, Volume } from '../projection/storage.ts';
import { WeakInterner } from '../watch/interner.ts';
import { NodesOfCsi } from './csi-nodes.ts';
import { evaluateClaims, type ClaimRules, type Slot, type Storage, ONE_POD, type Holder } from './volume-binding.ts';
import { compareBy } from '../../lib/comparison.ts';

interface Occupants {
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  readonly pendingPods: readonly Pod[];
}

/**
 * Gives pods that mount claims a shape that includes what the claims mean. Replicas with equivalent volumes share one
 * shape, whatever their claims are called. Returns a cluster whose pods mount no claims unchanged. Results stay valid
 * until the pods of a list or the storage change.
 */
class ClaimShapes {
  readonly #names: ResourceNames;
  readonly #shapes = new WeakInterner<PodShape>();
  #judged = new WeakMap<readonly Pod[], readonly Pod[]>();
  readonly #pods = new WeakMap<Pod, Pod>();
  #version = -1;
  #last: { readonly given: Occupants; readonly found: Occupants } | undefined;

  constructor(names: ResourceNames) {
    this.#names = names;
  }

  /** `version` must change whenever `storage` or `csi` would give different results. */
  resolve(given: Occupants, storage: Storage, version: number, csi: NodesOfCsi): Occupants {
    const last = this.#last;
    if (this.#version !== version) this.#judged = new WeakMap();
    else if (last !== undefined && last.given.podsByNode === given.podsByNode && last.given.pendingPods === given.pendingPods)
      return last.found;
    this.#version = version;
    const listed = (pods: readonly Pod[]): readonly Pod[] => this.#list(pods, storage, csi);
    const found = { podsByNode: this.#byNode(given.podsByNode, listed), pendingPods: listed(given.pendingPods) };
    this.#last = { given, found };
    return found;
  }

  #byNode(given: Occupants['podsByNode'], listed: (pods: readonly Pod[]) => readonly Pod[]): Occupants['podsByNode'] {
    const lists = [...given].map(([node, pods]) => [node, listed(pods)] as const);
    const before = this.#last?.found.podsByNode;
    const isSame = before?.size === lists.length && lists.every(([node, pods]) => before.get(node) === pods);
    return isSame && before !== undefined ? before : new Map(lists);
  }

  #list(pods: readonly Pod[], storage: Storage, csi: NodesOfCsi): readonly Pod[] {
    const known = this.#judged.get(pods);
    if (known !== undefined) return known;
    const found = pods.some(mountsVolumes) ? this.#resolveAll(pods, storage, csi) : pods;
    this.#judged.set(pods, found);
    return found;
  }

  #resolveAll(pods: readonly Pod[], storage: Storage, csi: NodesOfCsi): readonly Pod[] {
    return pods.map((pod) => {
      if (!mountsVolumes(pod)) return pod;
      const rules = evaluateClaims(pod, storage);
      const slots = rules.slots.filter(({ driver }) => driver === AZURE_DISK_DRIVER || csi.limited.has(driver));
      const inSpec = pod.mounts.disks.length === 0 ? [] : [AZURE_DISK_DRIVER];
      const drivers = csi.demandingOf([...rules.slots.map(({ driver }) => driver), ...inSpec]);
      return this.#shaped(pod, { ...rules, slots: distinct(slots), drivers });
    });
  }

  #shaped(pod: Pod, rules: RulesOnNodes): Pod {
    const shape = this.#shapeOf(pod.shape, rules);
    const known = this.#pods.get(pod);
    if (known?.shape === shape) return known;
    const shaped = shape === pod.shape ? pod : { ...pod, shape };
    this.#pods.set(pod, shaped);
    return shaped;
  }

  #shapeOf(base: PodShape, { places, blockers, slots, counted, drivers: needed }: RulesOnNodes): PodShape {
    if (places.length + blockers.length + slots.length + needed.length === 0) return base;
    const drivers = countBy(slots.filter(({ isShared }) => !isShared));
    const shared = slots.filter(({ isShared }) => isShared);
    const own = [base.key, places, blockers.map(blockerIdentity), drivers, counted, ...shared.map(nameOf)];
    const key = JSON.stringify(needed.length === 0 ? own : [...own, { drivers: needed }]);
    return this.#shapes.of(key, () => {
      const all = plus(base.requests, this.#slots(drivers));
      const requests = counted === 0 ? all : minus(all, this.#slots([[AZURE_DISK_DRIVER, counted]]));
      const volumes = { places, blockers, drivers: needed };
      const sharedVolumes = shared.map((slot) => ({ volume: nameOf(slot), slots: this.#slots([[slot.driver, 1]]) }));
      return { ...base, key, requests, volumes, sharedVolumes };
    });
  }

  #slots(drivers: ReturnType<typeof countBy>): Resources {
    return this.#names.fromRecord(Object.fromEntries(drivers.map(([driver, count]) => [attachResource(driver), count])));
  }
}

interface RulesOnNodes extends ClaimRules {
  /** That its node must have registered. */
  readonly drivers: readonly string[];
}

/** Whether the pod mounts anything that is evaluated here. */
function mountsVolumes({ mounts: { claims, disks } }: Pick<Pod, 'mounts'>): boolean {
  return claims.length + disks.length > 0;
}

/** Each volume once, by name. */
function distinct(slots: readonly Slot[]): readonly Slot[] {
  return [...new Map(slots.map((slot) => [nameOf(slot), slot])).values()].sort(compareBy(nameOf));
}

function nameOf({ driver, volume }: Slot): string {
  return `${driver} ${volume}`;
}

function countBy(slots: readonly Slot[]): readonly (readonly [driver: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { driver } of slots) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return [...counts].sort(compareBy(([key]) => key));
}

interface StorageTables {
  readonly claims: ReadonlyMap<string, Claim>;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly classes: ReadonlyMap<string, StorageClass>;
  readonly csiNodes: ReadonlyMap<string, CsiNode>;
  /** By name. If absent, no driver reports its capacity or must be there. */
  readonly csiDrivers?: ReadonlyMap<string, CsiDriver>;
  readonly capacities?: ReadonlyMap<string, StorageCapacity>;
}

export interface Storing extends Occupants {
  readonly nodes: ReadonlyMap<string, Node>;
}

/** Holds the index over the tables and rebuilds it after they changed. */
export class KnownStorage {
  readonly #tables: StorageTables;
  readonly #shapes: ClaimShapes;
  #version = 0;
  #trouble: string | undefined;
  #roomTrouble: string | undefined;
  #freeVolumes = new Map<string, readonly Volume[]>();
  readonly #csi: NodesOfCsi;
  #seenNodes: Storing['nodes'] | undefined;
  /** Whether any claim waits for its volume on a selected node, so that this node's existence matters. */
  #isChoosing = false;
  /** The number of volumes per handle. */
  #handles = new Map<string, number>();
  /** The pods that mount each claim, or each disk that is named without a claim. */
  readonly #users = new Map<string, Set<Holder>>();

  constructor(tables: StorageTables, names: ResourceNames) {
    this.#tables = tables;
    this.#shapes = new ClaimShapes(names);
    this.#csi = new NodesOfCsi(tables);
    this.#index();
  }

  /** To be called after the tables changed. */
  changed(): void {
    this.#version += 1;
    this.#csi.changed();
    this.#index();
  }

  /**
   * `trouble` says why pods with claims cannot be evaluated, and `roomTrouble` why the capacity of drivers is unknown.
   * If undefined, nothing is wrong.
   */
  setTrouble(trouble: string | undefined, roomTrouble?: string): void {
    if (trouble === this.#trouble && roomTrouble === this.#roomTrouble) return;
    this.#trouble = trouble;
    this.#roomTrouble = roomTrouble;
    this.#version += 1;
  }

  hasClaim(key: string): boolean {
    return this.#tables.claims.has(key);
  }

  /** To be called for every added, changed or removed pod. A pod without volumes costs nothing. */
  podChanged(before: Pod | undefined, after: Pod | undefined): void {
    if (!mounts(before) && !mounts(after)) return;
    const [had, has] = [keysOf(before), keysOf(after)];
    for (const key of had) {
      const users = this.#users.get(key);
      users?.delete(before as Pod);
      if (users?.size === 0) this.#users.delete(key);
    }
    // Another pod with the same mount changes what these volumes mean. A pod that only reports its status does not.
    const same = had.join() === has.join();
    const shared = !same && [...had, ...has].some((key) => this.#users.has(key) || isDisk(key));
    for (const key of has) this.#users.set(key, (this.#users.get(key) ?? new Set()).add(after as Pod));
    const exclusive = [...had, ...has].some((key) => this.#tables.claims.get(key)?.requirements.accessModes.includes(ONE_POD));
    if (exclusive || shared) this.#version += 1;
  }

  /** Returns the view with volumes resolved. Parts without volumes are returned unchanged. */
  resolve<View extends Storing>(view: View): View {
    if (this.#isChoosing && view.nodes !== this.#seenNodes) this.#version += 1;
    this.#seenNodes = view.nodes;
    const nodes = this.#csi.resolve(view.nodes);
    if (this.#users.size === 0) return nodes === view.nodes ? view : { ...view, nodes };
    const storage: Storage = {
      ...this.#tables,
      freeVolumes: (className) => this.#freeVolumes.get(className) ?? [],
      roomFor: (storageClass, bytes) => this.#roomFor(storageClass, bytes),
      roomTrouble: ({ provisioner }) => this.#roomTroubleOf(provisioner),
      hasNode: (name) => view.nodes.has(name),
      sharesClaim: (claim, handle) =>
        this.#isUsedTwice(claim) || (handle !== undefined && ((this.#handles.get(handle) ?? 0) > 1 || this.#users.has(diskKey(handle)))),
      sharesDisk: (handle) => this.#isUsedTwice(diskKey(handle)) || this.#handles.has(handle),
      holderOf: (claim, pod) => this.#holderOf(claim, pod),
      trouble: this.#trouble,
    };
    return { ...view, nodes, ...this.#shapes.resolve(view, storage, this.#version, this.#csi) };
  }

  /** As in kube-scheduler: only for drivers that ask for it, and by the largest volume that they say they can create. */
  #roomFor({ name, provisioner }: StorageClass, bytes: number): readonly NodeSelectorTerm[] | undefined {
    const { csiDrivers, capacities } = this.#tables;
    if (csiDrivers?.get(provisioner)?.tracks !== true) return undefined;
    const roomy = [...(capacities?.values() ?? [])].filter(
      ({ className, topology, bytes: most }) => className === name && topology !== undefined && most !== undefined && most >= bytes,
    );
    if (roomy.some(({ topology }) => topology?.length === 0)) return undefined;
    return roomy.map(({ topology = [] }) => ({ expressions: topology, fields: [] }));
  }

  /** The capacity of a driver that never limits it need not be read. */
  #roomTroubleOf(provisioner: string): string | undefined {
    if (this.#roomTrouble === undefined || ROOMY_DRIVERS.has(provisioner)) return undefined;
    return this.#tables.csiDrivers?.get(provisioner)?.tracks === false ? undefined : this.#roomTrouble;
  }

  /** If several pods wait for one claim, the first gets it, in the scheduler's order: placed pods come first. */
  #holderOf(claim: string, pod: Holder): string | undefined {
    const others = [...(this.#users.get(claim) ?? [])].filter(({ uid }) => uid !== pod.uid);
    const holder =
      others.find(({ nodeName }) => nodeName !== undefined) ?? others.find(({ name }) => pod.nodeName === undefined && name < pod.name);
    return holder === undefined ? undefined : `${holder.namespace}/${holder.name}`;
  }

  #isUsedTwice(key: string): boolean {
    return (this.#users.get(key)?.size ?? 0) > 1;
  }

  #index(): void {
    const free = new Map<string, Volume[]>();
    for (const volume of this.#tables.volumes.values()) {
      if (!volume.isAvailable) continue;
      const volumes = free.get(volume.className);
      if (volumes === undefined) free.set(volume.className, [volume]);
      else volumes.push(volume);
    }
    this.#freeVolumes = free;
    this.#handles = new Map();
    for (const { handle } of this.#tables.volumes.values()) this.#handles.set(handle, (this.#handles.get(handle) ?? 0) + 1);
    this.#isChoosing = [...this.#tables.claims.values()].some(({ selectedNode }) => selectedNode !== undefined);
  }
}

/** The drivers of AKS, none of which reports its capacity. */
const ROOMY_DRIVERS: ReadonlySet<string> = new Set([AZURE_DISK_DRIVER, AZURE_FILE_DRIVER, 'blob.csi.azure.com']);

function keysOf(pod: Pod | undefined): readonly string[] {
  if (pod === undefined || !mounts(pod) || pod.phase === 'Succeeded' || pod.phase === 'Failed') return [];
  const { claims, disks } = pod.mounts;
  return [...claims.map(({ name }) => `${pod.namespace}/${name}`), ...disks.map(diskKey)];
}

/** No claim can have such a name. */
const DISK = 'disk ';

function diskKey(handle: string): string {
  return `${DISK}${handle}`;
}

function isDisk(key: string): boolean {
  return key.startsWith(DISK);
}

function mounts(pod: Pod | undefined): boolean {
  return pod !== undefined && mountsVolumes(pod);
}
