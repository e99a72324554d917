/**
 * Objects that request, reserve and limit capacity: API group `autoscaling.x-k8s.io` of the Cluster Autoscaler. An invalid object carries
 * its problem as a value; the other objects are not affected.
 */
import type { LabelSelector } from './labels.ts';
import type { PodShape } from './pod.ts';

export type CapacityKind = 'CapacityQuota' | 'CapacityBuffer' | 'ProvisioningRequest';

/** Identifies an object and its version. `version` is opaque; a write passes it back and is refused if it is outdated. */
export interface CapacityObjectRef {
  readonly kind: CapacityKind;
  /** Empty for a cluster-wide object. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly version: string;
  readonly createdAtMs: number;
}

/** A standard condition of the API. Times in milliseconds since the epoch, whole seconds. */
export interface StatusCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly observedGeneration?: number;
}

/** The fields of a status; each kind has some of them. */
export interface CapacityStatus {
  readonly conditions: readonly StatusCondition[];
  /** For a quota: the capacity of its nodes, by resource, in whole units. */
  readonly used?: Readonly<Record<string, number>>;
  /** For a buffer. */
  readonly replicas?: number;
  readonly podTemplate?: string;
  readonly podTemplateGeneration?: number;
  readonly provisioningStrategy?: string;
}

/** Why an object is invalid, for its conditions. */
export interface ObjectProblem {
  readonly reason: string;
  readonly message: string;
}

/** A limit on the total capacity of the nodes with certain labels. */
export interface CapacityQuota {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
  /** If set, the quota is not enforced, and why. */
  readonly problem: ObjectProblem | undefined;
  readonly selector: LabelSelector;
  /** By resource, in whole units (cores, bytes, ones); `nodes` counts nodes. */
  readonly limits: Readonly<Record<string, number>>;
}

/** What one pod counts in ResourceQuotas, and what their scopes read. CPU in millicores, everything else in whole units. */
export interface QuotaUse {
  /** By the names that quotas use: `pods`, `requests.cpu`, `limits.memory` ... */
  readonly amounts: Readonly<Record<string, number>>;
  readonly priorityClass: string;
  readonly bestEffort: boolean;
  /** Whether its affinity names other namespaces. */
  readonly reachesNamespaces: boolean;
}

export interface QuotaScope {
  readonly scope: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** A ResourceQuota of a namespace, in the units of {@link QuotaUse}. */
export interface ResourceQuota {
  readonly namespace: string;
  readonly name: string;
  readonly hard: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly scopes: readonly QuotaScope[];
}

/** A pod template that capacity objects refer to. */
export interface PodTemplate {
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly shape: PodShape;
  /** undefined: it is unknown. */
  readonly quotaUse: QuotaUse | undefined;
  /** Why the shape is that of the template as it is written, and not as the API server admits it. undefined: no dry run failed. */
  readonly notAdmitted: string | undefined;
}

/** A workload whose pods a buffer copies. */
export interface ScalableWorkload {
  readonly kind: string;
  readonly apiGroup: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  readonly shape: PodShape;
  readonly quotaUse: QuotaUse | undefined;
  /** As of a pod template. */
  readonly notAdmitted: string | undefined;
  /** The shape is that of a dry run. Otherwise it is that of the template, whether or not a dry run was asked for. */
  readonly admitted: boolean;
}

interface ScalableRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** Spare room for future pods. */
export interface CapacityBuffer {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
  readonly problem: ObjectProblem | undefined;
  readonly strategy: string;
  readonly podTemplate: string | undefined;
  readonly scalable: ScalableRef | undefined;
  readonly replicas: number | undefined;
  readonly percentage: number | undefined;
  /** By resource, in the units of a resource vector (millicores, bytes, ones). */
  readonly limits: Readonly<Record<string, number>> | undefined;
}

/** Equal pods of a request. */
interface PodSet {
  readonly podTemplate: string;
  readonly count: number;
}

/** Room that a queue requests before it starts a batch of pods. */
export interface ProvisioningRequest {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
  /** If set, it is not served, and why. */
  readonly problem: ObjectProblem | undefined;
  readonly className: string;
  readonly podSets: readonly PodSet[];
  readonly parameters: Readonly<Record<string, string>>;
}

/** All objects of each kind in the cluster. A list is empty if its kind is not enabled or cannot be read. */
export interface CapacityObjects {
  readonly quotas: readonly CapacityQuota[];
  readonly buffers: readonly CapacityBuffer[];
  readonly requests: readonly ProvisioningRequest[];
  readonly resourceQuotas: readonly ResourceQuota[];
  /** By `namespace/name`. undefined: they cannot be read and are unknown. */
  readonly podTemplates: ReadonlyMap<string, PodTemplate> | undefined;
  /** By `kind.group/namespace/name`. undefined: they are not watched. */
  readonly scalables: ReadonlyMap<string, ScalableWorkload> | undefined;
}

export const NO_CAPACITY_OBJECTS: CapacityObjects = {
  quotas: [],
  buffers: [],
  requests: [],
  resourceQuotas: [],
  podTemplates: undefined,
  scalables: undefined,
};

/** The key of a workload in the observation. */
export function workloadKey({
  kind,
  apiGroup,
  namespace,
  name,
}: Readonly<Record<'kind' | 'apiGroup' | 'namespace' | 'name', string>>): string {
  return `${kind}.${apiGroup}/${namespace}/${name}`;
}

export function conditionOf(status: CapacityStatus, type: string): StatusCondition | undefined {
  return status.conditions.find((condition) => condition.type === type);
}

export function isTrue(status: CapacityStatus, type: string): boolean {
  return conditionOf(status, type)?.status === 'True';
}

/**
 * The status with this condition. The condition keeps its time while its status does not change. Returns the same object if nothing
 * changes.
 */
export function withCondition(status: CapacityStatus, wanted: Omit<StatusCondition, 'sinceMs'>, nowMs: number): CapacityStatus {
  const present = conditionOf(status, wanted.type);
  const sinceMs = present?.status === wanted.status ? present.sinceMs : Math.floor(nowMs / 1000) * 1000;
  if (present !== undefined && sameCondition(present, wanted)) return status;
  const next = { ...wanted, sinceMs };
  const conditions = present === undefined ? [...status.conditions, next] : status.conditions.map((one) => (one === present ? next : one));
  return { ...status, conditions };
}

function sameCondition(present: StatusCondition, wanted: Omit<StatusCondition, 'sinceMs'>): boolean {
  return (
    present.status === wanted.status &&
    present.reason === wanted.reason &&
    present.message === wanted.message &&
    (wanted.observedGeneration === undefined || present.observedGeneration === wanted.observedGeneration)
  );
}
