/**
 * The usage of every node, kept from pass to pass: only nodes whose object or pods changed are computed again. Must not know how
 * a pod is placed.
 */
import type { NodeObject, PodObject } from '../store/objects.ts';
import type { ObjectStore, StoreChange } from '../store/store.ts';
import { type NodeUsage, usageOf } from './node-filters.ts';

export class NodeUsages {
  readonly #store: ObjectStore;
  readonly #podsOf: (node: string) => Iterable<unknown>;
  readonly #usages = new Map<string, NodeUsage>();
  readonly #stale = new Set<string>();

  constructor(store: ObjectStore) {
    this.#store = store;
    this.#podsOf = store.indexBy('pods', (pod) => (pod as PodObject).spec.nodeName);
    for (const node of store.values('nodes')) this.#stale.add(node.metadata.name);
  }

  /** Call it for every change of a pod or node. */
  note({ storage, object, previous }: StoreChange): void {
    if (storage === 'nodes') this.#stale.add(object.metadata.name);
    if (storage !== 'pods') return;
    for (const pod of [object, previous]) {
      const node = (pod as PodObject | undefined)?.spec.nodeName;
      if (node !== undefined) this.#stale.add(node);
    }
  }

  /** A pod was added to the usage that is not bound: the next pass computes the node again. */
  forget(node: string): void {
    this.#stale.add(node);
  }

  /** The present usages. A pass adds its own pods to them. */
  list(): readonly NodeUsage[] {
    for (const name of this.#stale) {
      const node = this.#store.get('nodes', `/${name}`) as NodeObject | undefined;
      if (node === undefined) this.#usages.delete(name);
      else this.#usages.set(name, usageOf(node, [...this.#podsOf(name)] as PodObject[]));
    }
    this.#stale.clear();
    return [...this.#usages.values()];
  }
}
