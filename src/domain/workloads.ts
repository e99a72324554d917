import type { LabelSelector } from './labels.ts';
import type { Controller, Pod, PodShape } from './pod.ts';

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
  /** Why it can never allow a disruption as written. If absent, its numbers may still forbid one. */
  readonly neverAllows?: string;
  /** What its spec demands. If absent, it demands nothing, or the dump is of an earlier version. */
  readonly demand?: BudgetDemand;
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
  return isOwnerKind(kind) && (apiVersion === undefined || apiGroupOf(apiVersion) === OWNER_GROUPS[kind]);
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
  return kind === 'DaemonSet' && (apiVersion === undefined || BUILT_IN_DAEMON_GROUPS.has(apiGroupOf(apiVersion)));
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
