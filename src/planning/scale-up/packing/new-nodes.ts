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
import type { GroupTemplate } from '../groups/template-node.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';

const BLOCK = 32;

/** A zone variant of a member, which has the index `of`. */
export interface NewNodePlace {
  readonly of: number;
  readonly template: GroupTemplate;
  readonly variant: Node;
  readonly mask: number;
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
  readonly free: Float64Array;
  ports: readonly HostPort[];
}

type PodsWithNeed = Pick<EquivalenceGroup, 'need' | 'shape'>;

export class NodesOfPlace {
  readonly #nodes: NewNode[] = [];
  /** Per block, of each resource the most that is free on a node, or more. */
  readonly #tops: Float64Array[] = [];
  /** Whether a node of the block has lost room since the block's numbers were computed. */
  readonly #stale: boolean[] = [];

  get count(): number {
    return this.#nodes.length;
  }

  nodeAt(at: number): NewNode | undefined {
    return this.#nodes[at];
  }

  add(node: NewNode): void {
    const block = Math.floor(this.#nodes.length / BLOCK);
    this.#nodes.push(node);
    const top = this.#tops[block];
    if (top === undefined) this.#tops.push(node.free.slice());
    else raise(top, node.free);
  }

  /** Takes the room of `count` pods of a node. */
  fill(node: NewNode, { need, shape }: PodsWithNeed, count: number): void {
    need.indexes.forEach((index, at) => {
      node.free[index] = (node.free[index] ?? 0) - count * (need.amounts[at] ?? 0);
    });
    if (shape.hostPorts.length > 0) node.ports = [...node.ports, ...shape.hostPorts];
    this.#stale[Math.floor(node.at / BLOCK)] = true;
  }

  /** The first node from index `from` on that has room for one of the pods; the number of nodes if none has. */
  firstWithRoom(pods: PodsWithNeed, from: number): number {
    let at = from;
    while (at < this.#nodes.length) {
      const block = Math.floor(at / BLOCK);
      const end = Math.min((block + 1) * BLOCK, this.#nodes.length);
      if (fitsFree(pods.need, this.#topOf(block), 0)) {
        for (; at < end; at++) if (hasRoom(this.#nodes[at], pods)) return at;
        this.#refresh(block);
      }
      at = end;
    }
    return at;
  }

  #topOf(block: number): Resources {
    return this.#tops[block] ?? NOTHING;
  }

  #refresh(block: number): void {
    const top = this.#tops[block];
    if (top === undefined || this.#stale[block] !== true) return;
    top.fill(Number.NEGATIVE_INFINITY);
    for (const { free } of this.#nodes.slice(block * BLOCK, (block + 1) * BLOCK)) raise(top, free);
    this.#stale[block] = false;
  }
}

const NOTHING: Resources = new Float64Array(0);

function hasRoom(node: NewNode | undefined, { need, shape }: PodsWithNeed): boolean {
  if (node === undefined || !fitsFree(need, node.free, 0)) return false;
  return shape.hostPorts.length === 0 || takenPort(shape.hostPorts, node.ports) === undefined;
}

function raise(top: Float64Array, free: Resources): void {
  for (let index = 0; index < top.length; index++) top[index] = Math.max(top[index] ?? 0, free[index] ?? 0);
}
