/** What a case may hold, where the API server has it, and in which form it is sent and compared. */
import type { ParityObject } from '../../differential/parity-case.ts';
import { servedPodGroups } from '../pod-group-api.ts';
import type { Json } from '../../../world/simulator/real-control-plane/api-client.ts';

export const DEVICES = '/apis/resource.k8s.io/v1';
/** Paths of everything that a case may hold, in the order of creation. */
export const PATHS: readonly (readonly [kind: string, path: (namespace: string) => string])[] = [
  ['Namespace', () => '/api/v1/namespaces'],
  ['StorageClass', () => '/apis/storage.k8s.io/v1/storageclasses'],
  ['CSIDriver', () => '/apis/storage.k8s.io/v1/csidrivers'],
  ['CSINode', () => '/apis/storage.k8s.io/v1/csinodes'],
  ['PersistentVolume', () => '/api/v1/persistentvolumes'],
  ['PersistentVolumeClaim', (namespace) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims`],
  ['DeviceClass', () => `${DEVICES}/deviceclasses`],
  ['DeviceTaintRule', () => `${DEVICES}/devicetaintrules`],
  ['ResourceSlice', () => `${DEVICES}/resourceslices`],
  ['ResourceClaimTemplate', (namespace) => `${DEVICES}/namespaces/${namespace}/resourceclaimtemplates`],
  ['ResourceClaim', (namespace) => `${DEVICES}/namespaces/${namespace}/resourceclaims`],
  ['Service', (namespace) => `/api/v1/namespaces/${namespace}/services`],
  ['ReplicationController', (namespace) => `/api/v1/namespaces/${namespace}/replicationcontrollers`],
  ['ReplicaSet', (namespace) => `/apis/apps/v1/namespaces/${namespace}/replicasets`],
  ['StatefulSet', (namespace) => `/apis/apps/v1/namespaces/${namespace}/statefulsets`],
  ['PodGroup', (namespace) => `/apis/${servedPodGroups()?.api ?? ''}/namespaces/${namespace}/podgroups`],
  ['Node', () => '/api/v1/nodes'],
  ['Pod', (namespace) => `/api/v1/namespaces/${namespace}/pods`],
];

/** Of what is not in the core group. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  apps: ['ReplicaSet', 'StatefulSet'],
  'storage.k8s.io': ['StorageClass', 'CSIDriver', 'CSINode'],
  'resource.k8s.io': ['DeviceClass', 'DeviceTaintRule', 'ResourceSlice', 'ResourceClaimTemplate', 'ResourceClaim'],
};

export function pathOf({ kind, metadata }: ParityObject): string {
  const found = PATHS.find(([each]) => each === kind);
  if (found === undefined) throw new Error(`A case cannot hold a ${kind}.`);
  return found[1](metadata.namespace ?? 'default');
}

export function apiOf({ kind }: ParityObject): Json {
  if (kind === 'PodGroup') return { apiVersion: servedPodGroups()?.api ?? '', kind };
  const [group] = Object.entries(GROUPS).find(([, kinds]) => kinds.includes(kind)) ?? [];
  return { apiVersion: group === undefined ? 'v1' : `${group}/v1`, kind };
}

/** Without what only the server's own books are about. */
export function tidy(object: ParityObject): ParityObject {
  const { managedFields: _fields, resourceVersion: _version, generation: _generation, ...metadata } = object.metadata;
  return { ...object, metadata };
}
