/**
 * API objects of the simulated server: plain JSON, never changed in place. The typed kinds name only the fields that the
 * controllers read. Other fields of clients are stored and returned unchanged.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export type StringMap = Readonly<Record<string, string>>;

interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid: string;
  /** The store's counter at the last write, as decimal text. */
  readonly resourceVersion: string;
  readonly generation?: number;
  /** RFC 3339, whole seconds. */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  /** Who manages which field; entries of FieldsV1. */
  readonly managedFields?: readonly unknown[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly [field: string]: unknown;
}

/** The object that a client sends. The server adds the rest of the metadata. */
export interface ObjectDraft {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Partial<ObjectMeta>;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly [field: string]: unknown;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
  readonly [field: string]: unknown;
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  readonly timeAdded?: string;
}

export interface PodToleration {
  readonly key?: string;
  readonly operator?: 'Equal' | 'Exists' | 'Lt' | 'Gt';
  readonly value?: string;
  readonly effect?: NodeTaint['effect'];
  readonly tolerationSeconds?: number;
}

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  readonly values?: readonly string[];
}

export interface ObjectSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly SelectorRequirement[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly SelectorRequirement[];
  readonly matchFields?: readonly SelectorRequirement[];
}

export interface AffinityTerm {
  readonly topologyKey: string;
  readonly labelSelector?: ObjectSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: ObjectSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  readonly minDomains?: number;
  readonly labelSelector?: ObjectSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore';
}

export type Quantities = Readonly<Record<string, string | number>>;

export interface ContainerSpec {
  readonly name: string;
  readonly image?: string;
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities };
  readonly ports?: readonly {
    readonly containerPort: number;
    readonly hostPort?: number;
    readonly protocol?: string;
    readonly hostIP?: string;
  }[];
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly containers: readonly ContainerSpec[];
  readonly initContainers?: readonly ContainerSpec[];
  readonly overhead?: Quantities;
  readonly nodeSelector?: StringMap;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };
    };
    readonly podAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[] };
    readonly podAntiAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[] };
  };
  readonly topologySpreadConstraints?: readonly SpreadConstraint[];
  readonly tolerations?: readonly PodToleration[];
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly restartPolicy?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly runtimeClassName?: string;
  readonly volumes?: readonly PodVolume[];
  readonly [field: string]: unknown;
}

export interface ClaimSpec {
  readonly storageClassName?: string;
  readonly volumeName?: string;
  readonly volumeMode?: string;
  readonly accessModes?: readonly string[];
  readonly resources?: { readonly requests?: Quantities };
  readonly selector?: ObjectSelector;
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: { readonly volumeClaimTemplate?: { readonly metadata?: Partial<ObjectMeta>; readonly spec: ClaimSpec } };
  readonly azureDisk?: { readonly diskName: string; readonly diskURI: string; readonly kind?: string };
  readonly [kind: string]: unknown;
}

/** `handler` runs pods in a way that has an overhead and that only some nodes support. */
export interface RuntimeClassObject extends KubeObject {
  readonly handler: string;
  readonly overhead?: { readonly podFixed?: Quantities };
  readonly scheduling?: { readonly nodeSelector?: StringMap; readonly tolerations?: readonly PodToleration[] };
}

export interface PodObject extends KubeObject {
  readonly spec: PodSpec;
  readonly status: {
    readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    readonly conditions?: readonly Condition[];
    readonly [field: string]: unknown;
  };
}

export interface NodeObject extends KubeObject {
  readonly spec: {
    readonly providerID?: string;
    readonly taints?: readonly NodeTaint[];
    readonly unschedulable?: boolean;
    readonly [field: string]: unknown;
  };
  readonly status: {
    readonly capacity?: Quantities;
    readonly allocatable?: Quantities;
    readonly conditions?: readonly Condition[];
    readonly [field: string]: unknown;
  };
}

export interface PodTemplate {
  readonly metadata?: { readonly labels?: StringMap; readonly annotations?: StringMap };
  readonly spec: PodSpec;
}

interface WorkloadStatus {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly observedGeneration?: number;
  readonly [field: string]: unknown;
}

/** ReplicaSet, Deployment, StatefulSet. */
export interface ReplicatedObject extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: ObjectSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly strategy?: {
      readonly type?: 'RollingUpdate' | 'Recreate';
      readonly rollingUpdate?: { readonly maxSurge?: string | number; readonly maxUnavailable?: string | number };
    };
    readonly paused?: boolean;
    readonly [field: string]: unknown;
  };
  readonly status?: WorkloadStatus;
}

export interface DaemonSetObject extends KubeObject {
  readonly spec: { readonly selector: ObjectSelector; readonly template: PodTemplate; readonly [field: string]: unknown };
  readonly status?: { readonly [field: string]: unknown };
}

export interface BudgetObject extends KubeObject {
  readonly spec: {
    readonly selector?: ObjectSelector;
    readonly minAvailable?: string | number;
    readonly maxUnavailable?: string | number;
    readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly observedGeneration?: number;
    readonly disruptedPods?: StringMap;
    readonly conditions?: readonly Condition[];
  };
}

export interface EventObject extends KubeObject {
  readonly involvedObject: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly [field: string]: unknown;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
}

/** RFC 3339 in whole seconds, the format of object metadata. */
export function timestamp(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== latest.second) latest = { second, text: new Date(second * 1000).toISOString().replace(/\.\d+Z$/, 'Z') };
  return latest.text;
}

/** Most calls are about the present second. */
let latest = { second: Number.NaN, text: '' };

/** The owner that manages the object, if any. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

export function conditionOf(
  object: { readonly status: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined {
  return object.status.conditions?.find((condition) => condition.type === type);
}

/** The conditions with one replaced. The transition time stays if the status does not change. */
export function withCondition(conditions: readonly Condition[] | undefined, next: Condition): readonly Condition[] {
  const before = conditions?.find((condition) => condition.type === next.type);
  const kept =
    before?.status === next.status && before.lastTransitionTime !== undefined ? { lastTransitionTime: before.lastTransitionTime } : {};
  return [...(conditions ?? []).filter((condition) => condition.type !== next.type), { ...next, ...kept }];
}
