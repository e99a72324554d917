/** Which taints nodes of a group lose while they start: seen on a young node that was not ready, gone when it was. */
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';

/** A node that is not ready for longer is not starting. */
const YOUNG_MS = 900_000;
const NONE: readonly string[] = [];

export class StartupTaints {
  readonly #starting = new Map<string, Set<string>>();
  readonly #learned = new Map<NodeGroupId, Set<string>>();
  #last: unknown;

  /** Takes a look at the nodes; costs nothing while they are the same. */
  see(nodes: ReadonlyMap<NodeName, Node>, groupOfNode: ReadonlyMap<NodeName, NodeGroupId>, nowMs: number): void {
    if (this.#last === nodes) return;
    this.#last = nodes;
    const alive = new Set<string>();
    for (const [name, group] of groupOfNode) {
      const node = nodes.get(name);
      if (node === undefined) continue;
      alive.add(node.uid);
      const before = this.#starting.get(node.uid);
      if (!node.readiness.ready && nowMs - node.createdAtMs < YOUNG_MS)
        this.#starting.set(node.uid, new Set([...(before ?? []), ...node.taints.map(({ key }) => key)]));
      else if (before !== undefined) this.#settle(node, group, before);
    }
    for (const uid of this.#starting.keys()) if (!alive.has(uid)) this.#starting.delete(uid);
  }

  #settle(node: Node, group: NodeGroupId, before: ReadonlySet<string>): void {
    this.#starting.delete(node.uid);
    if (!node.readiness.ready) return;
    const lost = [...before].filter((key) => !node.taints.some((taint) => taint.key === key));
    this.#learned.set(group, new Set([...(this.#learned.get(group) ?? []), ...lost]));
  }

  /** Keys, of this process's time. */
  of(group: NodeGroupId): readonly string[] {
    const keys = this.#learned.get(group);
    return keys === undefined ? NONE : [...keys];
  }
}
