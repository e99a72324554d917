/**
 * Pods counted per topology domain, kept as pods and nodes come and go. One counter serves every shape that asks the
 * same question ("pods like these, per zone"), so a check costs a look-up and never a walk over the cluster.
 */
import type { Labels } from '../domain/labels.ts';
import type { Node } from '../domain/node.ts';
import type { PodShape } from '../domain/pod.ts';

const ABSENT = -1;
const HOSTNAME = 'kubernetes.io/hostname';

/** One topology label: gives each of its values a small number and remembers which one each node slot has. */
export class TopologyKey {
  readonly label: string;
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #bySlot: number[] = [];

  constructor(label: string) {
    this.label = label;
  }

  record(slot: number, labels: Labels): void {
    while (this.#bySlot.length < slot) this.#bySlot.push(ABSENT);
    // An empty host name stands for a node of which only the zone is known: it is no host yet.
    const isThere = Object.hasOwn(labels, this.label) && !(this.label === HOSTNAME && labels[this.label] === '');
    this.#bySlot[slot] = isThere ? this.#idOf(labels[this.label] ?? '') : ABSENT;
  }

  /** How many values were ever seen. */
  get size(): number {
    return this.#names.length;
  }

  /** The value's number; negative when the node lacks the label. */
  at(slot: number): number {
    return this.#bySlot[slot] ?? ABSENT;
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

export interface CounterRule {
  readonly counts: (shape: PodShape) => boolean;
  /** Spread constraints leave out pods that are on their way out; affinity terms count them. */
  readonly countsTerminating: boolean;
  /** Nodes that make up the domains; undefined: domains are not asked for, every node's pods count. */
  readonly eligible: ((node: Node) => boolean) | undefined;
  /** Nothing that is there can be counted yet: spares the walk over the cluster. */
  readonly newborn?: true;
}

/** Counts pods per domain and, for spread constraints, knows the smallest domain without looking at them all. */
export class DomainCounter {
  readonly key: TopologyKey;
  readonly rule: CounterRule;
  total = 0;
  #pods: number[] = [];
  #nodes: number[] = [];
  #open: boolean[] = [];
  #domains = 0;
  /** `#sizes[n]`: how many domains hold n pods. */
  #sizes: number[] = [];
  #least = 0;

  constructor(key: TopologyKey, rule: CounterRule) {
    this.key = key;
    this.rule = rule;
  }

  podsIn(value: number): number {
    return this.#pods[value] ?? 0;
  }

  /** How many domains there are among the eligible nodes. */
  get domains(): number {
    return this.#domains;
  }

  /** The pods of the emptiest domain; 0 when there are fewer domains than `minDomains`. */
  least(minDomains: number): number {
    return this.#domains === 0 || this.#domains < minDomains ? 0 : this.#least;
  }

  /** `by` is 1 when the node comes, -1 when it goes. Its pods must come after it and go before it. */
  moveNode(slot: number, node: Node, by: 1 | -1): void {
    if (this.rule.eligible === undefined) return;
    const value = this.key.at(slot);
    const open = value >= 0 && this.rule.eligible(node);
    while (this.#open.length < slot) this.#open.push(false);
    this.#open[slot] = open;
    if (!open) return;
    const nodes = (this.#nodes[value] ?? 0) + by;
    while (this.#nodes.length < value) this.#nodes.push(0);
    this.#nodes[value] = nodes;
    if (by === 1 && nodes === 1) this.#resize(undefined, this.podsIn(value));
    if (by === -1 && nodes === 0) this.#resize(this.podsIn(value), undefined);
  }

  movePods(slot: number, by: number): void {
    const value = this.key.at(slot);
    if (value < 0 || (this.rule.eligible !== undefined && this.#open[slot] !== true)) return;
    const before = this.podsIn(value);
    while (this.#pods.length < value) this.#pods.push(0);
    this.#pods[value] = before + by;
    this.total += by;
    if (this.rule.eligible !== undefined) this.#resize(before, before + by);
  }

  /** A domain of `from` pods becomes one of `to`; undefined: it was not, or is no more. */
  #resize(from: number | undefined, to: number | undefined): void {
    if (from !== undefined) this.#sizes[from] = (this.#sizes[from] ?? 0) - 1;
    if (to !== undefined) {
      while (this.#sizes.length <= to) this.#sizes.push(0);
      this.#sizes[to] = (this.#sizes[to] ?? 0) + 1;
    }
    this.#domains += (to === undefined ? 0 : 1) - (from === undefined ? 0 : 1);
    if (to !== undefined && (to < this.#least || this.#domains === 1)) this.#least = to;
    while (this.#least < this.#sizes.length && (this.#sizes[this.#least] ?? 0) === 0) this.#least += 1;
  }
}
