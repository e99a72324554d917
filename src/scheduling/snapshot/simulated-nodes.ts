/**
 * Nodes that exist only in the counts of pods per domain: an estimate adds thousands of them and drops them again. They have no object,
 * no pods and no resources, and count only in what the rules of the given shapes read: a scope asks about them when it is read, so
 * that a node costs the same for any number of scopes. Must not know why a node is added.
 */
import type { Node } from '../../domain/node.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { DomainCounter, DomainScope, NodesBeside, TopologyKey } from '../predicates/topology-domains.ts';
import type { OperationCounts } from './operation-counts.ts';
import type { PlacementRules, ShapeTies, SplitRules, TopologyIndex } from './topology-index.ts';

/** What nodes that differ only in their host names have in common. */
export interface NodeKind {
  /** The number of the value of each key. Undefined: every node has a value of its own. */
  readonly values: readonly (number | undefined)[];
  /** Whether a scope includes such nodes. */
  readonly isIn: (scope: DomainScope) => boolean;
  /** What counts the pods that every such node has; a counter is repeated for each pod. */
  readonly pods: readonly DomainCounter[];
}

interface SimulationInput {
  readonly ledger: TopologyIndex;
  readonly tiesOf: (shape: PodShape) => ShapeTies;
  /** All shapes whose rules will be asked. */
  readonly shapes: readonly PodShape[];
  /** The first slot that no node of the snapshot has. */
  readonly firstSlot: number;
  readonly operations: OperationCounts;
}

/** While there are any, nothing else may change the snapshot: the slots of the simulated nodes are its next ones. */
export class SimulatedNodes implements NodesBeside {
  readonly #firstSlot: number;
  readonly #keys: readonly TopologyKey[];
  readonly #scopes: readonly DomainScope[];
  readonly #counters = new Set<DomainCounter>();
  readonly #ledger: TopologyIndex;
  readonly #operations: OperationCounts;
  readonly #tiesOf: SimulationInput['tiesOf'];
  readonly #kinds: (NodeKind | undefined)[] = [];
  /** The number of nodes of each kind. */
  readonly #counts = new Map<NodeKind, number>();
  /** What was placed, in columns: an estimate places many thousand pods. */
  readonly #placedIn: (readonly DomainCounter[])[] = [];
  readonly #placedAt: number[] = [];
  readonly #placedCounts: number[] = [];

  constructor({ ledger, tiesOf, shapes, firstSlot, operations }: SimulationInput) {
    this.#operations = operations;
    this.#ledger = ledger;
    this.#tiesOf = tiesOf;
    this.#firstSlot = firstSlot;
    // The rules of one shape may be about pods of any other.
    for (const shape of shapes) for (const counter of ledger.askedBy(tiesOf(shape))) this.#counters.add(counter);
    const counters = [...this.#counters];
    this.#keys = [...new Set(counters.map(({ key }) => key))];
    this.#scopes = [...new Set(counters.flatMap(({ rule }) => rule.scope ?? []))];
  }

  /** `pods` are those that every such node has. */
  kindOf(node: Node, pods: readonly Pod[]): NodeKind {
    return {
      values: this.#keys.map((key) => (key.isHost && key.valueIn(node.labels) !== undefined ? undefined : key.numberIn(node.labels))),
      isIn: remembered((scope) => scope.includes(node)),
      pods: pods.flatMap(({ shape }) => this.countersOf(shape)),
    };
  }

  /** Equal for nodes between which no rule makes a difference. */
  describeKind(node: Node, pods: readonly Pod[]): string {
    const { values, pods: counters } = this.kindOf(node, pods);
    const included = this.#scopes.map((scope) => Number(scope.includes(node)));
    const numbers = [...this.#counters].map((counter) => counters.filter((other) => other === counter).length);
    return `${values.join()} ${included.join()} ${counters.length === 0 ? '' : numbers.join()}`;
  }

  splitRules(shape: PodShape): SplitRules {
    return this.#ledger.splitRules(this.#tiesOf(shape));
  }

  admits(rules: PlacementRules, slot: number): boolean {
    this.#operations.predicatesCalled += 1;
    return this.#ledger.admitsBy(rules, slot);
  }

  /** Whether a node with these labels would open a domain that is new to a spread constraint of the shape. */
  opensDomain(shape: PodShape, labels: Node['labels']): boolean {
    return this.#ledger.opensDomain(this.#tiesOf(shape), labels);
  }

  /** The counters that count such a pod. */
  countersOf(shape: PodShape): readonly DomainCounter[] {
    return this.#ledger.countedBy(this.#tiesOf(shape)).filter((counter) => this.#counters.has(counter));
  }

  /** Returns the slot of the new node. The pods that come with it are added after it, and removed before it. */
  add(kind: NodeKind): number {
    const slot = this.#firstSlot + this.#kinds.length;
    for (let at = 0; at < this.#keys.length; at++) {
      const key = this.#keys[at];
      key?.recordNumber(slot, kind.values[at] ?? key.spareNumber(this.#kinds.length));
    }
    this.#kinds.push(kind);
    this.#count(kind, 1);
    for (const counter of kind.pods) counter.movePods(slot, 1);
    return slot;
  }

  /** The node must have no pods but those of its kind. */
  remove(slot: number): void {
    const at = slot - this.#firstSlot;
    const kind = this.#kinds[at];
    if (kind === undefined) return;
    for (const counter of kind.pods) counter.movePods(slot, -1);
    this.#count(kind, -1);
    if (at === this.#kinds.length - 1) this.#kinds.pop();
    else this.#kinds[at] = undefined;
  }

  #count(kind: NodeKind, by: 1 | -1): void {
    const before = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, before + by);
    const isFirstOrLast = before === 0 || before + by === 0;
    for (let at = 0; at < this.#keys.length; at++) {
      const key = this.#keys[at];
      if (key === undefined) continue;
      key.beside = this;
      // Another node with the same value changes nothing.
      if (isFirstOrLast || kind.values[at] === undefined) key.changesBeside += 1;
    }
  }

  place(counters: readonly DomainCounter[], slot: number, count: number): void {
    if (counters.length === 0) return;
    for (const counter of counters) counter.movePods(slot, count);
    this.#placedIn.push(counters);
    this.#placedAt.push(slot);
    this.#placedCounts.push(count);
  }

  /** Removes all pods and nodes. No more can be added after that. */
  clear(): void {
    for (let at = 0; at < this.#placedIn.length; at++) {
      for (const counter of this.#placedIn[at] ?? []) counter.movePods(this.#placedAt[at] ?? 0, -(this.#placedCounts[at] ?? 0));
    }
    this.#kinds.forEach((kind, at) => {
      for (const counter of kind?.pods ?? []) counter.movePods(this.#firstSlot + at, -1);
    });
    for (const key of this.#keys) {
      key.beside = undefined;
      key.changesBeside += 1;
    }
  }

  has(slot: number): boolean {
    return slot >= this.#firstSlot;
  }

  isIncluded(scope: DomainScope, slot: number): boolean {
    return this.#kinds[slot - this.#firstSlot]?.isIn(scope) === true;
  }

  countDomains(scope: DomainScope, key: TopologyKey, isKnown: (value: number) => boolean): number {
    this.#operations.scopesRead += 1;
    const at = this.#keys.indexOf(key);
    const values = new Set<number>();
    let hosts = 0;
    for (const [kind, count] of this.#counts) {
      if (count === 0 || !kind.isIn(scope)) continue;
      const value = kind.values[at];
      if (value === undefined) hosts += count;
      else if (value >= 0 && !isKnown(value)) values.add(value);
    }
    return hosts + values.size;
  }

  isDomain(scope: DomainScope, key: TopologyKey, value: number): boolean {
    const at = this.#keys.indexOf(key);
    for (const [kind, count] of this.#counts) if (count > 0 && kind.values[at] === value && kind.isIn(scope)) return true;
    return false;
  }
}

/** Asked once about each scope that is read: there may be as many scopes as pods. */
function remembered(includes: NodeKind['isIn']): NodeKind['isIn'] {
  const known = new Map<DomainScope, boolean>();
  return (scope) => {
    const found = known.get(scope) ?? includes(scope);
    known.set(scope, found);
    return found;
  };
}
