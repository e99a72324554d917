/**
 * The new nodes of a packing by place, which is a zone variant of a group. Finds the first of them with room. Nodes only lose room, so that
 * whole blocks of full nodes are passed over by what is free in the freest of them. Must not know rules between pods.
 */
import type { NodeName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { HostPort } from '../../../domain/pod.ts';
import type { Resources } from '../../../domain/resources.ts';
import { takenPort } from '../../../scheduling/predicates/node-gates.ts';
import { fitsFree } from '../../../scheduling/predicates/resources-fit.ts';
import type { OperationCounts } from '../../../scheduling/snapshot/operation-counts.ts';
import type { GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { podsFittingOn } from './estimate.ts';

const BLOCK = 32;

/** A zone variant of a member, which has the index `of`. */
export interface NewNodePlace {
  readonly of: number;
  readonly template: GroupTemplate;
  readonly variant: Node;
  /** Its bit in the variants that pods allow. */
  readonly variantBit: number;
  readonly nodes: NodesOfPlace;
}

export interface NewNode {
  readonly place: NewNodePlace;
  readonly name: NodeName;
  readonly slot: number;
  /** In the order of all new nodes of the packing. */
  readonly index: number;
  /** In the order of the nodes of its place. */
  readonly at: number;
  ports: readonly HostPort[];
}

type PodsWithNeed = Pick<EquivalenceGroup, 'need' | 'shape'>;

export class NodesOfPlace {
  readonly #nodes: NewNode[] = [];
  readonly #empty: Resources;
  /** The free vectors of all nodes, one after the other. */
  #free: Resources;
  /** Per block, of each resource the most that is free on a node, or more. */
  readonly #tops: Resources[] = [];
  /** Whether a node of the block has lost room since the block's numbers were computed. */
  readonly #stale: boolean[] = [];
  readonly #operations: OperationCounts;

  /** `empty` is what is free on a new node. */
  constructor(empty: Resources, operations: OperationCounts) {
    this.#operations = operations;
    this.#empty = empty;
    this.#free = new Float64Array(BLOCK * empty.length);
  }

  get count(): number {
    return this.#nodes.length;
  }

  nodeAt(at: number): NewNode | undefined {
    return this.#nodes[at];
  }

  add(node: NewNode): void {
    const at = this.#nodes.push(node) - 1;
    const width = this.#empty.length;
    if ((at + 1) * width > this.#free.length) {
      const longer = new Float64Array(2 * this.#free.length);
      longer.set(this.#free);
      this.#free = longer;
    }
    this.#free.set(this.#empty, at * width);
    const block = Math.floor(at / BLOCK);
    const top = this.#tops[block];
    if (top === undefined) this.#tops.push(this.#empty.slice());
    else top.set(this.#empty);
  }

  /** How many of the pods fit on the node. */
  countFitting(node: NewNode, group: EquivalenceGroup): number {
    return podsFittingOn(group, this.#free, node.ports, node.at * this.#empty.length);
  }

  /** Takes the room of `count` pods of a node. */
  fill(node: NewNode, { need, shape }: PodsWithNeed, count: number): void {
    const offset = node.at * this.#empty.length;
    for (let at = 0; at < need.indexes.length; at++) {
      const index = offset + (need.indexes[at] ?? 0);
      this.#free[index] = (this.#free[index] ?? 0) - count * (need.amounts[at] ?? 0);
    }
    if (shape.hostPorts.length > 0) node.ports = [...node.ports, ...shape.hostPorts];
    this.#stale[Math.floor(node.at / BLOCK)] = true;
  }

  /** The first node from index `from` on that has room for one of the pods; the number of nodes if none has. */
  firstWithRoom(pods: PodsWithNeed, from: number): number {
    // No resource that the nodes do not have.
    if (pods.need.length > this.#empty.length) return this.#nodes.length;
    let at = from;
    while (at < this.#nodes.length) {
      const block = Math.floor(at / BLOCK);
      const end = Math.min((block + 1) * BLOCK, this.#nodes.length);
      this.#operations.nodesVisited += 1;
      if (fitsFree(pods.need, this.#tops[block] ?? this.#empty, 0)) {
        for (; at < end; at++) {
          this.#operations.nodesVisited += 1;
          if (this.#hasRoom(at, pods)) return at;
        }
        if (this.#stale[block] === true) this.#refresh(block);
      }
      at = end;
    }
    return at;
  }

  #hasRoom(at: number, { need, shape }: PodsWithNeed): boolean {
    if (!fitsFree(need, this.#free, at * this.#empty.length)) return false;
    return shape.hostPorts.length === 0 || takenPort(shape.hostPorts, this.#nodes[at]?.ports ?? []) === undefined;
  }

  #refresh(block: number): void {
    const top = this.#tops[block] ?? this.#empty;
    const width = this.#empty.length;
    top.fill(Number.NEGATIVE_INFINITY);
    const end = Math.min((block + 1) * BLOCK, this.#nodes.length);
    for (let at = block * BLOCK; at < end; at++) {
      for (let index = 0; index < width; index++) {
        const free = this.#free[at * width + index] ?? 0;
        if (free > (top[index] ?? 0)) top[index] = free;
      }
    }
    this.#stale[block] = false;
  }
}
