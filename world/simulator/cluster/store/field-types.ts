/**
 * The types of the fields that controllers, schedulers and autoscalers read, and the check of a decoded body against them: a wrong type is
 * refused in the words of an API server, whose decoder names the Go struct and field. Other fields are stored as they are.
 */
import { isRecord } from './patches.ts';
import type { ResourceType } from './resource-types.ts';
import { badRequest, success, type Result } from './status.ts';

/** A Go type by its name in a refusal. */
interface StructType {
  readonly go: string;
  readonly fields: Readonly<Record<string, FieldType>>;
}
type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'intstr.IntOrString' | 'resource.Quantity';
type FieldType = Scalar | StructType | { readonly list: Scalar | StructType } | { readonly map: Scalar };

function struct(go: string, fields: Readonly<Record<string, FieldType>>): StructType {
  return { go, fields };
}

const TEXTS = { list: 'string' } as const;
const TEXT_MAP = { map: 'string' } as const;
const QUANTITIES = { map: 'resource.Quantity' } as const;

const OWNER = struct('v1.OwnerReference', {
  apiVersion: 'string',
  kind: 'string',
  name: 'string',
  uid: 'string',
  controller: 'bool',
  blockOwnerDeletion: 'bool',
});
const META = struct('v1.ObjectMeta', {
  name: 'string',
  generateName: 'string',
  namespace: 'string',
  uid: 'string',
  resourceVersion: 'string',
  generation: 'int64',
  deletionTimestamp: 'string',
  deletionGracePeriodSeconds: 'int64',
  labels: TEXT_MAP,
  annotations: TEXT_MAP,
  ownerReferences: { list: OWNER },
  finalizers: TEXTS,
});
const REQUIREMENT = { key: 'string', operator: 'string', values: TEXTS } as const;
const SELECTOR = struct('v1.LabelSelector', {
  matchLabels: TEXT_MAP,
  matchExpressions: { list: struct('v1.LabelSelectorRequirement', REQUIREMENT) },
});
const NODE_REQUIREMENTS = { list: struct('v1.NodeSelectorRequirement', REQUIREMENT) } as const;
const NODE_TERM = struct('v1.NodeSelectorTerm', { matchExpressions: NODE_REQUIREMENTS, matchFields: NODE_REQUIREMENTS });
const PREFERRED_NODE = struct('v1.PreferredSchedulingTerm', { weight: 'int32', preference: NODE_TERM });
const AFFINITY_TERM = struct('v1.PodAffinityTerm', {
  topologyKey: 'string',
  labelSelector: SELECTOR,
  namespaces: TEXTS,
  namespaceSelector: SELECTOR,
  matchLabelKeys: TEXTS,
  mismatchLabelKeys: TEXTS,
});
const POD_AFFINITY = {
  requiredDuringSchedulingIgnoredDuringExecution: { list: AFFINITY_TERM },
  preferredDuringSchedulingIgnoredDuringExecution: {
    list: struct('v1.WeightedPodAffinityTerm', { weight: 'int32', podAffinityTerm: AFFINITY_TERM }),
  },
} as const;
const AFFINITY = struct('v1.Affinity', {
  nodeAffinity: struct('v1.NodeAffinity', {
    requiredDuringSchedulingIgnoredDuringExecution: struct('v1.NodeSelector', { nodeSelectorTerms: { list: NODE_TERM } }),
    preferredDuringSchedulingIgnoredDuringExecution: { list: PREFERRED_NODE },
  }),
  podAffinity: struct('v1.PodAffinity', POD_AFFINITY),
  podAntiAffinity: struct('v1.PodAntiAffinity', POD_AFFINITY),
});
const SPREAD = struct('v1.TopologySpreadConstraint', {
  topologyKey: 'string',
  maxSkew: 'int32',
  whenUnsatisfiable: 'string',
  minDomains: 'int32',
  labelSelector: SELECTOR,
  matchLabelKeys: TEXTS,
  nodeAffinityPolicy: 'string',
  nodeTaintsPolicy: 'string',
});
const TOLERATION = struct('v1.Toleration', {
  key: 'string',
  operator: 'string',
  value: 'string',
  effect: 'string',
  tolerationSeconds: 'int64',
});
const RESOURCES = struct('v1.ResourceRequirements', {
  requests: QUANTITIES,
  limits: QUANTITIES,
  claims: { list: struct('v1.ResourceClaim', { name: 'string', request: 'string' }) },
});
const CONTAINER = struct('v1.Container', {
  name: 'string',
  image: 'string',
  restartPolicy: 'string',
  resources: RESOURCES,
  ports: {
    list: struct('v1.ContainerPort', { name: 'string', containerPort: 'int32', hostPort: 'int32', protocol: 'string', hostIP: 'string' }),
  },
});
const CLAIM_SPEC = struct('v1.PersistentVolumeClaimSpec', {
  storageClassName: 'string',
  volumeName: 'string',
  volumeMode: 'string',
  accessModes: TEXTS,
  resources: struct('v1.VolumeResourceRequirements', { requests: QUANTITIES, limits: QUANTITIES }),
  selector: SELECTOR,
});
const VOLUME = struct('v1.Volume', {
  name: 'string',
  persistentVolumeClaim: struct('v1.PersistentVolumeClaimVolumeSource', { claimName: 'string', readOnly: 'bool' }),
  ephemeral: struct('v1.EphemeralVolumeSource', {
    volumeClaimTemplate: struct('v1.PersistentVolumeClaimTemplate', { metadata: META, spec: CLAIM_SPEC }),
  }),
  azureDisk: struct('v1.AzureDiskVolumeSource', { diskName: 'string', diskURI: 'string', kind: 'string' }),
});
const POD_SPEC = struct('v1.PodSpec', {
  nodeName: 'string',
  schedulerName: 'string',
  containers: { list: CONTAINER },
  initContainers: { list: CONTAINER },
  overhead: QUANTITIES,
  resources: RESOURCES,
  nodeSelector: TEXT_MAP,
  affinity: AFFINITY,
  topologySpreadConstraints: { list: SPREAD },
  tolerations: { list: TOLERATION },
  priority: 'int32',
  priorityClassName: 'string',
  hostNetwork: 'bool',
  terminationGracePeriodSeconds: 'int64',
  restartPolicy: 'string',
  schedulingGates: { list: struct('v1.PodSchedulingGate', { name: 'string' }) },
  runtimeClassName: 'string',
  volumes: { list: VOLUME },
});
const CONDITIONS = (go: string): FieldType => ({
  list: struct(go, { type: 'string', status: 'string', reason: 'string', message: 'string', lastTransitionTime: 'string' }),
});
const TEMPLATE = struct('v1.PodTemplateSpec', { metadata: META, spec: POD_SPEC });
const COUNTS = { replicas: 'int32', readyReplicas: 'int32', availableReplicas: 'int32', observedGeneration: 'int64' } as const;
const WORKLOAD = { replicas: 'int32', minReadySeconds: 'int32', selector: SELECTOR, template: TEMPLATE } as const;
const ROLLING = { maxSurge: 'intstr.IntOrString', maxUnavailable: 'intstr.IntOrString' } as const;
const TAINT = struct('v1.Taint', { key: 'string', value: 'string', effect: 'string', timeAdded: 'string' });

/** The fields of each kind beside its metadata, by the plural under which it is stored. */
const KINDS: Readonly<Record<string, Readonly<Record<string, FieldType>>>> = {
  pods: {
    spec: POD_SPEC,
    status: struct('v1.PodStatus', { phase: 'string', nominatedNodeName: 'string', conditions: CONDITIONS('v1.PodCondition') }),
  },
  nodes: {
    spec: struct('v1.NodeSpec', { providerID: 'string', taints: { list: TAINT }, unschedulable: 'bool' }),
    status: struct('v1.NodeStatus', { capacity: QUANTITIES, allocatable: QUANTITIES, conditions: CONDITIONS('v1.NodeCondition') }),
  },
  deployments: {
    spec: struct('v1.DeploymentSpec', {
      ...WORKLOAD,
      paused: 'bool',
      strategy: struct('v1.DeploymentStrategy', { type: 'string', rollingUpdate: struct('v1.RollingUpdateDeployment', ROLLING) }),
    }),
    status: struct('v1.DeploymentStatus', COUNTS),
  },
  replicasets: { spec: struct('v1.ReplicaSetSpec', WORKLOAD), status: struct('v1.ReplicaSetStatus', COUNTS) },
  statefulsets: { spec: struct('v1.StatefulSetSpec', WORKLOAD), status: struct('v1.StatefulSetStatus', COUNTS) },
  daemonsets: { spec: struct('v1.DaemonSetSpec', { minReadySeconds: 'int32', selector: SELECTOR, template: TEMPLATE }) },
  jobs: { spec: struct('v1.JobSpec', { parallelism: 'int32', completions: 'int32', selector: SELECTOR, template: TEMPLATE }) },
  poddisruptionbudgets: {
    spec: struct('v1.PodDisruptionBudgetSpec', {
      selector: SELECTOR,
      minAvailable: 'intstr.IntOrString',
      maxUnavailable: 'intstr.IntOrString',
      unhealthyPodEvictionPolicy: 'string',
    }),
    status: struct('v1.PodDisruptionBudgetStatus', {
      disruptionsAllowed: 'int32',
      currentHealthy: 'int32',
      desiredHealthy: 'int32',
      expectedPods: 'int32',
    }),
  },
  leases: {
    spec: struct('v1.LeaseSpec', {
      holderIdentity: 'string',
      leaseDurationSeconds: 'int32',
      acquireTime: 'string',
      renewTime: 'string',
      leaseTransitions: 'int32',
    }),
  },
  configmaps: { data: TEXT_MAP, binaryData: TEXT_MAP, immutable: 'bool' },
  secrets: { data: TEXT_MAP, stringData: TEXT_MAP, type: 'string' },
  persistentvolumeclaims: { spec: CLAIM_SPEC },
  priorityclasses: { value: 'int32', globalDefault: 'bool', preemptionPolicy: 'string' },
  runtimeclasses: {
    handler: 'string',
    overhead: struct('v1.Overhead', { podFixed: QUANTITIES }),
    scheduling: struct('v1.Scheduling', { nodeSelector: TEXT_MAP, tolerations: { list: TOLERATION } }),
  },
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * The body as a typed server decodes it: a null field is absent, null in a list is an empty value of the list's type. Refused with 400 if a
 * field has a wrong type.
 */
export function typedBody(type: ResourceType, body: Fields): Result<Fields> {
  const kind = struct(`v1.${type.kind}`, { ...KINDS[type.storage], metadata: META });
  const wrong = inStruct(kind, body, '');
  if (wrong !== undefined) return badRequest(`${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${wrong}`);
  return success(withoutNulls(zerosIn(kind, body) as Fields));
}

function withoutNulls(fields: Fields): Fields {
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(strip);
    return isRecord(value) ? withoutNulls(value) : value;
  };
  return Object.fromEntries(Object.entries(fields).flatMap(([key, value]) => (value === null ? [] : [[key, strip(value)]])));
}

function inStruct(type: StructType, value: Readonly<Record<string, unknown>>, path: string): string | undefined {
  for (const [name, field] of Object.entries(type.fields)) {
    const wrong = Object.hasOwn(value, name)
      ? inField(field, value[name], { owner: type.go, path: path === '' ? name : `${path}.${name}` })
      : undefined;
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

interface Place {
  readonly owner: string;
  readonly path: string;
}

function inField(type: FieldType, value: unknown, place: Place): string | undefined {
  // To Go, null leaves a field as it is.
  if (value === undefined || value === null) return undefined;
  if (typeof type === 'string') return isScalar(type, value) ? undefined : mismatch(value, goName(type), place);
  if ('list' in type) {
    if (!Array.isArray(value)) return mismatch(value, goName(type), place);
    return firstOf(value as readonly unknown[], (item) => inField(type.list, item, place));
  }
  if (!isRecord(value)) return mismatch(value, goName(type), place);
  if ('map' in type) return firstOf(Object.values(value), (item) => inField(type.map, item, place));
  return inStruct(type, value, place.path);
}

function firstOf(values: readonly unknown[], find: (value: unknown) => string | undefined): string | undefined {
  for (const value of values) {
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

const LIMITS: Readonly<Record<'int32' | 'int64', number>> = { int32: 2 ** 31, int64: 2 ** 63 };

function isScalar(type: Scalar, value: unknown): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'resource.Quantity':
      return typeof value === 'string' || typeof value === 'number';
    case 'intstr.IntOrString':
      return typeof value === 'string' || isInteger(value, LIMITS.int32);
    default:
      return isInteger(value, LIMITS[type]);
  }
}

function isInteger(value: unknown, limit: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= -limit && value < limit;
}

function goName(type: FieldType): string {
  if (typeof type === 'string') return type;
  if ('list' in type) return `[]${goName(type.list)}`;
  return 'map' in type ? `map[string]${type.map}` : type.go;
}

/** As `UnmarshalTypeError` of encoding/json: the struct without its package, then the whole path. */
function mismatch(value: unknown, wanted: string, { owner, path }: Place): string {
  const given = Array.isArray(value) ? 'array' : value !== null && typeof value === 'object' ? 'object' : jsonName(value);
  return `json: cannot unmarshal ${given} into Go struct field ${owner.replace(/^.*\./, '')}.${path} of type ${wanted}`;
}

function jsonName(value: unknown): string {
  if (typeof value !== 'number') return typeof value === 'boolean' ? 'bool' : typeof value;
  return Number.isInteger(value) ? 'number' : `number ${value}`;
}

function zerosIn(type: FieldType, value: unknown): unknown {
  if (typeof type === 'string') return value;
  if ('list' in type) return Array.isArray(value) ? value.map((item: unknown) => zerosIn(type.list, item ?? zeroOf(type.list))) : value;
  if (!isRecord(value) || 'map' in type) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      Object.hasOwn(type.fields, name) ? zerosIn(type.fields[name] ?? 'string', part) : part,
    ]),
  );
}

function zeroOf(type: Scalar | StructType): unknown {
  return typeof type === 'string' ? '' : {};
}
