/**
 * The what-if model of the cluster: whether a pod would run on a node, and what would be left. A fork is an undo log: it costs what it
 * changes, and never a copy of the cluster. Must not know groups, clouds or clocks.
 */
import type { NodeName } from '../../domain/ids.ts';
import { NAMESPACE_NAME } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { DeviceLedger, type DeviceSeat } from '../devices/device-ledger.ts';
import { type DeviceAllocationFailure, findAllocationFailure } from './device-allocation-failure.ts';
import { findInterdependent } from './interdependent-shapes.ts';
import { noOperations } from './operation-counts.ts';
import { NodeSlots } from './node-slots.ts';
import { fitsAlone, fitReasons, type FitIndexes } from './pod-fit.ts';
import { ShapeTable, type CompiledShape } from './shape-table.ts';
import { SimulatedNodes } from './simulated-nodes.ts';
import { type PlacementRules, type ShapeTies, type SplitRules, TopologyIndex } from './topology-index.ts';
import { bug, UndoLog } from './undo-log.ts';
import { compareText } from '../../lib/comparison.ts';
import { finishAtOnce, type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import type { SnapshotNode, Snapshot } from './snapshot.ts';

/** Beyond these sizes, cached data is dropped at the next sync, so that weeks of churn do not let it grow for ever. */
const MAX_COUNTERS = 5_000;
/** Host names are topology values: every counter keeps a place for each that ever existed, so old ones must be dropped. */
const SPARE_DOMAINS = 10_000;

/** The labels of namespaces influence which pods a term matches, so a change of them drops the caches too. */
function mustReset(ledger: TopologyIndex, namespaces: ClusterView['namespaces'], cluster: ClusterView): boolean {
  if (ledger.size > MAX_COUNTERS) return true;
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

const NO_PODS: readonly Pod[] = [];
/** Changes undone between two places where a revert may be interrupted. */
const UNDONE_PER_STEP = 256;

export class ClusterSnapshot implements Snapshot {
  readonly #names: ResourceNames;
  readonly operations = noOperations();
  #slots: NodeSlots;
  #ledger: TopologyIndex;
  #shapes: ShapeTable;
  #devices = new DeviceLedger();
  #namespaces: ClusterView['namespaces'] = new Map();
  /** Slots in search order: by name, then in order of addition. */
  #order: number[] = [];
  readonly #undo = new UndoLog();
  /** Increases whenever there may be more room: pods that did not fit before are then tried again. */
  #room = 0;
  #epoch = 0;
  /** Per slot, the pod list of the view that it was loaded from. */
  #synced: (readonly Pod[])[] = [];
  #seen: Pick<ClusterView, 'nodes' | 'podsByNode'> | undefined;

  constructor(options: { readonly names: ResourceNames }) {
    this.#names = options.names;
    this.#slots = new NodeSlots(options.names);
    this.#ledger = this.#newLedger();
    this.#shapes = new ShapeTable(this.#ledger);
  }

  /**
   * Updates the snapshot to the view. Only changes cost time: nodes and pod lists are compared by identity.
   * @throws AutoscalerError `bug` while a fork is open.
   */
  sync(cluster: ClusterView): void {
    finishAtOnce(this.syncInSlices(cluster));
  }

  /** The same in slices. Nothing else may use the snapshot before it ends. */
  *syncInSlices(cluster: ClusterView): SlicedWork<void> {
    if (this.#undo.isForked) throw bug('The snapshot was synced while a fork was open.');
    this.#room += 1;
    this.#epoch += 1;
    if (mustReset(this.#ledger, this.#namespaces, cluster)) this.#reset();
    this.#namespaces = cluster.namespaces;
    const unchanged = this.#seen?.nodes === cluster.nodes && this.#seen.podsByNode === cluster.podsByNode;
    if (!unchanged || this.#undo.dirty.size > 0) yield* this.#loadChanges(cluster);
    this.#shapes.beginEpoch();
  }

  *#loadChanges(cluster: ClusterView): SlicedWork<void> {
    const gone = this.#dropAbsent(cluster);
    const come = yield* this.#loadPresent(cluster);
    if (gone || come) this.#rebuildOrder();
    this.#undo.dirty.clear();
    this.#seen = { nodes: cluster.nodes, podsByNode: cluster.podsByNode };
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
    this.#countPod(pod, slot);
    this.#devices.allocateFor(slot, pod);
    this.#slots.insert(slot, pod);
    this.#undo.record(slot, () => {
      this.#slots.remove(slot, pod);
      this.#uncountPod(pod, slot);
      this.#devices.release(slot, pod);
    });
  }

  /** @throws AutoscalerError `bug` if the pod is not there. */
  removePod(pod: Pod, node: NodeName): void {
    const slot = this.#slots.slotNamed(node);
    const at = this.#slots.remove(slot, pod);
    if (at < 0) throw bug(`Pod ${pod.namespace}/${pod.name} is not on node ${node}.`);
    this.#uncountPod(pod, slot);
    const had = this.#devices.release(slot, pod);
    this.#room += 1;
    this.#undo.record(slot, () => {
      this.#countPod(pod, slot);
      this.#devices.restorePod(slot, pod, had);
      this.#slots.insert(slot, pod, at);
    });
  }

  check(pod: Pod, node: NodeName): readonly FitReason[] {
    const slot = this.#slots.slotNamed(node);
    const { ties } = this.#compiled(pod.shape);
    return fitReasons(this.#indexes(), { shape: pod.shape, ties }, slot);
  }

  /** Why kube-scheduler binds the pod to no node at all, whatever else is there; see {@link findAllocationFailure}. */
  deviceAllocationFailure(pod: Pod): DeviceAllocationFailure | undefined {
    return findAllocationFailure(this.#compiled(pod.shape), this.#order, this.#indexes());
  }

  /** Whether the rules that depend on other pods (spread, affinity, anti-affinity, devices, shared volumes) accept the pod. */
  admitsBesideOthers(pod: Pod, node: NodeName): boolean {
    const slot = this.#slots.slotNamed(node);
    const compiled = this.#compiled(pod.shape);
    return this.#ledger.admits(compiled.ties, slot) && this.#slots.hasRoomFor(slot, compiled) && this.#devices.hasFor(pod.shape, slot);
  }

  /** The rules between pods that decide about pods of this shape; see {@link admitsBy}. */
  splitRules(shape: PodShape): SplitRules {
    return this.#ledger.splitRules(this.#compiled(shape).ties);
  }

  admitsBy(rules: PlacementRules, node: NodeName): boolean {
    this.operations.predicatesCalled += 1;
    return this.#ledger.admitsBy(rules, this.#slots.slotNamed(node));
  }

  /** Nodes that are only counted, for pods of these shapes. `ownPods` are the pods that come with the nodes. */
  *simulateNodes(shapes: readonly PodShape[], ownPods: readonly Pod[]): SlicedWork<SimulatedNodes> {
    const tiesOf = (shape: PodShape): ShapeTies => this.#compiled(shape).ties;
    for (const { shape } of ownPods) tiesOf(shape);
    // Found once per shape, the counters that it asks are known from then on.
    yield* visitInSlices(shapes, (shape) => void this.#ledger.askedBy(tiesOf(shape)));
    return new SimulatedNodes({ ledger: this.#ledger, tiesOf, shapes, firstSlot: this.#slots.count, operations: this.operations });
  }

  /** For each spread constraint of the pod, the pods of its emptiest domain. */
  spreadFloors(pod: Pod): readonly number[] {
    return this.#ledger.spreadFloors(this.#compiled(pod.shape).ties);
  }

  /** Whether a node with these labels would open a domain that is new to a spread constraint of the pod. */
  opensDomain(pod: Pod, labels: Node['labels']): boolean {
    return this.#ledger.opensDomain(this.#compiled(pod.shape).ties, labels);
  }

  /**
   * The first node that fits and that `accepts` allows. The search is round robin: it starts after the last node found for equal pods, and
   * from the first node after every sync. Cordoned nodes are skipped even for pods that tolerate the taint, since they are about to be
   * removed.
   */
  findNode(pod: Pod, accepts?: (node: NodeName) => boolean): NodeName | undefined {
    const compiled = this.#compiled(pod.shape);
    if (compiled.refusedAt === this.#room) return undefined;
    const tied = this.#ledger.isTied(compiled.ties);
    const count = this.#order.length;
    const start = compiled.cursorEpoch === this.#epoch ? compiled.cursor : 0;
    // Pods placed in the meantime may make an interdependent pod fit, but they never make room.
    let refused = true;
    for (let step = 0; step < count; step++) {
      this.operations.nodesVisited += 1;
      const position = start + step < count ? start + step : start + step - count;
      const slot = this.#order[position] ?? 0;
      if (!fitsAlone(compiled, slot, this.#slots, this.#devices)) continue;
      refused = false;
      if (tied) this.operations.predicatesCalled += 1;
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
   * The shapes whose placement depends on other pods, or that other pods' placement depends on: by their own rules, by anti-affinity of
   * present pods, or because a rule of another shape counts them. All other shapes are plain arithmetic.
   */
  *interdependentShapes(shapes: readonly PodShape[]): SlicedWork<ReadonlySet<PodShape>> {
    const ties: ShapeTies[] = [];
    yield* visitInSlices(shapes, (shape) => void ties.push(this.#compiled(shape).ties));
    return yield* findInterdependent(ties, this.#ledger);
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

  *revertInSlices(): SlicedWork<void> {
    for (; this.#undo.left > UNDONE_PER_STEP; yield) this.#undo.undoNewest(UNDONE_PER_STEP);
    this.revert();
  }

  #indexes(): FitIndexes {
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
      this.#countPod(pod, slot);
      this.#devices.allocateFor(slot, pod);
    }
    this.#slots.adopt(slot, pods);
  }

  #unload(slot: number): DeviceSeat | undefined {
    for (const pod of this.#slots.podsAt(slot)) this.#uncountPod(pod, slot);
    this.#ledger.moveNode(slot, this.#slots.nodeAt(slot), -1);
    this.#slots.vacate(slot);
    return this.#devices.vacate(slot);
  }

  #countPod(pod: Pod, slot: number): void {
    const compiled = this.#compiled(pod.shape);
    this.#slots.takeResources(slot, compiled);
    this.#ledger.movePod(compiled.ties, slot, 1, pod.deletionAtMs !== undefined);
  }

  #uncountPod(pod: Pod, slot: number): void {
    const compiled = this.#compiled(pod.shape);
    this.#slots.returnResources(slot, compiled);
    this.#ledger.movePod(compiled.ties, slot, -1, pod.deletionAtMs !== undefined);
  }

  #dropAbsent(cluster: ClusterView): boolean {
    const absent = [...this.#slots.slotOf].filter(([name]) => !cluster.nodes.has(name));
    for (const [, slot] of absent) {
      this.#unload(slot);
      this.#slots.clear(slot);
      this.#synced[slot] = NO_PODS;
    }
    return absent.length > 0 || this.#undo.dirty.size > 0;
  }

  *#loadPresent(cluster: ClusterView): SlicedWork<boolean> {
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
      yield;
    }
    return come;
  }

  #rebuildOrder(): void {
    const names = [...this.#slots.slotOf.keys()].sort(compareText);
    this.#order = names.map((name) => this.#slots.slotNamed(name));
  }

  #reset(): void {
    this.#slots = new NodeSlots(this.#names);
    this.#ledger = this.#newLedger();
    this.#shapes = new ShapeTable(this.#ledger);
    this.#devices = new DeviceLedger();
    this.#order = [];
    this.#synced = [];
    this.#undo.dirty.clear();
    this.#seen = undefined;
  }

  #newLedger(): TopologyIndex {
    return new TopologyIndex(this.#slots, (namespace) => this.#namespaces.get(namespace) ?? { [NAMESPACE_NAME]: namespace });
  }
}
