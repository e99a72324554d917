/**
 * The what-if model of the cluster: would this pod run there, and what would be left? Forks are an undo log, so a
 * question costs what it changes and never a copy of the cluster. Must not know groups, clouds or clocks.
 */
import { AutoscalerError } from '../domain/errors.ts';
import type { NodeName } from '../domain/ids.ts';
import type { Labels } from '../domain/labels.ts';
import type { Node } from '../domain/node.ts';
import type { ClusterView } from '../domain/observation.ts';
import type { Pod, PodShape } from '../domain/pod.ts';
import type { FitReason } from '../domain/reasons.ts';
import type { ResourceNames } from '../domain/resources.ts';
import { NodeSlots } from './node-slots.ts';
import { refusedByPorts, takenPort } from './predicates/ports.ts';
import { fitsFree, insufficientResources } from './predicates/resources-fit.ts';
import { ShapeTable, type CompiledShape } from './shape-table.ts';
import type { Snapshot, SnapshotNode } from './snapshot.ts';
import { fitsStatically, staticRefusals } from './static-fit.ts';
import { findTied } from './tied-shapes.ts';
import { TopologyLedger } from './topology-ledger.ts';

/** Beyond these, what was learnt about shapes and terms that may be long gone is dropped at the next sync. */
const MAX_SHAPES = 50_000;
const MAX_COUNTERS = 5_000;
/** Host names are topology values: every counter has a place for each that ever was, so those of old nodes must go in the end. */
const SPARE_DOMAINS = 10_000;
const NO_PODS: readonly Pod[] = [];
const NO_LABELS: Labels = {};

interface Undo {
  /** Negative: touches no node. */
  readonly slot: number;
  readonly undo: () => void;
}

export class ClusterSnapshot implements Snapshot {
  readonly #names: ResourceNames;
  #slots: NodeSlots;
  #ledger: TopologyLedger;
  #shapes: ShapeTable;
  #namespaces: ClusterView['namespaces'] = new Map();
  /** Slots in search order: by name, then in order of addition. */
  #order: number[] = [];
  #log: Undo[] = [];
  #forks: number[] = [];
  /** Slots that no longer are what the last view said. */
  readonly #dirty = new Set<number>();
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
    if (this.#forks.length > 0) throw bug('The snapshot was synced while a fork was open.');
    this.#room += 1;
    this.#epoch += 1;
    if (this.#mustForget(cluster)) this.#forget();
    this.#namespaces = cluster.namespaces;
    const unchanged = this.#seen?.nodes === cluster.nodes && this.#seen.podsByNode === cluster.podsByNode;
    if (unchanged && this.#dirty.size === 0) return;
    const gone = this.#dropAbsent(cluster);
    const come = this.#loadPresent(cluster);
    if (gone || come) this.#rebuildOrder();
    this.#dirty.clear();
    this.#seen = { nodes: cluster.nodes, podsByNode: cluster.podsByNode };
  }

  /** Values of one topology label that are kept in mind; for tests of what weeks of churn leave behind. */
  get rememberedDomains(): number {
    return this.#ledger.domains;
  }

  nodeNames(): readonly NodeName[] {
    return this.#order.filter((slot) => this.#slots.live[slot] === 1).map((slot) => this.#nodeAt(slot).name);
  }

  get(name: NodeName): SnapshotNode | undefined {
    const slot = this.#slots.slotOf.get(name);
    return slot === undefined ? undefined : { node: this.#nodeAt(slot), pods: [...this.#slots.podsAt(slot)] };
  }

  addNode(node: Node, pods: readonly Pod[]): void {
    if (this.#slots.slotOf.has(node.name)) throw bug(`Node ${node.name} is in the snapshot already.`);
    const slot = this.#slots.count;
    this.#load(slot, node, pods);
    this.#order.push(slot);
    this.#room += 1;
    this.#record(slot, () => {
      this.#unload(slot);
      this.#slots.dropLast();
      this.#order.pop();
    });
  }

  removeNode(name: NodeName): void {
    const slot = this.#slotOf(name);
    const node = this.#nodeAt(slot);
    const pods = this.#slots.podsAt(slot);
    this.#unload(slot);
    this.#record(slot, () => this.#load(slot, node, pods));
  }

  addPod(pod: Pod, node: NodeName): void {
    const slot = this.#slotOf(node);
    this.#take(pod, slot);
    this.#slots.insert(slot, pod);
    this.#record(slot, () => {
      this.#slots.remove(slot, pod);
      this.#giveBack(pod, slot);
    });
  }

  /** @throws AutoscalerError `bug` when the pod is not there. */
  removePod(pod: Pod, node: NodeName): void {
    const slot = this.#slotOf(node);
    const at = this.#slots.remove(slot, pod);
    if (at < 0) throw bug(`Pod ${pod.namespace}/${pod.name} is not on node ${node}.`);
    this.#giveBack(pod, slot);
    this.#room += 1;
    this.#record(slot, () => {
      this.#take(pod, slot);
      this.#slots.insert(slot, pod, at);
    });
  }

  check(pod: Pod, node: NodeName): readonly FitReason[] {
    const slot = this.#slotOf(node);
    const compiled = this.#compiled(pod.shape);
    return [
      ...staticRefusals(pod.shape, this.#nodeAt(slot)),
      ...refusedByPorts(pod.shape, this.#slots.portsAt(slot)),
      ...insufficientResources(pod.shape.requests, this.#slots.freeAt(slot), this.#names),
      ...this.#ledger.refusals(compiled.ties, slot),
    ];
  }

  /** Whether the predicates that look at other pods' places (spread, affinity, anti-affinity) let the pod in. */
  admitsTopology(pod: Pod, node: NodeName): boolean {
    return this.#ledger.admits(this.#compiled(pod.shape).ties, this.#slotOf(node));
  }

  /** For each spread constraint of the pod, the pods of its emptiest domain. */
  spreadFloors(pod: Pod): readonly number[] {
    return this.#ledger.spreadFloors(this.#compiled(pod.shape).ties);
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
      if (!this.#fits(compiled, slot)) continue;
      refused = false;
      if (tied && !this.#ledger.admits(compiled.ties, slot)) continue;
      const name = this.#nodeAt(slot).name;
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
    return findTied(
      shapes.map((shape) => this.#compiled(shape).ties),
      this.#ledger,
    );
  }

  fork(): void {
    this.#forks.push(this.#log.length);
  }

  commit(): void {
    if (this.#forks.pop() === undefined) throw bug('There is no fork to commit.');
    if (this.#forks.length > 0) return;
    for (const { slot } of this.#log) if (slot >= 0) this.#dirty.add(slot);
    this.#log = [];
  }

  revert(): void {
    const mark = this.#forks.pop();
    if (mark === undefined) throw bug('There is no fork to revert.');
    if (this.#log.length > mark) this.#room += 1;
    while (this.#log.length > mark) this.#log.pop()?.undo();
  }

  #fits(compiled: CompiledShape, slot: number): boolean {
    const slots = this.#slots;
    if (slots.live[slot] !== 1 || slots.cordoned[slot] === 1) return false;
    if (!fitsFree(compiled.need, slots.free, slot * slots.stride)) return false;
    if (!this.#fitsStatically(compiled, slot)) return false;
    const ports = compiled.shape.hostPorts;
    return ports.length === 0 || takenPort(ports, slots.portsAt(slot)) === undefined;
  }

  #fitsStatically(compiled: CompiledShape, slot: number): boolean {
    const { statics } = compiled;
    const stamp = (this.#slots.stamps[slot] ?? 0) * 2;
    const verdict = statics.verdicts[slot] ?? 0;
    if (verdict === stamp) return false;
    if (verdict === stamp + 1) return true;
    if (slot >= statics.verdicts.length) {
      const longer = new Float64Array(this.#slots.live.length);
      longer.set(statics.verdicts);
      statics.verdicts = longer;
    }
    const fits = fitsStatically(statics.wishes, this.#nodeAt(slot));
    statics.verdicts[slot] = stamp + (fits ? 1 : 0);
    return fits;
  }

  #moveCursor(compiled: CompiledShape, cursor: number): void {
    const { cursor: oldCursor, cursorEpoch: oldEpoch } = compiled;
    if (this.#forks.length > 0) {
      this.#log.push({
        slot: -1,
        undo: () => {
          compiled.cursor = oldCursor;
          compiled.cursorEpoch = oldEpoch;
        },
      });
    }
    compiled.cursor = cursor;
    compiled.cursorEpoch = this.#epoch;
  }

  #compiled(shape: PodShape): CompiledShape {
    const compiled = this.#shapes.of(shape);
    this.#slots.widen(compiled.need.length);
    return compiled;
  }

  #record(slot: number, undo: () => void): void {
    if (this.#forks.length > 0) this.#log.push({ slot, undo });
    else this.#dirty.add(slot);
  }

  #load(slot: number, node: Node, pods: readonly Pod[]): void {
    this.#slots.seat(slot, node);
    this.#ledger.moveNode(slot, node, 1);
    this.#slots.adopt(slot, NO_PODS);
    for (const pod of pods) this.#take(pod, slot);
    this.#slots.adopt(slot, pods);
  }

  #unload(slot: number): void {
    for (const pod of this.#slots.podsAt(slot)) this.#giveBack(pod, slot);
    this.#ledger.moveNode(slot, this.#nodeAt(slot), -1);
    this.#slots.vacate(slot);
  }

  #take(pod: Pod, slot: number): void {
    const { need, ties } = this.#compiled(pod.shape);
    this.#slots.give(slot, need, -1);
    if (pod.shape.hostPorts.length > 0) this.#slots.takePorts(slot, pod.shape.hostPorts);
    this.#ledger.movePod(ties, slot, 1, pod.deletionAtMs !== undefined);
  }

  #giveBack(pod: Pod, slot: number): void {
    const { need, ties } = this.#compiled(pod.shape);
    this.#slots.give(slot, need, 1);
    if (pod.shape.hostPorts.length > 0) this.#slots.giveBackPorts(slot, pod.shape.hostPorts);
    this.#ledger.movePod(ties, slot, -1, pod.deletionAtMs !== undefined);
  }

  #dropAbsent(cluster: ClusterView): boolean {
    const absent = [...this.#slots.slotOf].filter(([name]) => !cluster.nodes.has(name));
    for (const [, slot] of absent) this.#unload(slot);
    return absent.length > 0 || this.#dirty.size > 0;
  }

  #loadPresent(cluster: ClusterView): boolean {
    const vacant = this.#slots.nodes.map((_, slot) => slot).filter((slot) => this.#slots.live[slot] !== 1);
    let come = false;
    for (const [name, node] of cluster.nodes) {
      const pods = cluster.podsByNode.get(name) ?? NO_PODS;
      const known = this.#slots.slotOf.get(name);
      if (known !== undefined && !this.#dirty.has(known) && this.#nodeAt(known) === node && this.#synced[known] === pods) continue;
      if (known !== undefined) this.#unload(known);
      const slot = known ?? vacant.pop() ?? this.#slots.count;
      this.#load(slot, node, pods);
      this.#synced[slot] = pods;
      come ||= known === undefined;
    }
    return come;
  }

  #rebuildOrder(): void {
    const entries = [...this.#slots.slotOf].sort(([left], [right]) => (left < right ? -1 : 1));
    this.#order = entries.map(([, slot]) => slot);
  }

  /** Namespaces' labels are baked into what the terms matched; and nothing learnt is kept for ever. */
  #mustForget(cluster: ClusterView): boolean {
    if (this.#shapes.size > MAX_SHAPES || this.#ledger.size > MAX_COUNTERS) return true;
    if (this.#ledger.domains > SPARE_DOMAINS + 2 * cluster.nodes.size) return true;
    return this.#ledger.size > 0 && !sameNamespaces(this.#namespaces, cluster.namespaces);
  }

  #forget(): void {
    this.#slots = new NodeSlots(this.#names);
    this.#ledger = this.#newLedger();
    this.#shapes = new ShapeTable(this.#ledger);
    this.#order = [];
    this.#synced = [];
    this.#dirty.clear();
    this.#seen = undefined;
  }

  #newLedger(): TopologyLedger {
    const eachNode = (visit: (slot: number, node: Node, pods: readonly Pod[]) => void): void => {
      for (const slot of this.#slots.slotOf.values()) visit(slot, this.#nodeAt(slot), this.#slots.podsAt(slot));
    };
    return new TopologyLedger({ eachNode }, (namespace) => this.#namespaces.get(namespace) ?? NO_LABELS);
  }

  #nodeAt(slot: number): Node {
    const node = this.#slots.nodes[slot];
    if (node === undefined) throw bug(`There is no node in slot ${slot}.`);
    return node;
  }

  #slotOf(name: NodeName): number {
    const slot = this.#slots.slotOf.get(name);
    if (slot === undefined) throw bug(`Node ${name} is not in the snapshot.`);
    return slot;
  }
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

function bug(message: string): AutoscalerError {
  return new AutoscalerError({ kind: 'bug' }, message);
}
