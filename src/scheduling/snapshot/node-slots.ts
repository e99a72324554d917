/**
 * The nodes of a snapshot in numbered slots. The free resources of all nodes are in one typed array, so that a search reads little memory.
 * A vacated slot keeps its content until it is cleared or reused. Must not know forks.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { HostPort, Pod, PodShape } from '../../domain/pod.ts';
import type { ResourceNames, Resources } from '../../domain/resources.ts';
import {
  attachLimit,
  claimableAmount,
  withAttachSlots,
  requestsAlone,
  SharedVolumes,
  type CompiledVolume,
} from '../volumes/attachments.ts';
import type { InlineDisk } from '../../domain/volumes.ts';
import { takenDisk } from '../predicates/volumes.ts';
import { fitsFree, needOf, type Need } from '../predicates/resources-fit.ts';
import { bug } from './undo-log.ts';

const NO_PODS: readonly Pod[] = [];
const NO_PORTS: readonly HostPort[] = [];
const NO_DISKS: readonly InlineDisk[] = [];
const FEW_SEATS = 1_000;

/** A node in its slot. It is out of date once the slot has another stamp. */
interface Seat {
  readonly slot: number;
  readonly stamp: number;
}

/** What a pod takes of a node, computed before. */
interface SlotNeed {
  readonly shape: PodShape;
  readonly need: Need;
  readonly shared: readonly CompiledVolume[];
}

export class NodeSlots {
  readonly slotOf = new Map<NodeName, number>();
  readonly nodes: (Node | undefined)[] = [];
  readonly #pods: (readonly Pod[])[] = [];
  readonly #ports: HostPort[][] = [];
  /** By slot. Slots without disks are absent. */
  readonly #disks = new Map<number, InlineDisk[]>();
  readonly #volumes = new SharedVolumes();
  /** Whether a pod list is our own copy and may be edited. */
  readonly #ownList: boolean[] = [];
  /** Changes whenever the slot gets another node: cached results for the old one are void. */
  stamps = new Float64Array(64);
  live = new Uint8Array(64);
  cordoned = new Uint8Array(64);
  free: Float64Array;
  #stride: number;
  #lastStamp = 0;
  /** By ascending stamps, with entries that are out of date. */
  #seats: Seat[] = [];

  readonly #resourceNames: ResourceNames;

  constructor(names: ResourceNames) {
    this.#resourceNames = names;
    this.#stride = names.count;
    this.free = new Float64Array(64 * names.count);
  }

  get count(): number {
    return this.nodes.length;
  }

  /** @throws AutoscalerError `bug` if the slot never had a node. */
  nodeAt(slot: number): Node {
    const node = this.nodes[slot];
    if (node === undefined) throw bug(`There is no node in slot ${slot}.`);
    return node;
  }

  /** @throws AutoscalerError `bug` if the node is not there. */
  slotNamed(name: NodeName): number {
    const slot = this.slotOf.get(name);
    if (slot === undefined) throw bug(`Node ${name} is not in the snapshot.`);
    return slot;
  }

  get stride(): number {
    return this.#stride;
  }

  /** Makes room for resources that got their index after the snapshot was made. */
  widen(resources: number): void {
    if (resources <= this.#stride) return;
    const wider = new Float64Array(this.live.length * resources);
    for (let slot = 0; slot < this.count; slot++) {
      wider.set(this.free.subarray(slot * this.#stride, (slot + 1) * this.#stride), slot * resources);
    }
    const before = this.#stride;
    this.free = wider;
    this.#stride = resources;
    this.#openSlots(before);
  }

  /** Attach slots that are counted from now on. No present pod uses any, or they would have been counted before. */
  #openSlots(from: number): void {
    for (const { index, driver } of this.#resourceNames.attachable) {
      if (index < from || index >= this.#stride) continue;
      this.nodes.forEach((node, slot) => {
        this.free[slot * this.#stride + index] = attachLimit(node?.attachLimits, driver);
      });
    }
    for (const { index, own } of this.#resourceNames.claimable) {
      if (index < from || index >= this.#stride) continue;
      this.nodes.forEach((node, slot) => {
        this.free[slot * this.#stride + index] = claimableAmount(node?.allocatable, own);
      });
    }
  }

  podsAt(slot: number): readonly Pod[] {
    return this.#pods[slot] ?? [];
  }

  eachNode(visit: (slot: number, node: Node, pods: readonly Pod[]) => void): void {
    for (const slot of this.slotOf.values()) visit(slot, this.nodeAt(slot), this.podsAt(slot));
  }

  portsAt(slot: number): readonly HostPort[] {
    return this.#ports[slot] ?? NO_PORTS;
  }

  disksAt(slot: number): readonly InlineDisk[] {
    return this.#disks.get(slot) ?? NO_DISKS;
  }

  freeAt(slot: number): Float64Array {
    return this.free.subarray(slot * this.#stride, (slot + 1) * this.#stride);
  }

  /** Puts an empty node into a slot; `slot` may be the next new one. */
  seat(slot: number, node: Node): void {
    this.#reach(slot);
    if (this.nodes[slot] !== node) {
      this.stamps[slot] = ++this.#lastStamp;
      this.#seats.push({ slot, stamp: this.#lastStamp });
    }
    this.nodes[slot] = node;
    this.live[slot] = 1;
    this.cordoned[slot] = node.unschedulable ? 1 : 0;
    this.slotOf.set(node.name, slot);
    const allocatable = withAttachSlots(node, this.#resourceNames);
    this.widen(allocatable.length);
    const base = slot * this.#stride;
    this.free.fill(0, base, base + this.#stride);
    this.free.set(allocatable, base);
    this.#ports[slot]?.splice(0);
    this.#disks.delete(slot);
  }

  vacate(slot: number): void {
    const node = this.nodes[slot];
    if (node !== undefined && this.slotOf.get(node.name) === slot) this.slotOf.delete(node.name);
    this.live[slot] = 0;
  }

  /** Drops what the slot of a node that is gone held. Until it is reused, nothing reads it. */
  clear(slot: number): void {
    this.nodes[slot] = undefined;
    this.#pods[slot] = NO_PODS;
    this.#ports[slot]?.splice(0);
    this.#disks.delete(slot);
  }

  /** Removes the newest slot. */
  dropLast(): void {
    this.nodes.pop();
    if (this.#seats.at(-1)?.slot === this.count) this.#seats.pop();
    this.#pods.length = Math.min(this.#pods.length, this.count);
  }

  /** The stamp of the node that came last, of all that ever came. */
  get lastStamp(): number {
    return this.#lastStamp;
  }

  /** The slot of a node that came after the stamp and that `accepts`; of several, the newest. Includes nodes that are taken out at present. */
  findSince(stamp: number, accepts: (slot: number) => boolean): number | undefined {
    for (let at = this.#seats.length - 1; at >= 0; at--) {
      const seat = this.#seats[at];
      // guard: a pod that all nodes refused is tried on a node that comes later
      if (seat === undefined || seat.stamp <= stamp) return undefined;
      if (this.isSeated(seat) && accepts(seat.slot)) return seat.slot;
    }
    return undefined;
  }

  isSeated({ slot, stamp }: Seat): boolean {
    return this.nodes[slot] !== undefined && this.stamps[slot] === stamp;
  }

  /** Drops entries that are out of date, once they are many. */
  tidySeats(): void {
    if (this.#seats.length > 2 * this.count + FEW_SEATS) this.#seats = this.#seats.filter((seat) => this.isSeated(seat));
  }

  /** Whether the node would have room if no pod ran on it. Attach slots count as room: a limit may become known later. */
  couldHold(slot: number, { indexes, amounts }: Need): boolean {
    const allocatable = this.nodes[slot]?.allocatable;
    return indexes.every((index, at) => (amounts[at] ?? 0) <= (allocatable?.[index] ?? 0) || this.#resourceNames.isOpen(index));
  }

  /** Takes over the list as it is. It is copied before the first edit. */
  adopt(slot: number, pods: readonly Pod[]): void {
    this.#pods[slot] = pods;
    this.#ownList[slot] = false;
  }

  insert(slot: number, pod: Pod, at?: number): void {
    const list = this.#editable(slot);
    if (at === undefined) list.push(pod);
    else list.splice(at, 0, pod);
  }

  /** Returns the index that the pod had; negative if it was not there. */
  remove(slot: number, pod: Pod): number {
    const pods = this.podsAt(slot);
    // What is undone was added last.
    const same = pods.lastIndexOf(pod);
    const at = same >= 0 ? same : pods.findIndex(({ uid }) => uid === pod.uid);
    if (at >= 0) this.#editable(slot).splice(at, 1);
    return at;
  }

  /** Whether there is room for one more pod. Shared volumes that are attached do not count again, and exclusive disks must not conflict. */
  hasRoomFor(slot: number, { shape, need, shared }: SlotNeed): boolean {
    if (!fitsFree(need, this.free, slot * this.#stride)) return false;
    if (shape.loneDisks.length > 0 && takenDisk(shape.loneDisks, this.disksAt(slot)) !== undefined) return false;
    return shared.length === 0 || fitsFree(needOf(this.requestsAt(slot, shape)), this.free, slot * this.#stride);
  }

  /** What the pod would take of this node. */
  requestsAt(slot: number, { requests, sharedVolumes }: PodShape): Resources {
    if (sharedVolumes.length === 0) return requests;
    return requestsAlone({ requests, sharedVolumes: this.#volumes.newTo(slot, sharedVolumes) });
  }

  takeResources(slot: number, { shape, need, shared }: SlotNeed): void {
    this.#addFree(slot, need, -1);
    if (shape.hostPorts.length > 0) this.#takePorts(slot, shape.hostPorts);
    if (shape.loneDisks.length > 0) this.#disks.set(slot, [...this.disksAt(slot), ...shape.loneDisks]);
    if (shared.length > 0) for (const volume of this.#volumes.attach(slot, shared)) this.#addFree(slot, volume.need, -1);
  }

  returnResources(slot: number, { shape, need, shared }: SlotNeed): void {
    this.#addFree(slot, need, 1);
    if (shape.hostPorts.length > 0) this.#giveBackPorts(slot, shape.hostPorts);
    if (shape.loneDisks.length > 0) this.#giveBackDisks(slot, shape.loneDisks);
    if (shared.length > 0) for (const volume of this.#volumes.detach(slot, shared)) this.#addFree(slot, volume.need, 1);
  }

  /** `sign` is 1 if a pod leaves, -1 if it arrives. */
  #addFree(slot: number, need: Need, sign: 1 | -1): void {
    const base = slot * this.#stride;
    const { indexes, amounts } = need;
    for (let at = 0; at < indexes.length; at++) {
      const index = base + (indexes[at] ?? 0);
      this.free[index] = (this.free[index] ?? 0) + sign * (amounts[at] ?? 0);
    }
  }

  #takePorts(slot: number, ports: readonly HostPort[]): void {
    const used = this.#ports[slot];
    if (used === undefined) this.#ports[slot] = [...ports];
    else used.push(...ports);
  }

  #giveBackPorts(slot: number, ports: readonly HostPort[]): void {
    const used = this.#ports[slot] ?? [];
    for (const port of ports) {
      const at = used.findIndex((other) => other.port === port.port && other.protocol === port.protocol && other.hostIp === port.hostIp);
      if (at >= 0) used.splice(at, 1);
    }
  }

  #giveBackDisks(slot: number, disks: readonly InlineDisk[]): void {
    const left = [...this.disksAt(slot)];
    for (const disk of disks) left.splice(left.indexOf(disk), 1);
    if (left.length > 0) this.#disks.set(slot, left);
    else this.#disks.delete(slot);
  }

  #editable(slot: number): Pod[] {
    if (this.#ownList[slot] === true) return this.#pods[slot] as Pod[];
    const list = [...this.podsAt(slot)];
    this.#pods[slot] = list;
    this.#ownList[slot] = true;
    return list;
  }

  #reach(slot: number): void {
    while (this.nodes.length <= slot) this.nodes.push(undefined);
    if (slot < this.live.length) return;
    const length = Math.max(slot + 1, this.live.length * 2);
    this.stamps = grown(this.stamps, new Float64Array(length));
    this.free = grown(this.free, new Float64Array(length * this.#stride));
    const live = new Uint8Array(length);
    live.set(this.live);
    this.live = live;
    const cordoned = new Uint8Array(length);
    cordoned.set(this.cordoned);
    this.cordoned = cordoned;
  }
}

function grown(from: Float64Array, to: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  to.set(from);
  return to;
}
