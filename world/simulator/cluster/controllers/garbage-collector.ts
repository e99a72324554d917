/** Garbage collection: dependents of deleted objects, owners in foreground deletion, terminating namespaces, old events. */
import { FOREGROUND, placeOf } from '../store/api.ts';
import type { KubeObject, OwnerReference } from '../store/objects.ts';
import { typeOfStored } from '../store/resource-types.ts';
import { keyOf, type StoreChange } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import type { ControllerContext } from '../base/controller-context.ts';
import { compareText } from '../../../../src/lib/comparison.ts';

/** Kinds that own nothing. Their deletions are the most frequent ones and need no search. */
const CHILDLESS = new Set(['pods', 'events', 'leases', 'configmaps']);

interface StorageEntry {
  readonly storage: string;
  readonly object: KubeObject;
}

function everything({ api }: ControllerContext, accept: (object: KubeObject) => boolean): readonly StorageEntry[] {
  return api.store.storages().flatMap((storage) =>
    api.store
      .list(storage)
      .filter(accept)
      .map((object) => ({ storage, object })),
  );
}

/**
 * Who owns whom, and which owners wait for their dependents, updated with every change: a deletion of one of many pods must not search
 * all objects.
 */
class OwnerIndex {
  /** By the owner's uid, `storage|key` of its dependents. */
  readonly #dependents = new Map<string, Set<string>>();
  /** By uid, `storage|key` of the owners in foreground deletion. */
  readonly #waiting = new Map<string, string>();

  note({ type, storage, object, previous }: StoreChange): void {
    const path = `${storage}|${keyOf(object)}`;
    const present = type === 'DELETED' ? undefined : object;
    this.#noteOwners(path, previous?.metadata.ownerReferences, present?.metadata.ownerReferences);
    if (present !== undefined && isForeground(present)) this.#waiting.set(object.metadata.uid, path);
    else this.#waiting.delete(object.metadata.uid);
  }

  /** In the order of their storages, then of their names. */
  dependentsOf({ api: { store } }: ControllerContext, uid: string): readonly StorageEntry[] {
    const found = Array.from(this.#dependents.get(uid) ?? [], splitOnce).flatMap(([storage = '', key = '']): readonly StorageEntry[] => {
      const object = store.get(storage, key);
      return object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true ? [{ storage, object }] : [];
    });
    const order = store.storages();
    return found.sort(
      (left, right) => order.indexOf(left.storage) - order.indexOf(right.storage) || compareText(keyOf(left.object), keyOf(right.object)),
    );
  }

  /** The owners of an object that wait until it is gone. */
  waitingFor({ metadata }: KubeObject): readonly string[] {
    return (metadata.ownerReferences ?? []).flatMap(({ uid }) => this.#waiting.get(uid) ?? []);
  }

  #noteOwners(path: string, before: readonly OwnerReference[] = NO_OWNERS, after: readonly OwnerReference[] = NO_OWNERS): void {
    if (before === after) return;
    for (const { uid } of before) {
      const paths = this.#dependents.get(uid);
      paths?.delete(path);
      if (paths?.size === 0) this.#dependents.delete(uid);
    }
    for (const { uid } of after) this.#dependents.set(uid, (this.#dependents.get(uid) ?? new Set()).add(path));
  }
}

const NO_OWNERS: readonly OwnerReference[] = [];

function removeFound({ api }: ControllerContext, { storage, object }: StorageEntry): void {
  if (object.metadata.deletionTimestamp === undefined) api.remove(typeOfStored(storage, object), placeOf(object), {});
}

function finishForeground(context: ControllerContext, index: OwnerIndex, { storage, object }: StorageEntry): void {
  for (const dependent of index.dependentsOf(context, object.metadata.uid)) removeFound(context, dependent);
  if (index.dependentsOf(context, object.metadata.uid).length > 0) return;
  context.api.modify(typeOfStored(storage, object), placeOf(object), 'main', (current) => ({
    ...current,
    metadata: { ...current.metadata, finalizers: (current.metadata.finalizers ?? []).filter((finalizer) => finalizer !== FOREGROUND) },
  }));
}

function isForeground(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).includes(FOREGROUND);
}

function emptyNamespace(context: ControllerContext, namespace: KubeObject): void {
  const inside = (): readonly StorageEntry[] => everything(context, (object) => object.metadata.namespace === namespace.metadata.name);
  for (const found of inside()) removeFound(context, found);
  if (inside().length === 0) context.api.store.remove('namespaces', keyOf(namespace));
}

/** Starts the collectors. Returns a function that stops them. */
export function startGarbageCollector(context: ControllerContext): () => void {
  const { api } = context;
  const index = new OwnerIndex();
  const orphans = createQueue(api.timers, (uid) => {
    for (const found of index.dependentsOf(context, uid)) removeFound(context, found);
  });
  const owners = createQueue(api.timers, (path) => {
    const [storage = '', key = ''] = splitOnce(path);
    const object = api.store.get(storage, key);
    if (object === undefined) return;
    if (storage === 'namespaces') emptyNamespace(context, object);
    else if (isForeground(object)) finishForeground(context, index, { storage, object });
  });
  const expire = expiringEvents(context);
  return api.store.subscribe((change) => {
    const { type, storage, object } = change;
    const { metadata } = object;
    index.note(change);
    if (type === 'DELETED') {
      if (!CHILDLESS.has(storage)) orphans.add(metadata.uid);
      for (const owner of [...index.waitingFor(object), ...terminatingNamespaceOf(context, object)]) owners.add(owner);
    } else if (isForeground(object) || (storage === 'namespaces' && metadata.deletionTimestamp !== undefined)) {
      owners.add(`${storage}|${keyOf(object)}`);
    }
    if (type === 'ADDED' && storage === 'events') expire(keyOf(object));
  });
}

function splitOnce(path: string): readonly string[] {
  const at = path.indexOf('|');
  return [path.slice(0, at), path.slice(at + 1)];
}

/** Removes each event when its time is over. One timer for all: they expire in the order in which they came. */
function expiringEvents({ api, knobs }: ControllerContext): (key: string) => void {
  const { timers, store } = api;
  const waiting = new Set<{ readonly at: number; readonly key: string }>();
  const removeDue = (): void => {
    for (const entry of waiting) {
      if (entry.at > timers.now()) {
        timers.after((entry.at - timers.now()) * timers.speed, removeDue);
        return;
      }
      waiting.delete(entry);
      store.remove('events', entry.key);
    }
  };
  return (key) => {
    waiting.add({ at: timers.now() + knobs.eventTtlMs / timers.speed, key });
    if (waiting.size === 1) timers.after(knobs.eventTtlMs, removeDue);
  };
}

/** The namespace of a deleted object, if it waits until it is empty. */
function terminatingNamespaceOf({ api }: ControllerContext, gone: KubeObject): readonly string[] {
  const namespace = api.store.get('namespaces', `/${gone.metadata.namespace ?? ''}`);
  return namespace?.metadata.deletionTimestamp === undefined ? [] : [`namespaces|${keyOf(namespace)}`];
}
