/**
 * Pods by node and pending pods, updated with each change. A node's list is copied before its first change after it was
 * returned. So a view stays frozen, and an unchanged node keeps its list.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Pod } from '../../domain/pod.ts';
import { compareText, compareBy } from '../../lib/comparison.ts';

interface Bucket {
  pods: Pod[];
  /** Whether a view has returned the list. */
  shown: boolean;
}

export class PodIndex {
  #buckets = new Map<NodeName, Bucket>();
  /** Whether the buckets are in the order of their names, as views are. */
  #isSorted = true;
  readonly #pending = new Set<Pod>();
  #view: ReadonlyMap<NodeName, readonly Pod[]> | undefined;
  #pendingView: readonly Pod[] | undefined;

  replace(before: Pod | undefined, after: Pod | undefined): void {
    if (before !== undefined) this.#take(before);
    if (after !== undefined) this.#place(after);
  }

  podsByNode(): ReadonlyMap<NodeName, readonly Pod[]> {
    this.#view ??= this.#makeView();
    return this.#view;
  }

  #makeView(): ReadonlyMap<NodeName, readonly Pod[]> {
    if (!this.#isSorted) this.#buckets = new Map([...this.#buckets].sort(compareBy(([key]) => key)));
    this.#isSorted = true;
    const view = new Map<NodeName, readonly Pod[]>();
    for (const [node, bucket] of this.#buckets) view.set(node, show(bucket));
    return view;
  }

  pendingPods(): readonly Pod[] {
    this.#pendingView ??= [...this.#pending].sort(byName);
    return this.#pendingView;
  }

  #place(pod: Pod): void {
    if (isOver(pod)) return;
    if (pod.nodeName !== undefined) {
      const bucket = this.#own(pod.nodeName);
      // Sorted as pods arrive: sorting 150,000 pods when a view is requested would stall the loop.
      bucket.pods.splice(placeIn(bucket.pods, pod), 0, pod);
    } else if (pod.deletionAtMs === undefined) {
      this.#pending.add(pod);
      this.#pendingView = undefined;
    }
  }

  #take(pod: Pod): void {
    if (this.#pending.delete(pod)) this.#pendingView = undefined;
    if (pod.nodeName === undefined || isOver(pod)) return;
    const bucket = this.#own(pod.nodeName);
    const place = bucket.pods.indexOf(pod);
    if (place !== -1) bucket.pods.splice(place, 1);
    if (bucket.pods.length === 0) this.#buckets.delete(pod.nodeName);
  }

  #own(node: NodeName): Bucket {
    this.#view = undefined;
    let bucket = this.#buckets.get(node);
    if (bucket === undefined) {
      bucket = { pods: [], shown: false };
      this.#buckets.set(node, bucket);
      this.#isSorted = false;
    } else if (bucket.shown) {
      bucket.pods = [...bucket.pods];
      bucket.shown = false;
    }
    return bucket;
  }
}

/** The index of a pod in a sorted list. */
function placeIn(pods: readonly Pod[], pod: Pod): number {
  let from = 0;
  let to = pods.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const other = pods[middle];
    if (other !== undefined && byName(other, pod) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

function show(bucket: Bucket): readonly Pod[] {
  bucket.shown = true;
  return bucket.pods;
}

export function isOver(pod: Pod): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed';
}

export function byName(
  left: { readonly namespace: string; readonly name: string },
  right: { readonly namespace: string; readonly name: string },
): number {
  if (left.namespace !== right.namespace) return compareText(left.namespace, right.namespace);
  return compareText(left.name, right.name);
}
