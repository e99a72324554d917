/**
 * Objects that request, reserve and limit capacity: API group `autoscaling.x-k8s.io` of the Cluster Autoscaler. An invalid object carries
 * its problem as a value; the other objects are not affected.
 */
import type { LabelSelector } from './labels.ts';
import type { PodShape } from './pod.ts';

export type CapacityKind = 'CapacityQuota' | 'CapacityBuffer' | 'ProvisioningRequest';

/** Which object, and which state of it. `version` is opaque; a write hands it back and is refused when it is no longer true. */
export interface CapacityObjectRef {
  readonly kind: CapacityKind;
  /** Empty: of the whole cluster. */
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

/** What a status says; only the fields that the kind has. */
export interface CapacityStatus {
  readonly conditions: readonly StatusCondition[];
  /** Of a quota: what its nodes have, by resource, in whole units. */
  readonly used?: Readonly<Record<string, number>>;
  /** Of a buffer. */
  readonly replicas?: number;
  readonly podTemplate?: string;
  readonly podTemplateGeneration?: number;
  readonly provisioningStrategy?: string;
}

/** What is wrong with an object, for its conditions. */
export interface ObjectProblem {
  readonly reason: string;
  readonly message: string;
}

/** A limit on what nodes with certain labels may have together. */
export interface CapacityQuota {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
  /** Set: not enforced, and why. */
  readonly problem?: ObjectProblem;
  readonly selector: LabelSelector;
  /** By resource, in whole units (cores, bytes, ones); `nodes` counts nodes. */
  readonly limits: Readonly<Record<string, number>>;
}

/** What one pod takes of ResourceQuotas, and what else they ask about it. CPU in millicores, everything else in whole units. */
export interface QuotaUse {
  /** By the names that quotas use: `pods`, `requests.cpu`, `limits.memory` ... */
  readonly amounts: Readonly<Record<string, number>>;
  readonly priorityClass: string;
  readonly bestEffort: boolean;
  /** Its affinity names other namespaces. */
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

/** The pods that an object of this group speaks of. */
export interface PodTemplate {
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly shape: PodShape;
  /** If absent, it is unknown. */
  readonly quotaUse?: QuotaUse;
}

/** A workload that buffers are cut after. */
export interface ScalableWorkload {
  readonly kind: string;
  readonly apiGroup: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  readonly shape: PodShape;
  readonly quotaUse?: QuotaUse;
}

export interface ScalableRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** Spare room for pods that are not there yet. */
export interface CapacityBuffer {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
  readonly problem?: ObjectProblem;
  readonly strategy: string;
  readonly podTemplate?: string;
  readonly scalable?: ScalableRef;
  readonly replicas?: number;
  readonly percentage?: number;
  /** By resource, in the units of a resource vector (millicores, bytes, ones). */
  readonly limits?: Readonly<Record<string, number>>;
}

/** Pods of one kind in a request. */
export interface PodSet {
  readonly podTemplate: string;
  readonly count: number;
}

/** Room that a queue asks for before it lets a batch of pods go. */
export interface ProvisioningRequest {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
  readonly className: string;
  readonly podSets: readonly PodSet[];
  readonly parameters: Readonly<Record<string, string>>;
}

/** All objects of this kind in the cluster. If absent, the kind is not enabled or cannot be read. */
export interface CapacityObjects {
  readonly quotas?: readonly CapacityQuota[];
  readonly buffers?: readonly CapacityBuffer[];
  readonly requests?: readonly ProvisioningRequest[];
  readonly resourceQuotas?: readonly ResourceQuota[];
  /** By `namespace/name`. If absent, they cannot be read and are unknown. */
  readonly podTemplates?: ReadonlyMap<string, PodTemplate>;
  /** By `kind.group/namespace/name`. */
  readonly scalables?: ReadonlyMap<string, ScalableWorkload>;
}

export function conditionOf(status: CapacityStatus, type: string): StatusCondition | undefined {
  return status.conditions.find((condition) => condition.type === type);
}

export function isTrue(status: CapacityStatus, type: string): boolean {
  return conditionOf(status, type)?.status === 'True';
}

/** The status with this condition; its time stays while its truth does. The status itself when that says so already. */
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
