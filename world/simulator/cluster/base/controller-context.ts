/** The context of every controller, and how controllers record events. Must not know any single controller. */
import { stableHash } from '../../../../src/lib/random.ts';
import type { DiskDriver } from '../../base/disk-driver.ts';
import type { VmFeed } from '../../base/vm-feed.ts';
import type { ViolationLog } from '../../base/write-safety.ts';
import type { WorldSpec } from '../../base/world-spec.ts';
import type { Api } from '../store/api.ts';
import type { ClusterLatencies } from './latencies.ts';
import { timestamp, type KubeObject, type OwnerReference, type PodObject } from '../store/objects.ts';
import { storedType } from '../store/resource-types.ts';
import { keyOf, type ObjectStore, type StoreChange } from '../store/store.ts';
import { compareBy } from '../../../../src/lib/comparison.ts';
import { defined } from '../../../../src/lib/defined.ts';

export interface ControllerContext {
  readonly api: Api;
  readonly knobs: ClusterLatencies;
  readonly spec: WorldSpec;
  readonly machines: VmFeed;
  readonly disks: DiskDriver;
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
  return api.store.subscribe(listener, storages);
}

export function ownerReferenceTo(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

/** Neither finished nor terminating. */
export function isActive(pod: PodObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed';
}

/** The keys by which controllers look up pods and ReplicaSets. */
interface OwnedIndex {
  readonly onNode: (nodeName: string) => readonly KubeObject[];
  readonly ofController: (uid: string) => readonly KubeObject[];
  readonly inNamespace: (namespace: string) => readonly KubeObject[];
  readonly setsOfController: (uid: string) => readonly KubeObject[];
}

const indexes = new WeakMap<ObjectStore, OwnedIndex>();

function indexOf({ store }: Api): OwnedIndex {
  const known = indexes.get(store);
  if (known !== undefined) return known;
  const made = {
    onNode: store.indexBy('pods', (pod) => (pod as PodObject).spec.nodeName),
    ofController: store.indexBy('pods', uidOfController),
    inNamespace: store.indexBy('pods', (pod) => pod.metadata.namespace),
    setsOfController: store.indexBy('replicasets', uidOfController),
  };
  indexes.set(store, made);
  return made;
}

function uidOfController(object: KubeObject): string | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** Pods that an object controls, in the order in which they became owned. */
export function podsOf(api: Api, owner: KubeObject): readonly PodObject[] {
  return indexOf(api).ofController(owner.metadata.uid) as readonly PodObject[];
}

/** ReplicaSets that an object controls, by name. */
export function replicaSetsOf(api: Api, owner: KubeObject): readonly KubeObject[] {
  return indexOf(api).setsOfController(owner.metadata.uid).toSorted(compareBy(keyOf));
}

export function podsInNamespace(api: Api, namespace: string): readonly PodObject[] {
  return indexOf(api).inNamespace(namespace) as readonly PodObject[];
}

export function podsOnNode(api: Api, nodeName: string): readonly PodObject[] {
  return indexOf(api).onNode(nodeName) as readonly PodObject[];
}
