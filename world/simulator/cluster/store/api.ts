/**
 * What an API server does with an object before and after storing it: names, defaults, versions, generations, graceful deletion.
 * HTTP and the controllers both write through it, so the same rules apply to both. Must not know HTTP, nor what a controller will
 * make of a change.
 */
import { seededStreams, streamFor } from '../../../../src/lib/random.ts';
import { admit, type PodWebhook } from './admission.ts';
import { keepsStatusApart, contentOf, withDefaults } from './defaults.ts';
import { timestamp, type KubeObject, type ObjectDraft, type PodObject } from './objects.ts';
import { isRecord, sameJson } from './patches.ts';
import { storedType, storedVersionOf, type ResourceType } from './resource-types.ts';
import { alreadyExists, conflict, notFound, refuse, STALE, success, type Result, type Subject } from './status.ts';
import { keyOf, type ObjectStore } from './store.ts';
import { refusalOfChange, refusalOfNew, refusalOfResize, refusalOfStatus } from './validation.ts';
import type { Timers } from './timers.ts';
import { defined } from '../../../../src/lib/defined.ts';

export interface DeleteOptions {
  /** undefined: the object's own grace period. Zero: at once. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

interface DeleteResult {
  readonly object: KubeObject;
  /** false: it is terminating and will be deleted later. */
  readonly gone: boolean;
}

export interface ObjectPlace {
  readonly namespace: string | undefined;
  readonly name: string;
}

/** What a write changes: all but the status, the status, or the sizes of a pod's containers. */
export type ObjectPart = 'main' | 'status' | 'resize';

export interface Api {
  readonly store: ObjectStore;
  readonly timers: Timers;
  /** In the order in which they are called. */
  readonly podWebhooks: readonly PodWebhook[];
  get(type: ResourceType, place: ObjectPlace): Result<KubeObject>;
  create(type: ResourceType, draft: ObjectDraft, namespace: string | undefined): Result<KubeObject>;
  /** Replaces the object, or a part of it. A `resourceVersion` or `uid` in it must be the current one. */
  update(type: ResourceType, next: KubeObject, part: ObjectPart): Result<KubeObject>;
  /** Reads, changes and writes an object in one step, for controllers. */
  modify(type: ResourceType, place: ObjectPlace, part: ObjectPart, change: (current: KubeObject) => KubeObject): Result<KubeObject>;
  remove(type: ResourceType, place: ObjectPlace, options: DeleteOptions): Result<DeleteResult>;
  /** Assigns a pod to a node, once. */
  bind(place: ObjectPlace, nodeName: string): Result<KubeObject>;
}

export const FOREGROUND = 'foregroundDeletion';
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** The subject of a refusal about one object. */
export function subjectOf(type: ResourceType, name?: string): Subject {
  return { group: type.group, plural: type.plural, ...defined({ name }) };
}

export function placeOf(object: KubeObject): ObjectPlace {
  return { namespace: object.metadata.namespace, name: object.metadata.name };
}

function keyAt({ namespace, name }: ObjectPlace): string {
  return `${namespace ?? ''}/${name}`;
}

/** `length` characters from the world's seed that cannot form a word. */
function nameSuffix(random: () => number, length = 5): string {
  return randomText(random, SUFFIX_LETTERS, length);
}

function randomText(random: () => number, letters: string, length: number): string {
  let text = '';
  for (let at = 0; at < length; at++) text += letters[Math.floor(random() * letters.length)];
  return text;
}

/** A version-4 UUID from the world's seed. */
function seededUid(random: () => number): string {
  const hex = (digits: number): string => randomText(random, '0123456789abcdef', digits);
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
}

interface ApiOptions {
  /** Where writes go. Default: to the store. */
  readonly writes?: Pick<ObjectStore, 'put' | 'remove'>;
  readonly podWebhooks?: readonly PodWebhook[];
}

/** Creates the API over a store. All random values come from `seed`. */
export function createApi(store: ObjectStore, timers: Timers, seed: number, { writes = store, podWebhooks = [] }: ApiOptions = {}): Api {
  const seeds = seededStreams(seed);
  const priorityOf = (className: string): number | undefined => {
    const value = store.get('priorityclasses', `/${className}`)?.['value'];
    return typeof value === 'number' ? value : undefined;
  };

  function get(type: ResourceType, place: ObjectPlace): Result<KubeObject> {
    const found = store.get(type.storage, keyAt(place));
    return found === undefined ? notFound(subjectOf(type, place.name)) : success(found);
  }

  function create(type: ResourceType, draft: ObjectDraft, namespace: string | undefined): Result<KubeObject> {
    const { generateName } = draft.metadata;
    // Whether an event of a client that dies still arrives, only the network knows: it must not change the names of pods.
    const random = streamFor(seeds, type.storage);
    const name = draft.metadata.name ?? (generateName === undefined ? '' : `${generateName}${nameSuffix(random)}`);
    if (type.namespaced) {
      const refused = refusalOfNamespace(store, namespace ?? '');
      if (refused !== undefined) return refused;
    }
    const placed = { ...draft, metadata: { ...draft.metadata, name, ...(type.namespaced ? { namespace: namespace ?? '' } : {}) } };
    const refused = refusalOfNew(type, placed);
    if (refused !== undefined) return refused;
    if (store.get(type.storage, keyAt({ namespace: type.namespaced ? namespace : undefined, name })) !== undefined) {
      return alreadyExists(subjectOf(type, name));
    }
    const admitted = admit(type, placed, store, podWebhooks);
    if (!admitted.ok) return admitted;
    const filled = withDefaults(type, admitted.value, priorityOf);
    return success(writes.put(type.storage, withServerMetadata(type, filled, { uid: seededUid(random), nowMs: timers.now() })));
  }

  function commit(type: ResourceType, current: KubeObject, next: KubeObject): KubeObject {
    if (sameJson(current, next)) return current;
    const specChanged = type.hasGeneration && !sameJson(contentOf(current), contentOf(next));
    const generation = (current.metadata.generation ?? 0) + (specChanged ? 1 : 0);
    const metadata = type.hasGeneration ? { ...next.metadata, generation } : next.metadata;
    const stored = writes.put(type.storage, { ...next, metadata });
    return isDeletionFinished(stored) ? (writes.remove(type.storage, keyOf(stored)) ?? stored) : stored;
  }

  function update(type: ResourceType, next: KubeObject, part: ObjectPart): Result<KubeObject> {
    const found = get(type, placeOf(next));
    if (!found.ok) return found;
    const current = found.value;
    const { resourceVersion, uid } = next.metadata;
    if (uid !== undefined && uid !== '' && uid !== current.metadata.uid) {
      return conflict(
        subjectOf(type, current.metadata.name),
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`,
      );
    }
    if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== current.metadata.resourceVersion) {
      return conflict(subjectOf(type, current.metadata.name), STALE);
    }
    if (part === 'resize')
      return (
        refusalOfResize(type, current, next) ??
        success(commit(type, current, { ...resized(current, next), ...managersFrom(current, next) }))
      );
    // Defaults fill fields that an update omits, as for a new object.
    const filled = (): KubeObject => ({ ...next, ...withDefaults(type, next, priorityOf), metadata: next.metadata });
    const merged =
      part === 'status' ? { ...current, ...managersFrom(current, next), status: next.status ?? {} } : mergeMain(type, current, filled());
    const refused = part === 'main' ? refusalOfChange(type, current, merged) : refusalOfStatus(type, merged);
    return refused ?? success(commit(type, current, merged));
  }

  function modify(
    type: ResourceType,
    place: ObjectPlace,
    part: ObjectPart,
    change: (current: KubeObject) => KubeObject,
  ): Result<KubeObject> {
    const found = get(type, place);
    return found.ok ? update(type, change(found.value), part) : found;
  }

  function remove(type: ResourceType, place: ObjectPlace, options: DeleteOptions): Result<DeleteResult> {
    const found = get(type, place);
    if (!found.ok) return found;
    const current = found.value;
    const stale = refusalOfPreconditions(type, current, options);
    if (stale !== undefined) return stale;
    if (options.propagation === 'Orphan') orphanDependents(store, writes, current);
    const graceSeconds = graceOf(type, current, options);
    const foreground = options.propagation === 'Foreground';
    const held = foreground || (current.metadata.finalizers ?? []).length > 0 || type.storage === 'namespaces';
    if (graceSeconds === 0 && !held) {
      return success({ object: writes.remove(type.storage, keyOf(current)) ?? current, gone: true });
    }
    return success({ object: commit(type, current, terminating(current, { graceSeconds, foreground, timers })), gone: false });
  }

  function bind(place: ObjectPlace, nodeName: string): Result<KubeObject> {
    const pods = storedType('pods');
    const found = get(pods, place);
    if (!found.ok) return found;
    const pod = found.value as PodObject;
    if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') {
      return conflict(
        { ...subjectOf(pods, place.name), plural: 'pods/binding' },
        `pod ${place.name} is already assigned to node "${pod.spec.nodeName}"`,
      );
    }
    if (pod.metadata.deletionTimestamp !== undefined)
      return conflict(subjectOf(pods, place.name), 'pod is being deleted, cannot be assigned to a host');
    const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: timestamp(timers.now()) } as const;
    const conditions = [...(pod.status.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled'), scheduled];
    // Since 1.34 the binding clears the nomination (v1.37.2, `pkg/registry/core/pod/storage/storage.go`).
    const { nominatedNodeName: _nominated, ...status } = pod.status;
    return success(writes.put('pods', { ...pod, spec: { ...pod.spec, nodeName }, status: { ...status, conditions } }));
  }

  return { store, timers, podWebhooks, get, create, update, modify, remove, bind };
}

function refusalOfNamespace(store: ObjectStore, namespace: string): ReturnType<typeof refuse> | undefined {
  const found = store.get('namespaces', `/${namespace}`);
  if (found === undefined) return notFound({ group: '', plural: 'namespaces', name: namespace });
  if (found.metadata.deletionTimestamp === undefined) return undefined;
  return refuse(403, 'Forbidden', `unable to create new content in namespace ${namespace} because it is being terminated`);
}

function withServerMetadata(type: ResourceType, draft: ObjectDraft, fresh: { readonly uid: string; readonly nowMs: number }): KubeObject {
  const { deletionTimestamp: _never, deletionGracePeriodSeconds: _grace, ...metadata } = draft.metadata;
  return {
    ...draft,
    apiVersion: storedVersionOf(type),
    kind: type.kind,
    metadata: {
      ...metadata,
      name: metadata.name ?? '',
      uid: fresh.uid,
      resourceVersion: '',
      creationTimestamp: timestamp(fresh.nowMs),
      ...(type.hasGeneration ? { generation: 1 } : {}),
    },
  };
}

/** A write of the status changes the managers of fields, and no other metadata. */
function managersFrom({ metadata }: KubeObject, next: KubeObject): Pick<KubeObject, 'metadata'> {
  const { managedFields } = next.metadata;
  return { metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** Applies a client's changes through the main resource: everything except identity and a separate status. */
function mergeMain(type: ResourceType, current: KubeObject, next: KubeObject): KubeObject {
  const { deletionTimestamp, deletionGracePeriodSeconds } = current.metadata;
  const merged: KubeObject = {
    ...next,
    apiVersion: current.apiVersion,
    kind: current.kind,
    metadata: {
      ...next.metadata,
      name: current.metadata.name,
      uid: current.metadata.uid,
      resourceVersion: current.metadata.resourceVersion,
      creationTimestamp: current.metadata.creationTimestamp,
      ...defined({
        namespace: current.metadata.namespace,
        generation: current.metadata.generation,
        deletionTimestamp,
        deletionGracePeriodSeconds,
      }),
    },
  };
  return keepsStatusApart(type) ? { ...merged, ...defined({ status: current.status }) } : merged;
}

/** The pod with the resources of the other one, and nothing else of it (v1.37.2, `pkg/registry/core/pod/strategy.go`: `dropNonResizeUpdates`). */
function resized(current: KubeObject, next: KubeObject): KubeObject {
  const [pod, wanted] = [current as PodObject, next as PodObject];
  const containers = pod.spec.containers.map((container, index) => {
    const { resources, resizePolicy } = wanted.spec.containers[index] ?? container;
    const { resources: _before, resizePolicy: _policy, ...rest } = container;
    return { ...rest, ...(resources === undefined ? {} : { resources }), ...(resizePolicy === undefined ? {} : { resizePolicy }) };
  });
  return { ...pod, spec: { ...pod.spec, containers } };
}

function refusalOfPreconditions(type: ResourceType, current: KubeObject, options: DeleteOptions): ReturnType<typeof conflict> | undefined {
  const { uid, resourceVersion } = current.metadata;
  const subject = subjectOf(type, current.metadata.name);
  if (options.uid !== undefined && options.uid !== uid) {
    return conflict(subject, `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    return conflict(
      subject,
      `Precondition failed: ResourceVersion in precondition: ${options.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`,
    );
  }
  return undefined;
}

/** Only pods with a kubelet get a grace period. Pods without a node and finished ones are deleted at once. */
function graceOf(type: ResourceType, object: KubeObject, options: DeleteOptions): number {
  if (type.storage !== 'pods') return 0;
  const { spec, status } = object as PodObject;
  if (spec.nodeName === undefined || status.phase === 'Succeeded' || status.phase === 'Failed') return 0;
  return Math.max(0, options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30);
}

function terminating(
  current: KubeObject,
  how: { readonly graceSeconds: number; readonly foreground: boolean; readonly timers: Timers },
): KubeObject {
  const { timers, graceSeconds } = how;
  const before = current.metadata.deletionTimestamp;
  // Durations shrink with the world's speed, so the moment of deletion does too.
  const at = timestamp(timers.now() + (graceSeconds * 1000) / timers.speed);
  const sooner = before === undefined || at < before;
  const finalizers = new Set([...(current.metadata.finalizers ?? []), ...(how.foreground ? [FOREGROUND] : [])]);
  const status = isRecord(current.status) && current.kind === 'Namespace' ? { ...current.status, phase: 'Terminating' } : current.status;
  return {
    ...current,
    metadata: {
      ...current.metadata,
      deletionTimestamp: sooner ? at : before,
      deletionGracePeriodSeconds: sooner ? graceSeconds : (current.metadata.deletionGracePeriodSeconds ?? graceSeconds),
      ...(finalizers.size === 0 ? {} : { finalizers: [...finalizers] }),
    },
    ...defined({ status }),
  };
}

/** Terminating, without finalizers, and not waiting for a kubelet or the namespace controller. */
function isDeletionFinished(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0 || object.kind === 'Namespace') return false;
  return object.kind !== 'Pod' || object.metadata.deletionGracePeriodSeconds === 0;
}

function orphanDependents(store: ObjectStore, writes: Pick<ObjectStore, 'put'>, owner: KubeObject): void {
  for (const storage of store.storages()) {
    for (const object of store.list(storage)) {
      const owners = object.metadata.ownerReferences ?? [];
      const kept = owners.filter((reference) => reference.uid !== owner.metadata.uid);
      if (kept.length === owners.length) continue;
      writes.put(storage, { ...object, metadata: { ...object.metadata, ownerReferences: kept } });
    }
  }
}
