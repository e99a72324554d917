/** The kinds that the simulated API server knows and announces in discovery. A data table. */
import { AutoscalerError } from '../../../../src/lib/errors.ts';

export type Subresource = 'status' | 'scale' | 'eviction' | 'binding' | 'log' | 'resize';

export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  readonly inAll: boolean;
  readonly subresources: readonly Subresource[];
  /** Field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly fields: readonly string[];
  /** Where objects are stored; two versions of one kind share it. */
  readonly storage: string;
  /** Whether a change of the spec increments `metadata.generation`. */
  readonly hasGeneration: boolean;
  /** Of a CustomResourceDefinition, and what it says beside the schema. */
  readonly custom?: CustomFeatures;
}

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  /** Above 0: with `-o wide` only. */
  readonly priority?: number;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

interface CustomFeatures {
  readonly columns: readonly PrinterColumn[];
  readonly scale?: ScalePaths;
  /** The warning of each request for a deprecated version. */
  readonly deprecation?: string;
}

interface Row {
  readonly api: string;
  readonly kind: string;
  readonly plural: string;
  readonly short?: readonly string[];
  readonly cluster?: true;
  readonly inAll?: true;
  readonly sub?: readonly Subresource[];
  readonly fields?: readonly string[];
  readonly generation?: true;
}

const EVENT_FIELDS = ['reason', 'type', 'reportingComponent', 'source'];
const INVOLVED = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

const ROWS: readonly Row[] = [
  { api: 'v1', kind: 'Namespace', plural: 'namespaces', short: ['ns'], cluster: true, sub: ['status'], fields: ['status.phase'] },
  { api: 'v1', kind: 'Node', plural: 'nodes', short: ['no'], cluster: true, sub: ['status'], fields: ['spec.unschedulable'] },
  {
    api: 'v1',
    kind: 'Pod',
    plural: 'pods',
    short: ['po'],
    inAll: true,
    sub: ['status', 'eviction', 'binding', 'log', 'resize'],
    fields: ['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
  },
  {
    api: 'v1',
    kind: 'Event',
    plural: 'events',
    short: ['ev'],
    fields: [...EVENT_FIELDS, ...INVOLVED.map((name) => `involvedObject.${name}`)],
  },
  { api: 'v1', kind: 'ConfigMap', plural: 'configmaps', short: ['cm'] },
  { api: 'v1', kind: 'Secret', plural: 'secrets', fields: ['type'] },
  { api: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', short: ['sa'] },
  { api: 'v1', kind: 'Service', plural: 'services', short: ['svc'], inAll: true, sub: ['status'], fields: ['spec.clusterIP', 'spec.type'] },
  { api: 'v1', kind: 'Endpoints', plural: 'endpoints', short: ['ep'] },
  {
    api: 'v1',
    kind: 'ReplicationController',
    plural: 'replicationcontrollers',
    short: ['rc'],
    inAll: true,
    sub: ['status'],
    generation: true,
  },
  { api: 'v1', kind: 'PersistentVolume', plural: 'persistentvolumes', short: ['pv'], cluster: true, sub: ['status'] },
  { api: 'v1', kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims', short: ['pvc'], sub: ['status'] },
  {
    api: 'apps/v1',
    kind: 'Deployment',
    plural: 'deployments',
    short: ['deploy'],
    inAll: true,
    sub: ['status', 'scale'],
    generation: true,
  },
  {
    api: 'apps/v1',
    kind: 'ReplicaSet',
    plural: 'replicasets',
    short: ['rs'],
    inAll: true,
    sub: ['status', 'scale'],
    fields: ['status.replicas'],
    generation: true,
  },
  { api: 'apps/v1', kind: 'DaemonSet', plural: 'daemonsets', short: ['ds'], inAll: true, sub: ['status'], generation: true },
  { api: 'apps/v1', kind: 'StatefulSet', plural: 'statefulsets', short: ['sts'], inAll: true, sub: ['status', 'scale'], generation: true },
  { api: 'apps/v1', kind: 'ControllerRevision', plural: 'controllerrevisions' },
  { api: 'batch/v1', kind: 'Job', plural: 'jobs', inAll: true, sub: ['status'], fields: ['status.successful'], generation: true },
  { api: 'batch/v1', kind: 'CronJob', plural: 'cronjobs', short: ['cj'], inAll: true, sub: ['status'], generation: true },
  {
    api: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    short: ['hpa'],
    inAll: true,
    sub: ['status'],
  },
  {
    api: 'policy/v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    short: ['pdb'],
    sub: ['status'],
    generation: true,
  },
  { api: 'v1', kind: 'PodTemplate', plural: 'podtemplates', generation: true },
  // Stored only: this server neither counts usage nor enforces quotas.
  { api: 'v1', kind: 'ResourceQuota', plural: 'resourcequotas', short: ['quota'], sub: ['status'] },
  {
    api: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityQuota',
    plural: 'capacityquotas',
    short: ['cq'],
    cluster: true,
    sub: ['status'],
    generation: true,
  },
  {
    api: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    plural: 'capacitybuffers',
    short: ['cb'],
    sub: ['status'],
    generation: true,
  },
  {
    api: 'autoscaling.x-k8s.io/v1',
    kind: 'ProvisioningRequest',
    plural: 'provisioningrequests',
    short: ['provreq', 'provreqs'],
    sub: ['status'],
    generation: true,
  },
  { api: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' },
  {
    api: 'events.k8s.io/v1',
    kind: 'Event',
    plural: 'events',
    short: ['ev'],
    fields: ['reason', 'type', 'reportingController', ...INVOLVED.map((name) => `regarding.${name}`)],
  },
  // Stored and never enforced: the holder of the only token may do everything that the control surface does not forbid.
  { api: 'rbac.authorization.k8s.io/v1', kind: 'Role', plural: 'roles' },
  { api: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', plural: 'rolebindings' },
  { api: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', plural: 'clusterroles', cluster: true },
  { api: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', cluster: true },
  // Stored only: this world has no pod network.
  { api: 'networking.k8s.io/v1', kind: 'NetworkPolicy', plural: 'networkpolicies', short: ['netpol'], generation: true },
  { api: 'scheduling.k8s.io/v1', kind: 'PriorityClass', plural: 'priorityclasses', short: ['pc'], cluster: true },
  { api: 'node.k8s.io/v1', kind: 'RuntimeClass', plural: 'runtimeclasses', cluster: true },
  { api: 'storage.k8s.io/v1', kind: 'StorageClass', plural: 'storageclasses', short: ['sc'], cluster: true },
  { api: 'storage.k8s.io/v1', kind: 'CSINode', plural: 'csinodes', cluster: true },
  { api: 'storage.k8s.io/v1', kind: 'CSIDriver', plural: 'csidrivers', cluster: true },
  { api: 'storage.k8s.io/v1', kind: 'CSIStorageCapacity', plural: 'csistoragecapacities' },
  {
    api: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    plural: 'resourceslices',
    cluster: true,
    generation: true,
    fields: ['spec.driver', 'spec.nodeName'],
  },
  { api: 'resource.k8s.io/v1', kind: 'DeviceClass', plural: 'deviceclasses', cluster: true, generation: true },
  { api: 'resource.k8s.io/v1', kind: 'ResourceClaim', plural: 'resourceclaims', sub: ['status'] },
  { api: 'resource.k8s.io/v1', kind: 'ResourceClaimTemplate', plural: 'resourceclaimtemplates' },
  {
    api: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    short: ['crd', 'crds'],
    cluster: true,
    sub: ['status'],
    generation: true,
  },
  { api: 'storage.k8s.io/v1', kind: 'VolumeAttachment', plural: 'volumeattachments', cluster: true, sub: ['status'] },
];

function typeOf(row: Row): ResourceType {
  const [group = '', version] = row.api.includes('/') ? row.api.split('/') : ['', row.api];
  return {
    group,
    version: version ?? 'v1',
    plural: row.plural,
    singular: row.kind.toLowerCase(),
    kind: row.kind,
    shortNames: row.short ?? [],
    namespaced: row.cluster !== true,
    inAll: row.inAll === true,
    subresources: row.sub ?? [],
    fields: row.fields ?? [],
    storage: row.plural,
    hasGeneration: row.generation === true,
  };
}

export const RESOURCE_TYPES: readonly ResourceType[] = ROWS.map(typeOf);

/** `v1` or `apps/v1`, the form of an object's `apiVersion`. */
export function apiVersionOf(type: { readonly group: string; readonly version: string }): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`;
}

export function findKind(apiVersion: string, kind: string): ResourceType | undefined {
  return RESOURCE_TYPES.find((type) => type.kind === kind && apiVersionOf(type) === apiVersion);
}

/** The `apiVersion` under which objects of the type are stored. */
export function storedVersionOf(type: ResourceType): string {
  return apiVersionOf(type.custom === undefined ? storedType(type.storage) : type);
}

/** The type of a stored object of any kind; that of a custom kind as far as its object shows it. */
export function typeOfStored(
  storage: string,
  object: { readonly apiVersion: string; readonly kind: string; readonly metadata: object },
): ResourceType {
  const known = RESOURCE_TYPES.find((type) => type.storage === storage);
  if (known !== undefined) return known;
  const [plural = storage] = storage.split('.');
  const cluster = 'namespace' in object.metadata ? {} : { cluster: true as const };
  return {
    ...typeOf({ api: object.apiVersion, kind: object.kind, plural, generation: true, ...cluster }),
    storage,
    custom: { columns: [] },
  };
}

/** A kind that the controllers need; the first type with that storage name. */
export function storedType(storage: string): ResourceType {
  const found = RESOURCE_TYPES.find((type) => type.storage === storage);
  if (found === undefined) throw new AutoscalerError({ kind: 'bug' }, `No resource type has the storage name ${storage}.`);
  return found;
}
