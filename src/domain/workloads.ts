import type { LabelSelector } from './labels.ts';
import type { Controller, Pod, PodShape, Size } from './pod.ts';

/** A PodDisruptionBudget, reduced to what a drain needs. */
export interface DisruptionBudget {
  readonly namespace: string;
  readonly name: string;
  /** undefined: matches nothing (a null selector in policy/v1). */
  readonly selector: LabelSelector | undefined;
  readonly disruptionsAllowed: number;
  readonly expectedPods: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  /** Why it can never allow a disruption as written. undefined: its numbers may still forbid one. */
  readonly neverAllows: string | undefined;
  /** What its spec demands. undefined: it demands nothing, or the dump is of an earlier version. */
  readonly demand: BudgetDemand | undefined;
}

/** A number of pods, or a percentage such as `80%`. */
export interface BudgetDemand {
  readonly kind: 'minAvailable' | 'maxUnavailable';
  readonly value: number | string;
}

/** A DaemonSet: every new node that matches runs its pod before any other. */
export interface DaemonSet {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly shape: PodShape;
}

/** A controller that creates equal pods. */
export interface ReplicatedWorkload {
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'Job';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** How many pods it should have now. 0 if it reports that it cannot create them. */
  readonly desired: number;
}

/** A controller of a built-in kind that a pod names as its owner. */
export interface Owner {
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'Job' | 'ReplicationController';
  readonly namespace: string;
  readonly name: string;
}

/** The API server's answer about an owner. `desired` is its replica count; undefined for kinds without one. */
export type OwnerState = { readonly exists: false } | { readonly exists: true; readonly desired: number | undefined };

export type OwnerStates = ReadonlyMap<string, OwnerState>;

const OWNER_GROUPS: Readonly<Record<Owner['kind'], string>> = {
  ReplicaSet: 'apps',
  StatefulSet: 'apps',
  Job: 'batch',
  ReplicationController: '',
};

/** The owner of a pod. undefined if it has none, or one of another API group, whatever its kind's name. */
export function ownerOf({ controller, namespace }: Pick<Pod, 'namespace' | 'controller'>): Owner | undefined {
  if (controller === undefined || !isOwnerKind(controller.kind) || !isBuiltInOwner(controller)) return undefined;
  const { kind, name } = controller;
  return { kind, namespace, name };
}

/** Whether a drain looks the controller up: its kind and its API group are built in. Without a group, the kind decides. */
function isBuiltInOwner({ kind, apiVersion }: Pick<Controller, 'kind' | 'apiVersion'>): boolean {
  return isOwnerKind(kind) && (apiVersion === '' || apiGroupOf(apiVersion) === OWNER_GROUPS[kind]);
}

/**
 * Whether the pod is older than the node on which it is, so that it waited for any node and says nothing about the next one. What a
 * kubelet or a DaemonSet of any API group creates is for its node: if the Node object was deleted and registered again, it is older, too.
 */
export function isOlderThanNode(
  { mirror, controller, createdAtMs }: Pick<Pod, 'mirror' | 'controller' | 'createdAtMs'>,
  node: { readonly createdAtMs: number },
): boolean {
  return !mirror && controller?.kind !== 'DaemonSet' && createdAtMs < node.createdAtMs;
}

/** Whether it is a DaemonSet of `apps`, which is watched. Other API groups have kinds of that name, too. */
export function isBuiltInDaemonSet({ kind, apiVersion }: Pick<Controller, 'kind' | 'apiVersion'>): boolean {
  return kind === 'DaemonSet' && (apiVersion === '' || BUILT_IN_DAEMON_GROUPS.has(apiGroupOf(apiVersion)));
}

/** `extensions` served DaemonSets of `apps` until Kubernetes 1.16; old dumps and files may name it. */
const BUILT_IN_DAEMON_GROUPS: ReadonlySet<string> = new Set(['apps', 'extensions']);

/** The key in {@link OwnerStates}. */
export function ownerKey({ kind, namespace, name }: Owner): string {
  return `${kind} ${namespace}/${name}`;
}

/** Whether it is a built-in kind that a drain looks up. */
export function isOwnerKind(kind: string): kind is Owner['kind'] {
  return Object.hasOwn(OWNER_GROUPS, kind);
}

/** Empty for the core group. */
export function apiGroupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/**
 * A group of pods with its policy: a `PodGroup`, since Kubernetes 1.36 (`scheduling.k8s.io/v1alpha2`, `v1alpha3`, `v1beta1`), or one group of a
 * `Workload`, of 1.35 (`v1alpha1`).
 */
export interface PodGroup {
  readonly kind: 'PodGroup' | 'Workload';
  readonly namespace: string;
  /** Of the object. */
  readonly name: string;
  readonly uid: string;
  /** So many of its pods must have a place before one of them starts. undefined: each starts alone. */
  readonly minCount: number | undefined;
  /** The label whose value the nodes of all its pods share (`schedulingConstraints`). undefined: they may run anywhere. */
  readonly topologyKey: string | undefined;
  /** Its owner allows disruptions of all of its pods together only (`disruptionMode`). */
  readonly disruptedAsWhole: boolean;
}

/** The groups of the cluster. */
export interface PodGroups {
  /** By `namespace/` and the name that the shapes of their pods have; see {@link podGroupOf}. */
  readonly groups: ReadonlyMap<string, PodGroup>;
  /** Pods name groups, and these have not been read yet. */
  readonly unread: boolean;
}

/** A group whose pods start together. */
export interface Gang extends PodGroup {
  /** Differs between the replicas of one group of a `Workload`. */
  readonly id: string;
  /** As people know it: `pod group train-0`. */
  readonly title: string;
  readonly minCount: number;
}

/** The group's id in its namespace, as {@link PodGroups} has it. A replica of a group of a Workload has the policy of that group. */
function policyIdOf(namespace: string, gang: string): string {
  return `${namespace}/${gang.split('/').slice(0, 2).join('/')}`;
}

/** Marks pods of a group whose nodes share a label's value, in the planner's shapes alone: it is no valid name, so no pod of a cluster has it. */
export const POD_GROUP_LABEL = 'pod group of aks-autoscaler';

/** The group that the pod names, if it is known. */
export function podGroupOf({ namespace, shape }: Pick<Pod, 'namespace' | 'shape'>, known: PodGroups): PodGroup | undefined {
  return shape.gang === undefined ? undefined : known.groups.get(policyIdOf(namespace, shape.gang));
}

/** What keeps pods from starting one by one: nothing, a group with a minimum, or a group that is not known (yet). */
export type Membership =
  | { readonly kind: 'alone' }
  | { readonly kind: 'gang'; readonly gang: Gang }
  | { readonly kind: 'unknown'; readonly why: string };

const ALONE: Membership = { kind: 'alone' };

/** Where groups are not known at all, since the cluster does not serve them, each pod starts alone. */
export function membershipOf({ namespace, shape }: Pick<Pod, 'namespace' | 'shape'>, known: PodGroups | undefined): Membership {
  const title = shape.gang;
  if (title === undefined || known === undefined) return ALONE;
  const group = podGroupOf({ namespace, shape }, known);
  if (group === undefined) {
    const why = known.unread ? 'has not been read yet' : 'does not exist';
    return { kind: 'unknown', why: `its ${title} ${why}` };
  }
  const { minCount } = group;
  if (minCount === undefined) return ALONE;
  return { kind: 'gang', gang: { ...group, minCount, id: `${namespace}/${title}`, title } };
}

/** The key of a group among {@link PodGroups}: `name` is `pod group NAME`, or `workload NAME/GROUP`. */
export function podGroupKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Gives pods their requests when they are created: a VerticalPodAutoscaler of a mode in which it does. */
export interface VerticalPodAutoscaler {
  readonly namespace: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly target: { readonly kind: string; readonly name: string };
  /** By container. Empty if there is no recommendation. */
  readonly containers: Readonly<Record<string, ContainerTarget>>;
}

/** What a container will request. An absent resource stays as its template has it. */
export interface ContainerTarget extends Partial<Size> {
  /** Not more than its limit, which stays. If absent, its limit follows. */
  readonly withinLimit?: true;
}

/** By `namespace/kind/name` of the workload: the one that its pods heed. */
export type VerticalPodAutoscalers = ReadonlyMap<string, VerticalPodAutoscaler>;
