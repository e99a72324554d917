/**
 * Counts of pods per topology domain, updated as pods and nodes come and go. One counter serves every shape with the same question ("pods
 * like these, per zone"), so a check is a look-up and never a walk over the cluster.
 */
import type { Labels } from '../../domain/labels.ts';
import type { Node } from '../../domain/node.ts';
import type { PodShape } from '../../domain/pod.ts';

// One topology label: its values as small numbers, and the value of each node slot.

const ABSENT = -1;
const HOSTNAME = 'kubernetes.io/hostname';

/** Nodes that an estimate adds beside those of the cluster and drops again. A scope asks about them when it is read, and never before. */
export interface NodesBeside {
  has(slot: number): boolean;
  isIncluded(scope: DomainScope, slot: number): boolean;
  /** The number of domains in which the scope includes such nodes and, according to `isKnown`, no other ones. */
  countDomains(scope: DomainScope, key: TopologyKey, isKnown: (value: number) => boolean): number;
  /** For values that labels can have. */
  isDomain(scope: DomainScope, key: TopologyKey, value: number): boolean;
}

export class TopologyKey {
  readonly label: string;
  /** undefined: no estimate is being made. */
  beside: NodesBeside | undefined;
  /** Grows whenever the values of these nodes change. */
  changesBeside = 0;
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #bySlot: number[] = [];
  readonly #spares: number[] = [];

  constructor(label: string) {
    this.label = label;
  }

  record(slot: number, labels: Labels): void {
    this.recordNumber(slot, this.numberIn(labels));
  }

  /** The same with the value's number. */
  recordNumber(slot: number, value: number): void {
    while (this.#bySlot.length < slot) this.#bySlot.push(ABSENT);
    this.#bySlot[slot] = value;
  }

  /** The number of the labels' value, which is known from then on. Negative: such a node is in no domain. */
  numberIn(labels: Labels): number {
    const value = this.valueIn(labels);
    return value === undefined ? ABSENT : this.#idOf(value);
  }

  /** Whether every node has a value of its own. */
  get isHost(): boolean {
    return this.label === HOSTNAME;
  }

  /** The number of a value that no node has, for a node without a name of its own. The same number for the same index. */
  spareNumber(index: number): number {
    while (this.#spares.length <= index) this.#spares.push(this.#names.push('') - 1);
    return this.#spares[index] ?? ABSENT;
  }

  /** undefined: such a node is in no domain. */
  valueIn(labels: Labels): string | undefined {
    const value = Object.hasOwn(labels, this.label) ? labels[this.label] : undefined;
    // An empty host name stands for a node with only a known zone: it is not a host yet.
    return value === '' && this.label === HOSTNAME ? undefined : value;
  }

  /** The number of values ever seen. */
  get size(): number {
    return this.#names.length;
  }

  /** The value's number; negative if the node lacks the label. */
  at(slot: number): number {
    return this.#bySlot[slot] ?? ABSENT;
  }

  /** The number of a value; negative if it was never seen. */
  numberOf(name: string): number {
    return this.#ids.get(name) ?? ABSENT;
  }

  nameOf(value: number): string {
    return this.#names[value] ?? '';
  }

  #idOf(value: string): number {
    const known = this.#ids.get(value);
    if (known !== undefined) return known;
    const id = this.#names.push(value) - 1;
    this.#ids.set(value, id);
    return id;
  }
}

// The values of a topology label that count as domains for a spread constraint: those of the nodes that it includes. Shared by all
// constraints that include the same nodes, so that a change of a node costs the same for any number of them.

export class DomainScope {
  readonly #key: TopologyKey;
  readonly #eligible: (node: Node) => boolean;
  /** Eligible nodes per domain. */
  readonly #nodes: number[] = [];
  /** By slot, 1 if the node is eligible. In bytes, as there may be a scope for each of many thousand pods. */
  #open = new Uint8Array(0);
  #domains = 0;
  /** The domains that an estimate opens, as of these changes. */
  #newDomains = 0;
  #seenChanges = -1;

  constructor(key: TopologyKey, eligible: (node: Node) => boolean) {
    this.#key = key;
    this.#eligible = eligible;
  }

  /** The number of domains among the eligible nodes. */
  get domains(): number {
    const { beside } = this.#key;
    return beside === undefined ? this.#domains : this.#domains + this.#domainsBeside(beside);
  }

  #domainsBeside(beside: NodesBeside): number {
    const { changesBeside } = this.#key;
    if (this.#seenChanges !== changesBeside) this.#newDomains = beside.countDomains(this, this.#key, (value) => this.#hasNodes(value));
    this.#seenChanges = changesBeside;
    return this.#newDomains;
  }

  #hasNodes(value: number): boolean {
    return (this.#nodes[value] ?? 0) > 0;
  }

  /** Whether an eligible node has this value. */
  isDomain(value: number): boolean {
    return this.#hasNodes(value) || this.#key.beside?.isDomain(this, this.#key, value) === true;
  }

  /** Whether a node with these labels would be in a new domain. */
  isNewDomain(labels: Node['labels']): boolean {
    const value = this.#key.valueIn(labels);
    return value !== undefined && !this.isDomain(this.#key.numberOf(value));
  }

  /** Whether the slot's node is eligible. */
  isEligible(slot: number): boolean {
    const { beside } = this.#key;
    return beside?.has(slot) === true ? beside.isIncluded(this, slot) : this.#open[slot] === 1;
  }

  /** `by` is 1 if the node comes, -1 if it leaves. Its pods must be added after it and removed before it. */
  moveNode(slot: number, node: Node, by: 1 | -1): void {
    const value = this.#key.at(slot);
    // What leaves came before: an undo of many nodes asks nothing again.
    const open = by === 1 ? value >= 0 && this.#eligible(node) : this.#open[slot] === 1;
    if (slot >= this.#open.length) this.#open = widened(this.#open, slot);
    this.#open[slot] = open && by === 1 ? 1 : 0;
    if (!open) return;
    while (this.#nodes.length <= value) this.#nodes.push(0);
    const nodes = (this.#nodes[value] ?? 0) + by;
    this.#nodes[value] = nodes;
    if (by === 1 && nodes === 1) this.#domains += 1;
    if (by === -1 && nodes === 0) this.#domains -= 1;
  }

  /** Whether the scope includes nodes with these labels and taints. */
  includes(node: Node): boolean {
    return this.#eligible(node);
  }
}

function widened(bytes: Uint8Array, slot: number): Uint8Array<ArrayBuffer> {
  const wider = new Uint8Array(Math.max(64, 2 * slot));
  wider.set(bytes);
  return wider;
}

export interface CounterRule {
  readonly counts: (shape: PodShape) => boolean;
  /** Spread constraints ignore terminating pods; affinity terms count them. */
  readonly countsTerminating: boolean;
  /** The nodes that make up the domains. undefined: domains do not matter, and every node's pods count. */
  readonly scope: DomainScope | undefined;
  /** No present pod can match yet, which saves the walk over the cluster. */
  readonly newborn: boolean;
}

/** Counts pods per domain. For spread constraints it knows the smallest domain without a walk over all. */
export class DomainCounter {
  readonly key: TopologyKey;
  readonly rule: CounterRule;
  total = 0;
  /** By value, those with pods. No list: each of many thousand counters of a rule per host counts pods of few of many thousand hosts. */
  readonly #pods = new Map<number, number>();
  /** Domains with at least one pod. */
  #occupied = 0;
  /** `#sizes[n]` is the number of domains with n pods. Only the scope knows the empty ones. */
  #sizes: number[] = [];
  #least = 0;

  constructor(key: TopologyKey, rule: CounterRule) {
    this.key = key;
    this.rule = rule;
  }

  podsIn(value: number): number {
    return this.#pods.get(value) ?? 0;
  }

  /** The number of domains among the eligible nodes. */
  get domains(): number {
    return this.rule.scope?.domains ?? 0;
  }

  /** The pods of the emptiest domain. 0 if there are fewer domains than `minDomains`. */
  least(minDomains: number): number {
    const { domains } = this;
    return domains < minDomains || this.#occupied < domains ? 0 : this.#least;
  }

  /** The first by name of the domains with the fewest pods; for sentences, as it walks over all values. undefined: there is no domain. */
  emptiest(): string | undefined {
    const { key, rule } = this;
    const domains = Array.from({ length: key.size }, (_, value) => value).filter((value) => rule.scope?.isDomain(value) === true);
    const fewest = Math.min(...domains.map((value) => this.podsIn(value)));
    return domains
      .filter((value) => this.podsIn(value) === fewest)
      .map((value) => key.nameOf(value))
      .sort()[0];
  }

  movePods(slot: number, by: number): void {
    const value = this.key.at(slot);
    const { scope } = this.rule;
    if (value < 0 || scope?.isEligible(slot) === false) return;
    const before = this.podsIn(value);
    if (before + by === 0) this.#pods.delete(value);
    else this.#pods.set(value, before + by);
    this.total += by;
    if (scope !== undefined) this.#resize(before, before + by);
  }

  #resize(from: number, to: number): void {
    if (from === 0) this.#occupied += 1;
    else this.#sizes[from] = (this.#sizes[from] ?? 0) - 1;
    if (to === 0) this.#occupied -= 1;
    else this.#enter(to);
    while (this.#least < this.#sizes.length && (this.#sizes[this.#least] ?? 0) === 0) this.#least += 1;
  }

  #enter(size: number): void {
    while (this.#sizes.length <= size) this.#sizes.push(0);
    this.#sizes[size] = (this.#sizes[size] ?? 0) + 1;
    if (size < this.#least || this.#occupied === 1) this.#least = size;
  }
}
