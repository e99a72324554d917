/**
 * The objects of the simulated cluster, one counter of versions, and a bounded log of changes that watches replay. Listeners are
 * called synchronously, after a change is visible. Must not know kinds, verbs or HTTP.
 */
import type { KubeObject } from './objects.ts';
import { compareText } from '../../../../src/lib/comparison.ts';

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
  readonly by: (object: KubeObject) => string | undefined;
  /** The keys with a value, in the order in which they got it. */
  readonly groups: Map<string, Set<string>>;
}

type Listener = (change: StoreChange) => void;

interface Subscription {
  readonly listener: Listener;
  readonly storages: readonly string[] | undefined;
}

interface ObjectStates {
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

const NOTHING: readonly KubeObject[] = [];
const NO_KEYS: readonly string[] = [];

export class ObjectStore {
  readonly #indexes = new Map<string, readonly Index[]>();
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  /** The keys of a storage in order, until one comes or goes: to sort 150,000 keys for each look takes longer than the look. */
  readonly #sorted = new Map<string, readonly string[]>();
  /** By storage, those that are called for it, in the order in which they subscribed. */
  readonly #called = new Map<string, readonly Listener[]>();
  #subscriptions: readonly Subscription[] = [];
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
    const objects = this.#objects.get(storage);
    return objects === undefined ? NOTHING : this.#keys(storage, objects).flatMap((key) => objects.get(key) ?? []);
  }

  /** Unsorted; for controllers that only count. */
  values(storage: string): Iterable<KubeObject> {
    return this.#objects.get(storage)?.values() ?? [];
  }

  /**
   * Creates an index: a function that returns the objects with a value. Objects without a value are omitted. The cost depends on
   * the result, not on the store.
   */
  indexBy(storage: string, by: (object: KubeObject) => string | undefined): (value: string) => readonly KubeObject[] {
    const index: Index = { by, groups: new Map() };
    for (const object of this.values(storage)) file(index, keyOf(object), { before: undefined, after: object });
    this.#indexes.set(storage, [...(this.#indexes.get(storage) ?? []), index]);
    return (value) => this.#objectsOf(storage, index.groups.get(value));
  }

  #objectsOf(storage: string, keys: Iterable<string> = NO_KEYS): readonly KubeObject[] {
    const objects = this.#objects.get(storage);
    return objects === undefined ? NOTHING : Array.from(keys).flatMap((key) => objects.get(key) ?? NOTHING);
  }

  storages(): readonly string[] {
    return [...this.#objects.keys()];
  }

  /** Writes an object under its key with a new version, and calls all listeners. */
  put(storage: string, object: KubeObject): KubeObject {
    const key = keyOf(object);
    const previous = this.get(storage, key);
    const stored = this.#stamp(object);
    const kind = this.#objects.get(storage) ?? new Map<string, KubeObject>();
    kind.set(key, stored);
    if (previous === undefined) this.#sorted.delete(storage);
    this.#objects.set(storage, kind);
    this.#file(storage, key, { before: previous, after: stored });
    this.#publish({ type: previous === undefined ? 'ADDED' : 'MODIFIED', storage, object: stored, previous, version: this.#version });
    return stored;
  }

  /** Removes an object if it exists. */
  remove(storage: string, key: string): KubeObject | undefined {
    const previous = this.get(storage, key);
    if (previous === undefined) return undefined;
    const last = this.#stamp(previous);
    this.#objects.get(storage)?.delete(key);
    this.#sorted.delete(storage);
    this.#file(storage, key, { before: previous, after: undefined });
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

  /** `storages`: those whose changes the listener wants. Default: all. */
  subscribe(listener: Listener, storages?: readonly string[]): () => void {
    const subscription = { listener, storages };
    this.#subscriptions = [...this.#subscriptions, subscription];
    this.#called.clear();
    return () => {
      this.#subscriptions = this.#subscriptions.filter((other) => other !== subscription);
      this.#called.clear();
    };
  }

  #listenersOf(storage: string): readonly Listener[] {
    const known = this.#called.get(storage);
    if (known !== undefined) return known;
    const wanted = this.#subscriptions.filter(({ storages }) => storages === undefined || storages.includes(storage));
    const listeners = wanted.map(({ listener }) => listener);
    this.#called.set(storage, listeners);
    return listeners;
  }

  #keys(storage: string, objects: ReadonlyMap<string, KubeObject>): readonly string[] {
    const known = this.#sorted.get(storage);
    if (known !== undefined) return known;
    const keys = [...objects.keys()].sort(compareText);
    this.#sorted.set(storage, keys);
    return keys;
  }

  #file(storage: string, key: string, states: ObjectStates): void {
    for (const index of this.#indexes.get(storage) ?? []) file(index, key, states);
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
    for (const listener of this.#listenersOf(change.storage)) listener(change);
  }
}

function file({ by, groups }: Index, key: string, { before, after }: ObjectStates): void {
  const from = before === undefined ? undefined : by(before);
  const to = after === undefined ? undefined : by(after);
  if (from === to) return;
  if (from !== undefined) {
    const left = groups.get(from);
    left?.delete(key);
    if (left?.size === 0) groups.delete(from);
  }
  if (to === undefined) return;
  const group = groups.get(to) ?? new Set<string>();
  groups.set(to, group.add(key));
}
