/**
 * Pods counted per topology domain, kept as pods and nodes come and go. One counter serves every shape that asks the
 * same question ("pods like these, per zone"), so a check costs a look-up and never a walk over the cluster.
 */
import type { PodShape } from '../domain/pod.ts';
import type { DomainScope } from './domain-scope.ts';
import type { TopologyKey } from './topology-key.ts';

export interface CounterRule {
  readonly counts: (shape: PodShape) => boolean;
  /** Spread constraints leave out pods that are on their way out; affinity terms count them. */
  readonly countsTerminating: boolean;
  /** Nodes that make up the domains; undefined: domains are not asked for, every node's pods count. */
  readonly scope: DomainScope | undefined;
  /** Nothing that is there can be counted yet: spares the walk over the cluster. */
  readonly newborn?: true;
}

/** Counts pods per domain and, for spread constraints, knows the smallest domain without looking at them all. */
export class DomainCounter {
  readonly key: TopologyKey;
  readonly rule: CounterRule;
  total = 0;
  #pods: number[] = [];
  /** Domains that hold any pods. */
  #occupied = 0;
  /** `#sizes[n]`: how many domains hold n pods; of empty ones only the scope knows. */
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
    return this.rule.scope?.domains ?? 0;
  }

  /** The pods of the emptiest domain; 0 when there are fewer domains than `minDomains`. */
  least(minDomains: number): number {
    const { domains } = this;
    return domains < minDomains || this.#occupied < domains ? 0 : this.#least;
  }

  movePods(slot: number, by: number): void {
    const value = this.key.at(slot);
    const { scope } = this.rule;
    if (value < 0 || scope?.isOpen(slot) === false) return;
    const before = this.podsIn(value);
    while (this.#pods.length < value) this.#pods.push(0);
    this.#pods[value] = before + by;
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
