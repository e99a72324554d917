/**
 * The what-if model of the cluster: would this pod run there, and what would be left? Forks are an undo log, so a
 * question costs what it changes and never a copy of the cluster. Must not know groups, clouds or clocks.
 */
import type { NodeName } from '../../domain/ids.ts';
import { NAMESPACE_NAME } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { DeviceLedger, type DeviceSeat } from '../devices/device-ledger.ts';
import { type DeviceFault, deviceFaultOf } from './device-allocation-failure.ts';
import { findTied } from './interdependent-shapes.ts';
import { NodeSlots } from './node-slots.ts';
import { fitsAlone, refusals, type Refusing } from './pod-fit.ts';
import { ShapeTable, type CompiledShape } from './shape-table.ts';
import { TopologyLedger } from './topology-index.ts';
import { bug, UndoLog } from './undo-log.ts';
import { compareBy } from '../../lib/comparison.ts';
import type { Forkable } from './fork.ts';

// When what a snapshot has learnt is dropped: weeks of churn must leave nothing behind that only grows.

/** Beyond these, what was learnt about shapes and terms that may be long gone is dropped at the next sync. */
const MAX_SHAPES = 50_000;
const MAX_COUNTERS = 5_000;
/** Host names are topology values: every counter has a place for each that ever was, so those of old nodes must go in the end. */
const SPARE_DOMAINS = 10_000;

/** Namespaces' labels are baked into what the terms matched; and nothing learnt is kept for ever. */
export function mustForget(
  {
    shapes,
    ledger,
    namespaces,
  }: { readonly shapes: ShapeTable; readonly ledger: TopologyLedger; readonly namespaces: ClusterView['namespaces'] },
  cluster: ClusterView,
): boolean {
  if (shapes.size > MAX_SHAPES || ledger.size > MAX_COUNTERS) return true;
  if (ledger.domains > SPARE_DOMAINS + 2 * cluster.nodes.size) return true;
  return ledger.size > 0 && !sameNamespaces(namespaces, cluster.namespaces);
}

function sameNamespaces(left: ClusterView['namespaces'], right: ClusterView['namespaces']): boolean {
  if (left === right) return true;
  if (left.size !== right.size) return false;
  for (const [name, labels] of left) {
    const other = right.get(name);
    if (other !== labels && (other === undefined || JSON.stringify(other) !== JSON.stringify(labels))) return false;
  }
  return true;
}

/** A node that could be: an upcoming node or a template during an estimate. */
export interface SnapshotNode {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** The what-if model of the cluster. `cluster-snapshot.ts` implements it; planning talks to this. Pure: no I/O, no clock. */
export interface Snapshot extends Forkable {
  nodeNames(): readonly NodeName[];
  get(name: NodeName): SnapshotNode | undefined;
  addNode(node: Node, pods: readonly Pod[]): void;
  removeNode(name: NodeName): void;
  addPod(pod: Pod, node: NodeName): void;
  removePod(pod: Pod, node: NodeName): void;
  /** Every predicate; empty when the pod fits. */
  check(pod: Pod, node: NodeName): readonly FitReason[];
  /** The first node (stable order, starting after the last match for equal pods) that fits and that `accepts` allows. */
  findNode(pod: Pod, accepts?: (node: NodeName) => boolean): NodeName | undefined;
  /** Set: kube-scheduler binds the pod to no node at all, as it cannot judge its claims on this one. */
  deviceFault(pod: Pod): DeviceFault | undefined;
}

const NO_PODS: readonly Pod[] = [];

export class ClusterSnapshot implements Snapshot {
  readonly #names: ResourceNames;
  #slots: NodeSlots;
  #ledger: TopologyLedger;
  #shapes: ShapeTable;
  #devices = new DeviceLedger();
  #namespaces: ClusterView['namespaces'] = new Map();
  /** Slots in search order: by name, then in order of addition. */
  #order: number[] = [];
  readonly #undo = new UndoLog();
  /** Grows whenever room may have been made: what did not fit before is worth another look. */
  #room = 0;
  #epoch = 0;
  /** Per slot, the view's own list that it was loaded from. */
  #synced: (readonly Pod[])[] = [];
  #seen: Pick<ClusterView, 'nodes' | 'podsByNode'> | undefined;

  constructor(options: { readonly names: ResourceNames }) {
    this.#names = options.names;
    this.#slots = new NodeSlots(options.names);
    this.#ledger = this.#newLedger();
    this.#shapes = new ShapeTable(this.#ledger);
  }

  /**
   * Brings the snapshot to the view, touching only what changed: nodes and pod lists are compared by identity.
   * @throws AutoscalerError `bug` while a fork is open.
   */
  sync(cluster: ClusterView): void {
    if (this.#undo.isForked) throw bug('The snapshot was synced while a fork was open.');
    this.#room += 1;
    this.#epoch += 1;
    if (mustForget({ shapes: this.#shapes, ledger: this.#ledger, namespaces: this.#namespaces }, cluster)) this.#forget();
    this.#namespaces = cluster.namespaces;
    const unchanged = this.#seen?.nodes === cluster.nodes && this.#seen.podsByNode === cluster.podsByNode;
    if (unchanged && this.#undo.dirty.size === 0) return;
    const gone = this.#dropAbsent(cluster);
    const come = this.#loadPresent(cluster);
    if (gone || come) this.#rebuildOrder();
    this.#undo.dirty.clear();
    this.#seen = { nodes: cluster.nodes, podsByNode: cluster.podsByNode };
  }

  /** Values of one topology label that are kept in mind; for tests of what weeks of churn leave behind. */
  get rememberedDomains(): number {
    return this.#ledger.domains;
  }

  nodeNames(): readonly NodeName[] {
    return this.#order.filter((slot) => this.#slots.live[slot] === 1).map((slot) => this.#slots.nodeAt(slot).name);
  }

  get(name: NodeName): SnapshotNode | undefined {
    const slot = this.#slots.slotOf.get(name);
    return slot === undefined ? undefined : { node: this.#slots.nodeAt(slot), pods: [...this.#slots.podsAt(slot)] };
  }

  addNode(node: Node, pods: readonly Pod[]): void {
    if (this.#slots.slotOf.has(node.name)) throw bug(`Node ${node.name} is in the snapshot already.`);
    const slot = this.#slots.count;
    this.#load(slot, node, pods);
    this.#order.push(slot);
    this.#room += 1;
    this.#undo.record(slot, () => {
      this.#unload(slot);
      this.#slots.dropLast();
      this.#order.pop();
    });
  }

  removeNode(name: NodeName): void {
    const slot = this.#slots.slotNamed(name);
    const node = this.#slots.nodeAt(slot);
    const pods = this.#slots.podsAt(slot);
    const devices = this.#unload(slot);
    this.#undo.record(slot, () => {
      this.#load(slot, node, pods);
      this.#devices.putBack(slot, devices);
    });
  }

  addPod(pod: Pod, node: NodeName): void {
    const slot = this.#slots.slotNamed(node);
    this.#take(pod, slot);
    this.#devices.take(slot, pod);
    this.#slots.insert(slot, pod);
    this.#undo.record(slot, () => {
      this.#slots.remove(slot, pod);
      this.#giveBack(pod, slot);
      this.#devices.release(slot, pod);
    });
  }

  /** @throws AutoscalerError `bug` when the pod is not there. */
  removePod(pod: Pod, node: NodeName): void {
    const slot = this.#slots.slotNamed(node);
    const at = this.#slots.remove(slot, pod);
    if (at < 0) throw bug(`Pod ${pod.namespace}/${pod.name} is not on node ${node}.`);
    this.#giveBack(pod, slot);
    const had = this.#devices.release(slot, pod);
    this.#room += 1;
    this.#undo.record(slot, () => {
      this.#take(pod, slot);
      this.#devices.give(slot, pod, had);
      this.#slots.insert(slot, pod, at);
    });
  }

  check(pod: Pod, node: NodeName): readonly FitReason[] {
    const slot = this.#slots.slotNamed(node);
    const { ties } = this.#compiled(pod.shape);
    return refusals(this.#parts(), { shape: pod.shape, ties }, slot);
  }

  /** Why kube-scheduler binds the pod to no node at all, whatever else is there; see {@link deviceFaultOf}. */
  deviceFault(pod: Pod): DeviceFault | undefined {
    return deviceFaultOf(this.#compiled(pod.shape), this.#order, this.#parts());
  }

  /** Whether what depends on other pods (spread, affinity, anti-affinity, devices, shared volumes) lets the pod in. */
  admitsBesideOthers(pod: Pod, node: NodeName): boolean {
    const slot = this.#slots.slotNamed(node);
    const compiled = this.#compiled(pod.shape);
    return this.#ledger.admits(compiled.ties, slot) && this.#slots.hasRoomFor(slot, compiled) && this.#devices.hasFor(pod.shape, slot);
  }

  /** For each spread constraint of the pod, the pods of its emptiest domain. */
  spreadFloors(pod: Pod): readonly number[] {
    return this.#ledger.spreadFloors(this.#compiled(pod.shape).ties);
  }

  /** Whether a node with these labels would be in a domain that a spread constraint of the pod does not know yet. */
  opensDomain(pod: Pod, labels: Node['labels']): boolean {
    return this.#ledger.opensDomain(this.#compiled(pod.shape).ties, labels);
  }

  /**
   * The first node that fits and that `accepts` allows, searching round robin from behind the last one found for equal
   * pods; the round begins anew at every sync. Cordoned nodes are passed over even for pods that tolerate them: what is
   * cordoned is about to leave.
   */
  findNode(pod: Pod, accepts?: (node: NodeName) => boolean): NodeName | undefined {
    const compiled = this.#compiled(pod.shape);
    if (compiled.refusedAt === this.#room) return undefined;
    const tied = this.#ledger.isTied(compiled.ties);
    const count = this.#order.length;
    const start = compiled.cursorEpoch === this.#epoch ? compiled.cursor : 0;
    // Pods that were placed meanwhile may let a tied pod in; a lack of room they never make good.
    let refused = true;
    for (let step = 0; step < count; step++) {
      const position = start + step < count ? start + step : start + step - count;
      const slot = this.#order[position] ?? 0;
      if (!fitsAlone(compiled, slot, this.#slots, this.#devices)) continue;
      refused = false;
      if (tied && !this.#ledger.admits(compiled.ties, slot)) continue;
      const name = this.#slots.nodeAt(slot).name;
      if (accepts !== undefined && !accepts(name)) continue;
      this.#moveCursor(compiled, position + 1 < count ? position + 1 : 0);
      return name;
    }
    if (refused) compiled.refusedAt = this.#room;
    return undefined;
  }

  /**
   * Those of the shapes whose placement and other pods' placement depend on each other: by rules of their own, by
   * anti-affinity of pods that are there, or because one of the others' rules counts them. The rest is plain arithmetic.
   */
  tiedShapes(shapes: readonly PodShape[]): ReadonlySet<PodShape> {
    const ties = shapes.map((shape) => this.#compiled(shape).ties);
    return findTied(ties, this.#ledger);
  }

  fork(): void {
    this.#undo.fork();
  }

  commit(): void {
    this.#undo.commit();
  }

  revert(): void {
    if (this.#undo.revert()) this.#room += 1;
  }

  #parts(): Refusing {
    return { slots: this.#slots, ledger: this.#ledger, devices: this.#devices, names: this.#names };
  }

  #moveCursor(compiled: CompiledShape, cursor: number): void {
    const { cursor: before, cursorEpoch } = compiled;
    this.#undo.recordAside(() => void Object.assign(compiled, { cursor: before, cursorEpoch }));
    compiled.cursor = cursor;
    compiled.cursorEpoch = this.#epoch;
  }

  #compiled(shape: PodShape): CompiledShape {
    const compiled = this.#shapes.of(shape);
    this.#slots.widen(compiled.width);
    return compiled;
  }

  #load(slot: number, node: Node, pods: readonly Pod[]): void {
    this.#slots.seat(slot, node);
    this.#ledger.moveNode(slot, node, 1);
    this.#slots.adopt(slot, NO_PODS);
    this.#devices.seat(slot, node);
    for (const pod of pods) {
      this.#take(pod, slot);
      this.#devices.take(slot, pod);
    }
    this.#slots.adopt(slot, pods);
  }

  #unload(slot: number): DeviceSeat | undefined {
    for (const pod of this.#slots.podsAt(slot)) this.#giveBack(pod, slot);
    this.#ledger.moveNode(slot, this.#slots.nodeAt(slot), -1);
    this.#slots.vacate(slot);
    return this.#devices.vacate(slot);
  }

  #take(pod: Pod, slot: number): void {
    const compiled = this.#compiled(pod.shape);
    this.#slots.take(slot, compiled);
    this.#ledger.movePod(compiled.ties, slot, 1, pod.deletionAtMs !== undefined);
  }

  #giveBack(pod: Pod, slot: number): void {
    const compiled = this.#compiled(pod.shape);
    this.#slots.giveBack(slot, compiled);
    this.#ledger.movePod(compiled.ties, slot, -1, pod.deletionAtMs !== undefined);
  }

  #dropAbsent(cluster: ClusterView): boolean {
    const absent = [...this.#slots.slotOf].filter(([name]) => !cluster.nodes.has(name));
    for (const [, slot] of absent) this.#unload(slot);
    return absent.length > 0 || this.#undo.dirty.size > 0;
  }

  #loadPresent(cluster: ClusterView): boolean {
    const vacant = this.#slots.nodes.map((_, slot) => slot).filter((slot) => this.#slots.live[slot] !== 1);
    let come = false;
    for (const [name, node] of cluster.nodes) {
      const pods = cluster.podsByNode.get(name) ?? NO_PODS;
      const known = this.#slots.slotOf.get(name);
      if (known !== undefined && !this.#undo.dirty.has(known) && this.#slots.nodeAt(known) === node && this.#synced[known] === pods)
        continue;
      if (known !== undefined) this.#unload(known);
      const slot = known ?? vacant.pop() ?? this.#slots.count;
      this.#load(slot, node, pods);
      this.#synced[slot] = pods;
      come ||= known === undefined;
    }
    return come;
  }

  #rebuildOrder(): void {
    const entries = [...this.#slots.slotOf].sort(compareBy(([key]) => key));
    this.#order = entries.map(([, slot]) => slot);
  }

  #forget(): void {
    this.#slots = new NodeSlots(this.#names);
    this.#ledger = this.#newLedger();
    this.#shapes = new ShapeTable(this.#ledger);
    this.#devices = new DeviceLedger();
    this.#order = [];
    this.#synced = [];
    this.#undo.dirty.clear();
    this.#seen = undefined;
  }

  #newLedger(): TopologyLedger {
    return new TopologyLedger(this.#slots, (namespace) => this.#namespaces.get(namespace) ?? { [NAMESPACE_NAME]: namespace });
  }
}
