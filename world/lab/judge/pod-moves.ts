/** Which pods an autoscaler moves again soon: a pod that replaces an evicted one, and is evicted itself. */
import type { PodObject } from '../../simulator/cluster/store/objects.ts';
import { controllerOf } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';

const HOUR_MS = 3_600_000;

interface Present {
  readonly owner: string;
  /** When the pod was evicted that this one replaces. undefined: it replaces none. */
  readonly movedMs: number | undefined;
}

export class PodMoves {
  /** Pods with a controller, by namespace and name. */
  readonly #present = new Map<string, Present>();
  /** Times of evictions whose pods are not replaced yet, by the uid of the controller. */
  readonly #awaited = new Map<string, number[]>();
  #twice = 0;

  /** The eviction of a pod was accepted. */
  noteEviction(namespace: string, name: string, nowMs: number): void {
    const pod = this.#present.get(`${namespace}/${name}`);
    if (pod === undefined) return;
    if (pod.movedMs !== undefined && nowMs - pod.movedMs < HOUR_MS) this.#twice++;
    this.#awaited.set(pod.owner, [...(this.#awaited.get(pod.owner) ?? []), nowMs]);
  }

  /** Changes of pods, in order of time. The next pod of a controller replaces its evicted one. */
  record({ type, object }: Pick<StoreChange, 'type' | 'object'>): void {
    const pod = object as PodObject;
    const { namespace = 'default', name } = pod.metadata;
    const owner = controllerOf(pod)?.uid;
    if (type === 'MODIFIED' || owner === undefined) return;
    if (type === 'DELETED') {
      this.#present.delete(`${namespace}/${name}`);
      return;
    }
    const [movedMs, ...others] = this.#awaited.get(owner) ?? [];
    this.#awaited.set(owner, others);
    this.#present.set(`${namespace}/${name}`, { owner, movedMs });
  }

  /** Pods that were moved again within an hour. */
  get twice(): number {
    return this.#twice;
  }
}
