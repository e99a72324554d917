/** The context of every controller, and how controllers record events. Must not know any single controller. */
import { stableHash } from '../../../lib/random.ts';
import type { VmFeed } from '../../base/vm-feed.ts';
import type { ViolationLog } from '../../base/write-safety.ts';
import type { WorldSpec } from '../../base/world-spec.ts';
import type { Api } from '../store/api.ts';
import type { ClusterLatencies } from './latencies.ts';
import { timestamp, type KubeObject, type OwnerReference, type PodObject } from '../store/objects.ts';
import { storedType } from '../store/resource-types.ts';
import type { ObjectStore, StoreChange } from '../store/store.ts';
import { defined } from '../../../lib/defined.ts';

export interface ControllerContext {
  readonly api: Api;
  readonly knobs: ClusterLatencies;
  readonly spec: WorldSpec;
  readonly machines: VmFeed;
  readonly violations: ViolationLog;
  readonly isForeign: (principal: string) => boolean;
}

export interface EventDraft {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
}

/** Records an event about an object. A repeated message about the same object raises the event's count. */
export function recordEvent(api: Api, about: KubeObject, draft: EventDraft): void {
  const { name, namespace, uid, resourceVersion } = about.metadata;
  const now = timestamp(api.timers.now());
  const hash = stableHash(`${uid}|${draft.reason}|${draft.message}|${draft.component}`).toString(16).padStart(8, '0');
  const place = { namespace: namespace ?? 'default', name: `${name}.${hash}` };
  const type = storedType('events');
  const before = api.store.get('events', `${place.namespace}/${place.name}`);
  if (before !== undefined) {
    api.modify(type, place, 'main', (event) => ({ ...event, count: Number(event['count'] ?? 1) + 1, lastTimestamp: now }));
    return;
  }
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: place.name },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      name,
      uid,
      resourceVersion,
      ...defined({ namespace }),
    },
    type: draft.type,
    reason: draft.reason,
    message: draft.message,
    source: { component: draft.component },
    reportingComponent: draft.component,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
  api.create(type, event, place.namespace);
}

/** Calls back for changes of the given kinds. Returns a function that unsubscribes. */
export function onChange(api: Api, storages: readonly string[], listener: (change: StoreChange) => void): () => void {
  return api.store.subscribe((change) => {
    if (storages.includes(change.storage)) listener(change);
  });
}

export function ownerReferenceTo(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  return (
    object.metadata.ownerReferences?.some((reference) => reference.uid === owner.metadata.uid && reference.controller === true) ?? false
  );
}

/** Neither finished nor terminating. */
export function isActive(pod: PodObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed';
}

/** The keys by which controllers look up pods. */
interface PodIndex {
  readonly onNode: (nodeName: string) => Iterable<KubeObject>;
  readonly ofController: (uid: string) => Iterable<KubeObject>;
}

const indexes = new WeakMap<ObjectStore, PodIndex>();

function indexOf({ store }: Api): PodIndex {
  const known = indexes.get(store);
  if (known !== undefined) return known;
  const made = {
    onNode: store.indexBy('pods', (pod) => (pod as PodObject).spec.nodeName),
    ofController: store.indexBy('pods', (pod) => pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid),
  };
  indexes.set(store, made);
  return made;
}

/** Pods that an object controls, in the order in which they became owned. */
export function podsOf(api: Api, owner: KubeObject): readonly PodObject[] {
  return Array.from(indexOf(api).ofController(owner.metadata.uid), (pod) => pod as PodObject);
}

export function podsOnNode(api: Api, nodeName: string): readonly PodObject[] {
  return Array.from(indexOf(api).onNode(nodeName), (pod) => pod as PodObject);
}
