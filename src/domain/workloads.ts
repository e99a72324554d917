import type { LabelSelector } from './labels.ts';
import type { Pod, PodShape } from './pod.ts';

/** A PodDisruptionBudget reduced to what a drain asks of it. */
export interface DisruptionBudget {
  readonly namespace: string;
  readonly name: string;
  /** undefined: matches nothing (a null selector in policy/v1). */
  readonly selector: LabelSelector | undefined;
  readonly disruptionsAllowed: number;
  readonly expectedPods: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  /** Why it can never allow a disruption as it is written. Absent: its numbers may say so all the same. */
  readonly neverAllows?: string;
}

/** A DaemonSet: what each new node that matches will carry before any other pod. */
export interface DaemonSet {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly shape: PodShape;
}

/** A controller that makes equal pods on its own. */
export interface ReplicatedWorkload {
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'Job';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Pods that it wants to run now; 0 also when it says that it cannot make them. */
  readonly desired: number;
}

/** A controller of a built-in kind that a pod names as its own. */
export interface Owner {
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'Job' | 'ReplicationController';
  readonly namespace: string;
  readonly name: string;
}

/** What the API server said of an owner. `desired`: the pods it is to keep; undefined where a kind has no such number. */
export type OwnerState = { readonly exists: false } | { readonly exists: true; readonly desired: number | undefined };

export type OwnerStates = ReadonlyMap<string, OwnerState>;

const OWNER_GROUPS: Readonly<Record<Owner['kind'], string>> = {
  ReplicaSet: 'apps',
  StatefulSet: 'apps',
  Job: 'batch',
  ReplicationController: '',
};

/** The owner of a pod; undefined: it has none, or one of a kind that is not built in, whatever its name (another API's StatefulSet). */
export function ownerOf(pod: Pick<Pod, 'namespace' | 'controller'>): Owner | undefined {
  const { controller, namespace } = pod;
  if (controller === undefined || !isOwnerKind(controller.kind)) return undefined;
  const { kind, name, apiVersion } = controller;
  const isBuiltIn = apiVersion === undefined || apiGroupOf(apiVersion) === OWNER_GROUPS[kind];
  return isBuiltIn ? { kind, namespace, name } : undefined;
}

/** The key in {@link OwnerStates}. */
export function ownerKey({ kind, namespace, name }: Owner): string {
  return `${kind} ${namespace}/${name}`;
}

/** Whether it is one of the built-in kinds that a drain asks for. */
export function isOwnerKind(kind: string): kind is Owner['kind'] {
  return Object.hasOwn(OWNER_GROUPS, kind);
}

function apiGroupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
