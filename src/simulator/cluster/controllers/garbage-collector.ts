/** Garbage collection: dependents of deleted objects, owners in foreground deletion, terminating namespaces, old events. */
import { FOREGROUND, placeOf } from '../store/api.ts';
import type { KubeObject } from '../store/objects.ts';
import { storedType } from '../store/resource-types.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import type { ControllerContext } from '../base/controller-context.ts';

/** Kinds that own nothing. Their deletions are the most frequent ones and need no search. */
const CHILDLESS = new Set(['pods', 'events', 'leases', 'nodes', 'configmaps']);

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

function dependentsOf(context: ControllerContext, uid: string): readonly StorageEntry[] {
  return everything(context, (object) => object.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false);
}

function removeFound({ api }: ControllerContext, { storage, object }: StorageEntry): void {
  if (object.metadata.deletionTimestamp === undefined) api.remove(storedType(storage), placeOf(object), {});
}

function finishForeground(context: ControllerContext, { storage, object }: StorageEntry): void {
  const dependents = dependentsOf(context, object.metadata.uid);
  for (const dependent of dependents) removeFound(context, dependent);
  if (dependentsOf(context, object.metadata.uid).length > 0) return;
  context.api.modify(storedType(storage), placeOf(object), 'main', (current) => ({
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
  const { api, knobs } = context;
  const orphans = createQueue(api.timers, (uid) => {
    for (const found of dependentsOf(context, uid)) removeFound(context, found);
  });
  const owners = createQueue(api.timers, (path) => {
    const [storage = '', key = ''] = splitOnce(path);
    const object = api.store.get(storage, key);
    if (object === undefined) return;
    if (storage === 'namespaces') emptyNamespace(context, object);
    else if (isForeground(object)) finishForeground(context, { storage, object });
  });
  return api.store.subscribe(({ type, storage, object }) => {
    const { metadata } = object;
    if (type === 'DELETED') {
      if (!CHILDLESS.has(storage)) orphans.add(metadata.uid);
      for (const owner of waitingOwners(context, object)) owners.add(owner);
    } else if (isForeground(object) || (storage === 'namespaces' && metadata.deletionTimestamp !== undefined)) {
      owners.add(`${storage}|${keyOf(object)}`);
    }
    if (type === 'ADDED' && storage === 'events') api.timers.after(knobs.eventTtlMs, () => api.store.remove('events', keyOf(object)));
  });
}

function splitOnce(path: string): readonly string[] {
  const at = path.indexOf('|');
  return [path.slice(0, at), path.slice(at + 1)];
}

/** Owners in foreground deletion, and the terminating namespace, of a deleted object. */
function waitingOwners({ api }: ControllerContext, gone: KubeObject): readonly string[] {
  const uids = new Set((gone.metadata.ownerReferences ?? []).map((owner) => owner.uid));
  const owners =
    uids.size === 0
      ? []
      : api.store
          .storages()
          .flatMap((storage) =>
            [...api.store.values(storage)]
              .filter((object) => uids.has(object.metadata.uid) && isForeground(object))
              .map((object) => `${storage}|${keyOf(object)}`),
          );
  const namespace = api.store.get('namespaces', `/${gone.metadata.namespace ?? ''}`);
  return namespace?.metadata.deletionTimestamp === undefined ? owners : [...owners, `namespaces|${keyOf(namespace)}`];
}
