/**
 * Which pods an autoscaler moves again soon: a pod that replaces an evicted one, and is evicted itself. From a Spot node that Azure takes back every
 * pod has to go: that is no move of the autoscaler's.
 */
import type { PodObject } from '../../simulator/cluster/store/objects.ts';
import { controllerOf } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';

const HOUR_MS = 3_600_000;

interface Present {
  readonly owner: string;
  /** When the pod was evicted that this one replaces. undefined: it replaces none. */
  readonly movedMs: number | undefined;
  readonly node: string | undefined;
}

export class PodMoves {
  /** Pods with a controller, by namespace and name. */
  readonly #present = new Map<string, Present>();
  /** Times of evictions whose pods are not replaced yet, by the uid of the controller. */
  readonly #awaited = new Map<string, number[]>();
  /** Nodes that Azure has announced to take back. */
  readonly #taken = new Set<string>();
  #twice = 0;

  notePreemption(node: string): void {
    this.#taken.add(node);
  }

  /** The eviction of a pod was accepted. */
  noteEviction(namespace: string, name: string, nowMs: number): void {
    const pod = this.#present.get(`${namespace}/${name}`);
    if (pod === undefined || this.#taken.has(pod.node ?? '')) return;
    if (pod.movedMs !== undefined && nowMs - pod.movedMs < HOUR_MS) this.#twice++;
    this.#awaited.set(pod.owner, [...(this.#awaited.get(pod.owner) ?? []), nowMs]);
  }

  /** Changes of pods, in order of time. The next pod of a controller replaces its evicted one. */
  record({ type, object }: Pick<StoreChange, 'type' | 'object'>): void {
    const pod = object as PodObject;
    const { namespace = 'default', name } = pod.metadata;
    const owner = controllerOf(pod)?.uid;
    if (owner === undefined) return;
    const key = `${namespace}/${name}`;
    const node = pod.spec.nodeName;
    if (type === 'DELETED') {
      this.#present.delete(key);
      return;
    }
    const known = this.#present.get(key);
    if (type === 'MODIFIED') {
      if (known !== undefined && known.node !== node) this.#present.set(key, { ...known, node });
      return;
    }
    const [movedMs, ...others] = this.#awaited.get(owner) ?? [];
    this.#awaited.set(owner, others);
    this.#present.set(key, { owner, movedMs, node });
  }

  /** Pods that were moved again within an hour. */
  get twice(): number {
    return this.#twice;
  }
}
