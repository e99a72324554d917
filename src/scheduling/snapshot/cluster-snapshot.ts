/**
 * The what-if model of the cluster: whether a pod would run on a node, and what would be left. A fork is an undo log: it costs what it
 * changes, and never a copy of the cluster. Must not know groups, clouds or clocks.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { ClusterIndexes } from './cluster-indexes.ts';
import { type DeviceAllocationFailure, findAllocationFailure } from './device-allocation-failure.ts';
import { findInterdependent, type RuleClasses } from './interdependent-shapes.ts';
import { noOperations } from './operation-counts.ts';
import { fitsAlone, fitReasons } from './pod-fit.ts';
import { type CompiledShape, isRefusedByAll } from './shape-table.ts';
import { SimulatedNodes } from './simulated-nodes.ts';
import type { PlacementRules, ShapeTies, SplitRules } from './topology-index.ts';
import { bug, UndoLog } from './undo-log.ts';
import { compareText } from '../../lib/comparison.ts';
import { finishAtOnce, type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import type { SnapshotNode, Snapshot } from './snapshot.ts';

const NO_PODS: readonly Pod[] = [];
/** Changes undone between two places where a revert may be interrupted. */
const UNDONE_PER_STEP = 32;

export class ClusterSnapshot implements Snapshot {
  readonly operations = noOperations();
  readonly #indexes: ClusterIndexes;
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
    this.#indexes = new ClusterIndexes(options.names);
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
    if (this.#indexes.isOutdated(cluster)) this.#reset(cluster);
    this.#indexes.namespaces = cluster.namespaces;
    const unchanged = this.#seen?.nodes === cluster.nodes && this.#seen.podsByNode === cluster.podsByNode;
    if (!unchanged || this.#undo.dirty.size > 0) yield* this.#loadChanges(cluster);
    this.#indexes.slots.tidySeats();
    this.#indexes.shapes.beginEpoch();
  }

  *#loadChanges(cluster: ClusterView): SlicedWork<void> {
    const gone = this.#dropAbsent(cluster);
    const come = yield* this.#loadPresent(cluster);
    if (gone || come) this.#rebuildOrder();
    this.#undo.dirty.clear();
    this.#seen = { nodes: cluster.nodes, podsByNode: cluster.podsByNode };
  }

  nodeNames(): readonly NodeName[] {
    return this.#order.filter((slot) => this.#indexes.slots.live[slot] === 1).map((slot) => this.#indexes.slots.nodeAt(slot).name);
  }

  get(name: NodeName): SnapshotNode | undefined {
    const slot = this.#indexes.slots.slotOf.get(name);
    return slot === undefined ? undefined : { node: this.#indexes.slots.nodeAt(slot), pods: [...this.#indexes.slots.podsAt(slot)] };
  }

  addNode(node: Node, pods: readonly Pod[]): void {
    if (this.#indexes.slots.slotOf.has(node.name)) throw bug(`Node ${node.name} is in the snapshot already.`);
    const slot = this.#indexes.slots.count;
    this.#indexes.load(slot, node, pods);
    this.#order.push(slot);
    this.#room += 1;
    this.#undo.record(slot, () => {
      this.#indexes.unload(slot);
      this.#indexes.slots.dropLast();
      this.#order.pop();
    });
  }

  removeNode(name: NodeName): void {
    const slot = this.#indexes.slots.slotNamed(name);
    const node = this.#indexes.slots.nodeAt(slot);
    const pods = this.#indexes.slots.podsAt(slot);
    const devices = this.#indexes.unload(slot);
    this.#undo.record(slot, () => {
      this.#indexes.load(slot, node, pods);
      this.#indexes.devices.putBack(slot, devices);
    });
  }

  addPod(pod: Pod, node: NodeName): void {
    const slot = this.#indexes.slots.slotNamed(node);
    this.#indexes.countPod(pod, slot);
    this.#indexes.devices.allocateFor(slot, pod);
    this.#indexes.slots.insert(slot, pod);
    this.#undo.record(slot, () => {
      this.#indexes.slots.remove(slot, pod);
      this.#indexes.uncountPod(pod, slot);
      this.#indexes.devices.release(slot, pod);
    });
  }

  /** @throws AutoscalerError `bug` if the pod is not there. */
  removePod(pod: Pod, node: NodeName): void {
    const slot = this.#indexes.slots.slotNamed(node);
    const at = this.#indexes.slots.remove(slot, pod);
    if (at < 0) throw bug(`Pod ${pod.namespace}/${pod.name} is not on node ${node}.`);
    this.#indexes.uncountPod(pod, slot);
    const had = this.#indexes.devices.release(slot, pod);
    this.#room += 1;
    this.#undo.record(slot, () => {
      this.#indexes.countPod(pod, slot);
      this.#indexes.devices.restorePod(slot, pod, had);
      this.#indexes.slots.insert(slot, pod, at);
    });
  }

  check(pod: Pod, node: NodeName): readonly FitReason[] {
    const slot = this.#indexes.slots.slotNamed(node);
    const { ties } = this.#indexes.compiled(pod.shape);
    return fitReasons(this.#indexes, { shape: pod.shape, ties }, slot);
  }

  prepareRules(pods: readonly Pod[]): void {
    finishAtOnce(this.#indexes.ledger.prepare(pods.map(({ shape }) => this.#indexes.compiled(shape).ties)));
  }

  /** Why kube-scheduler binds the pod to no node at all, whatever else is there; see {@link findAllocationFailure}. */
  deviceAllocationFailure(pod: Pod): DeviceAllocationFailure | undefined {
    return findAllocationFailure(this.#indexes.compiled(pod.shape), this.#order, this.#indexes);
  }

  /** Whether the rules that depend on other pods (spread, affinity, anti-affinity, devices, shared volumes) accept the pod. */
  admitsBesideOthers(pod: Pod, node: NodeName): boolean {
    const slot = this.#indexes.slots.slotNamed(node);
    const compiled = this.#indexes.compiled(pod.shape);
    return (
      this.#indexes.ledger.admits(compiled.ties, slot) &&
      this.#indexes.slots.hasRoomFor(slot, compiled) &&
      this.#indexes.devices.hasFor(pod.shape, slot)
    );
  }

  /** The index of the first of these nodes, from `from` on, that the pod fits; negative if there is none. Cordoned nodes are skipped. */
  firstFit(pod: Pod, nodes: readonly NodeName[], from = 0): number {
    const { slots, ledger, devices } = this.#indexes;
    const compiled = this.#indexes.compiled(pod.shape);
    const tied = ledger.isTied(compiled.ties);
    for (let at = from; at < nodes.length; at++) {
      this.operations.nodesVisited += 1;
      const slot = slots.slotNamed(nodes[at] ?? '');
      if (fitsAlone(compiled, slot, slots, devices) && (!tied || ledger.admits(compiled.ties, slot))) return at;
    }
    return -1;
  }

  /** The rules between pods that decide about pods of this shape; see {@link admitsBy}. */
  splitRules(shape: PodShape): SplitRules {
    return this.#indexes.ledger.splitRules(this.#indexes.compiled(shape).ties);
  }

  admitsBy(rules: PlacementRules, node: NodeName): boolean {
    this.operations.predicatesCalled += 1;
    return this.#indexes.ledger.admitsBy(rules, this.#indexes.slots.slotNamed(node));
  }

  /** Nodes that are only counted, for pods of these shapes. `ownPods` are the pods that come with the nodes. */
  simulateNodes(shapes: readonly PodShape[], ownPods: readonly Pod[]): SimulatedNodes {
    const tiesOf = (shape: PodShape): ShapeTies => this.#indexes.compiled(shape).ties;
    for (const { shape } of ownPods) tiesOf(shape);
    return new SimulatedNodes({
      ledger: this.#indexes.ledger,
      tiesOf,
      shapes,
      firstSlot: this.#indexes.slots.count,
      operations: this.operations,
    });
  }

  /** For each spread constraint of the pod, the pods of its emptiest domain. */
  spreadFloors(pod: Pod): readonly number[] {
    return this.#indexes.ledger.spreadFloors(this.#indexes.compiled(pod.shape).ties);
  }

  /** Whether a node with these labels would open a domain that is new to a spread constraint of the pod. */
  opensDomain(pod: Pod, labels: Node['labels']): boolean {
    return this.#indexes.ledger.opensDomain(this.#indexes.compiled(pod.shape).ties, labels);
  }

  /**
   * The first node that fits and that `accepts` allows. The search is round robin: it starts after the last node found for equal pods, and
   * from the first node after every sync. Cordoned nodes are skipped even for pods that tolerate the taint, since they are about to be
   * removed.
   */
  findNode(pod: Pod, accepts?: (node: NodeName) => boolean): NodeName | undefined {
    const compiled = this.#indexes.compiled(pod.shape);
    if (compiled.refusedAt === this.#room) return undefined;
    const { slots, ledger, devices } = this.#indexes;
    // guard: pods that no node could hold take no time of searches
    if (isRefusedByAll(compiled, slots)) return undefined;
    const tied = ledger.isTied(compiled.ties);
    const count = this.#order.length;
    const start = compiled.cursorEpoch === this.#epoch ? compiled.cursor : 0;
    // Pods placed in the meantime may make an interdependent pod fit, but they never make room.
    let refused = true;
    for (let step = 0; step < count; step++) {
      this.operations.nodesVisited += 1;
      const position = start + step < count ? start + step : start + step - count;
      const slot = this.#order[position] ?? 0;
      if (!fitsAlone(compiled, slot, slots, devices)) continue;
      refused = false;
      if (tied) this.operations.predicatesCalled += 1;
      if (tied && !ledger.admits(compiled.ties, slot)) continue;
      const name = slots.nodeAt(slot).name;
      if (accepts !== undefined && !accepts(name)) continue;
      this.#moveCursor(compiled, position + 1 < count ? position + 1 : 0);
      return name;
    }
    if (refused) compiled.refusedAt = this.#room;
    return undefined;
  }

  /**
   * The shapes whose placement depends on other pods, or that other pods' placement depends on: by their own rules, by anti-affinity of
   * present pods, or because a rule of another shape counts them. All other shapes are plain arithmetic. `beside` are pods of new nodes.
   */
  *interdependentShapes(shapes: readonly PodShape[], beside: readonly PodShape[] = []): SlicedWork<RuleClasses> {
    const own = beside.map((shape) => this.#indexes.compiled(shape).ties);
    const ties: ShapeTies[] = [];
    yield* visitInSlices(shapes, (shape) => void ties.push(this.#indexes.compiled(shape).ties));
    return yield* findInterdependent(ties, own, this.#indexes.ledger);
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

  #moveCursor(compiled: CompiledShape, cursor: number): void {
    const { cursor: before, cursorEpoch } = compiled;
    this.#undo.recordAside(() => void Object.assign(compiled, { cursor: before, cursorEpoch }));
    compiled.cursor = cursor;
    compiled.cursorEpoch = this.#epoch;
  }

  #dropAbsent(cluster: ClusterView): boolean {
    const absent = [...this.#indexes.slots.slotOf].filter(([name]) => !cluster.nodes.has(name));
    for (const [, slot] of absent) {
      this.#indexes.unload(slot);
      this.#indexes.slots.clear(slot);
      this.#synced[slot] = NO_PODS;
    }
    return absent.length > 0 || this.#undo.dirty.size > 0;
  }

  *#loadPresent(cluster: ClusterView): SlicedWork<boolean> {
    const vacant = this.#indexes.slots.nodes.map((_, slot) => slot).filter((slot) => this.#indexes.slots.live[slot] !== 1);
    let come = false;
    for (const [name, node] of cluster.nodes) {
      const pods = cluster.podsByNode.get(name) ?? NO_PODS;
      const known = this.#indexes.slots.slotOf.get(name);
      if (known !== undefined && !this.#undo.dirty.has(known) && this.#indexes.slots.nodeAt(known) === node && this.#synced[known] === pods)
        continue;
      if (known !== undefined) this.#indexes.unload(known);
      const slot = known ?? vacant.pop() ?? this.#indexes.slots.count;
      this.#indexes.load(slot, node, pods);
      this.#synced[slot] = pods;
      come ||= known === undefined;
      yield;
    }
    return come;
  }

  #rebuildOrder(): void {
    const names = [...this.#indexes.slots.slotOf.keys()].sort(compareText);
    this.#order = names.map((name) => this.#indexes.slots.slotNamed(name));
  }

  #reset(cluster: ClusterView): void {
    this.#indexes.clear(cluster);
    this.#order = [];
    this.#synced = [];
    this.#undo.dirty.clear();
    this.#seen = undefined;
  }
}
