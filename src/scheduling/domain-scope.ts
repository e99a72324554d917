/**
 * Which values of a topology label count as domains: those of nodes that a spread constraint does not leave out. Shared by
 * all constraints that leave out the same nodes, so that a node that comes or goes costs the same however many there are.
 */
import type { Node } from '../domain/node.ts';
import type { TopologyKey } from './topology-key.ts';

export class DomainScope {
  readonly #key: TopologyKey;
  readonly #eligible: (node: Node) => boolean;
  /** Eligible nodes per domain. */
  readonly #nodes: number[] = [];
  readonly #open: boolean[] = [];
  #domains = 0;

  constructor(key: TopologyKey, eligible: (node: Node) => boolean) {
    this.#key = key;
    this.#eligible = eligible;
  }

  /** How many domains there are among the eligible nodes. */
  get domains(): number {
    return this.#domains;
  }

  /** Whether a node with these labels would be in a domain that there is not yet. */
  isNews(labels: Node['labels']): boolean {
    const value = this.#key.valueIn(labels);
    return value !== undefined && (this.#nodes[this.#key.numberOf(value)] ?? 0) === 0;
  }

  /** Whether the slot's node is eligible. */
  isOpen(slot: number): boolean {
    return this.#open[slot] === true;
  }

  /** `by` is 1 when the node comes, -1 when it goes. Its pods must come after it and go before it. */
  moveNode(slot: number, node: Node, by: 1 | -1): void {
    const value = this.#key.at(slot);
    const open = value >= 0 && this.#eligible(node);
    while (this.#open.length < slot) this.#open.push(false);
    this.#open[slot] = open;
    if (!open) return;
    while (this.#nodes.length <= value) this.#nodes.push(0);
    const nodes = (this.#nodes[value] ?? 0) + by;
    this.#nodes[value] = nodes;
    if (by === 1 && nodes === 1) this.#domains += 1;
    if (by === -1 && nodes === 0) this.#domains -= 1;
  }
}
