/**
 * The objects of the simulated cluster, one counter of versions, and a bounded log of changes that watches replay. Listeners are
 * called synchronously, after a change is visible. Must not know kinds, verbs or HTTP.
 */
import type { KubeObject } from './objects.ts';
import { compareBy } from '../../../lib/comparison.ts';

export interface StoreChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly storage: string;
  /** The object after the change. For DELETED its last state, with the version of the deletion. */
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  readonly version: number;
}

/** `namespace/name`; cluster-scoped objects have an empty namespace. Its sort order is that of lists. */
export function keyOf(object: { readonly metadata: { readonly name: string; readonly namespace?: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** An index of one storage by a value of its objects, updated with every change. */
interface Index {
  readonly storage: string;
  readonly by: (object: KubeObject) => string | undefined;
  readonly groups: Map<string, Map<string, KubeObject>>;
}

const NOTHING: readonly KubeObject[] = [];

export class ObjectStore {
  readonly #indexes: Index[] = [];
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #logLimit: number;
  #log: StoreChange[] = [];
  #version = 1;
  #compactedTo = 1;

  /** `logLimit`: number of changes that a watch can replay before its version is expired. */
  constructor(logLimit: number) {
    this.#logLimit = logLimit;
  }

  get version(): number {
    return this.#version;
  }

  get compactedTo(): number {
    return this.#compactedTo;
  }

  get(storage: string, key: string): KubeObject | undefined {
    return this.#objects.get(storage)?.get(key);
  }

  /** Sorted by namespace, then name. */
  list(storage: string): readonly KubeObject[] {
    const entries = [...(this.#objects.get(storage)?.entries() ?? [])];
    return entries.sort(compareBy(([key]) => key)).map(([, object]) => object);
  }

  /** Unsorted; for controllers that only count. */
  values(storage: string): Iterable<KubeObject> {
    return this.#objects.get(storage)?.values() ?? [];
  }

  /**
   * Creates an index: a function that returns the objects with a value. Objects without a value are omitted. The cost depends on
   * the result, not on the store.
   */
  indexBy(storage: string, by: (object: KubeObject) => string | undefined): (value: string) => Iterable<KubeObject> {
    const index: Index = { storage, by, groups: new Map() };
    for (const object of this.values(storage)) file(index, undefined, object);
    this.#indexes.push(index);
    return (value) => index.groups.get(value)?.values() ?? NOTHING;
  }

  storages(): readonly string[] {
    return [...this.#objects.keys()];
  }

  /** Writes an object under its key with a new version, and calls all listeners. */
  put(storage: string, object: KubeObject): KubeObject {
    const previous = this.get(storage, keyOf(object));
    const stored = this.#stamp(object);
    const kind = this.#objects.get(storage) ?? new Map<string, KubeObject>();
    kind.set(keyOf(stored), stored);
    this.#objects.set(storage, kind);
    this.#file(storage, previous, stored);
    this.#publish({ type: previous === undefined ? 'ADDED' : 'MODIFIED', storage, object: stored, previous, version: this.#version });
    return stored;
  }

  /** Removes an object if it exists. */
  remove(storage: string, key: string): KubeObject | undefined {
    const previous = this.get(storage, key);
    if (previous === undefined) return undefined;
    const last = this.#stamp(previous);
    this.#objects.get(storage)?.delete(key);
    this.#file(storage, previous, undefined);
    this.#publish({ type: 'DELETED', storage, object: last, previous, version: this.#version });
    return last;
  }

  /** Changes of one kind after a version, oldest first; undefined if the log no longer reaches back to it. */
  changesSince(storage: string, version: number): readonly StoreChange[] | undefined {
    if (version < this.#compactedTo) return undefined;
    return this.#log.filter((change) => change.version > version && change.storage === storage);
  }

  /** Drops the log up to a version, by default the current one: older versions are expired. */
  compact(upTo = this.#version): void {
    this.#log = this.#log.filter(({ version }) => version > upTo);
    this.#compactedTo = Math.max(this.#compactedTo, upTo);
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #file(storage: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    for (const index of this.#indexes) if (index.storage === storage) file(index, before, after);
  }

  #stamp(object: KubeObject): KubeObject {
    this.#version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
  }

  #publish(change: StoreChange): void {
    this.#log.push(change);
    if (this.#log.length > 2 * this.#logLimit) {
      this.#log = this.#log.slice(-this.#logLimit);
      this.#compactedTo = (this.#log[0]?.version ?? this.#version) - 1;
    }
    for (const listener of this.#listeners) listener(change);
  }
}

function file({ by, groups }: Index, before: KubeObject | undefined, after: KubeObject | undefined): void {
  const from = before === undefined ? undefined : by(before);
  const to = after === undefined ? undefined : by(after);
  if (before !== undefined && from !== undefined && from !== to) {
    const left = groups.get(from);
    left?.delete(keyOf(before));
    if (left?.size === 0) groups.delete(from);
  }
  if (after === undefined || to === undefined) return;
  const group = groups.get(to) ?? new Map<string, KubeObject>();
  group.set(keyOf(after), after);
  groups.set(to, group);
}
