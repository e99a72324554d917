/** The admission plug-ins of an API server: changes to new objects and refusals. RuntimeClass, default storage class. */
import type { KubeObject, ObjectDraft, PodSpec, RuntimeClassObject, StringMap } from './objects.ts';
import { isRecord, sameJson } from './patches.ts';
import type { ResourceType } from './resource-types.ts';
import { refuse, success, type Result } from './status.ts';
import type { ObjectStore } from './store.ts';
import { compareBy } from '../../../../src/lib/comparison.ts';
import { defined } from '../../../../src/lib/defined.ts';

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

/** A container that a mutating webhook adds to each new pod of a namespace, as side-car injectors do. */
export interface InjectedContainer {
  readonly namespace: string;
  readonly name: string;
  readonly requests: Readonly<Record<string, string>>;
}

/** Changes new pods before they are stored. It has no side effects. */
export type PodWebhook = (draft: ObjectDraft, store: ObjectStore) => ObjectDraft;

/** Returns a 403 for objects that the plug-ins refuse. */
export function admit(
  type: ResourceType,
  draft: ObjectDraft,
  store: ObjectStore,
  webhooks: readonly PodWebhook[] = [],
): Result<ObjectDraft> {
  if (type.storage === 'pods')
    return admitPod(
      webhooks.reduce((pod, change) => change(pod, store), draft),
      store,
    );
  if (type.storage === 'persistentvolumeclaims') return success(withClass(draft, store));
  return success(draft);
}

/**
 * Kubernetes, "Dynamic Admission Control": webhooks without side effects are called for dry runs, too.
 */
export function withInjected(draft: ObjectDraft, injected: readonly InjectedContainer[]): ObjectDraft {
  const own = injected.filter(({ namespace }) => namespace === draft.metadata.namespace);
  if (own.length === 0) return draft;
  const spec = isRecord(draft.spec) ? draft.spec : {};
  const present = Array.isArray(spec['containers']) ? (spec['containers'] as readonly unknown[]) : [];
  const added = own.map(({ name, requests }) => ({ name, image: `${name}:1`, resources: { requests } }));
  return { ...draft, spec: { ...spec, containers: [...present, ...added] } };
}

/** Copies overhead and scheduling of the RuntimeClass into the pod, since the scheduler does not read the class. */
function admitPod(draft: ObjectDraft, store: ObjectStore): Result<ObjectDraft> {
  const spec = (isRecord(draft.spec) ? draft.spec : {}) as Partial<PodSpec>;
  const { runtimeClassName, overhead } = spec;
  if (runtimeClassName === undefined) {
    const set = Object.keys(overhead ?? {}).length > 0;
    return set ? rejected(draft, 'Pod Overhead set without corresponding RuntimeClass defined Overhead') : success(draft);
  }
  const found = store.get('runtimeclasses', `/${runtimeClassName}`) as RuntimeClassObject | undefined;
  if (found === undefined) return rejected(draft, `RuntimeClass "${runtimeClassName}" not found`);
  const fixed = found.overhead?.podFixed;
  if (overhead !== undefined && !sameJson(overhead, fixed ?? {}))
    return rejected(draft, "Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  const conflict = conflictOf(found.scheduling?.nodeSelector ?? {}, spec.nodeSelector ?? {});
  if (conflict !== undefined) return rejected(draft, conflict);
  return success({ ...draft, spec: withClassOf(found, spec) });
}

function withClassOf({ overhead, scheduling = {} }: RuntimeClassObject, spec: Partial<PodSpec>): Partial<PodSpec> {
  const { nodeSelector = {}, tolerations = [] } = scheduling;
  const own = spec.tolerations ?? [];
  const fixed = overhead?.podFixed;
  return {
    ...spec,
    ...defined({ overhead: fixed }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } }),
    ...(tolerations.length === 0
      ? {}
      : { tolerations: [...own, ...tolerations.filter((one) => !own.some((other) => sameJson(one, other)))] }),
  };
}

function conflictOf(wanted: StringMap, own: StringMap): string | undefined {
  const key = Object.keys(wanted).find((label) => own[label] !== undefined && own[label] !== wanted[label]);
  if (key === undefined) return undefined;
  return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${wanted[key] ?? ''}; pod.spec.nodeSelector[${key}] = ${own[key] ?? ''}`;
}

function rejected({ metadata }: ObjectDraft, why: string): Result<ObjectDraft> {
  return refuse(403, 'Forbidden', `pods "${metadata.name ?? ''}" is forbidden: pod rejected: ${why}`);
}

/** A claim without a class gets the default one; the newest if there are several. */
function withClass(draft: ObjectDraft, store: ObjectStore): ObjectDraft {
  const spec = isRecord(draft.spec) ? draft.spec : {};
  if (spec['storageClassName'] !== undefined) return draft;
  const defaults = store.list('storageclasses').filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true');
  const newest = defaults.toSorted((left, right) => ageOrder(left, right)).at(-1);
  return newest === undefined ? draft : { ...draft, spec: { ...spec, storageClassName: newest.metadata.name } };
}

function ageOrder(left: KubeObject, right: KubeObject): number {
  return left.metadata.creationTimestamp.localeCompare(right.metadata.creationTimestamp);
}

// Roles and their bindings: stored and validated as in an API server, but not enforced here.

const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** A field and its problem. */
export type Problem = readonly [field: string, problem: string];

type Fields = Readonly<Record<string, unknown>>;

export function isAccessObject(type: ResourceType): boolean {
  return type.group === RBAC_GROUP;
}

/** Names of roles only need to fit into a path: `system:node` is valid. */
export function isPathSegment(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/%]/.test(name);
}

export function accessDefaults(draft: ObjectDraft): ObjectDraft {
  const fields: Fields = { ...draft };
  const roleRef = isRecord(fields['roleRef']) ? { roleRef: { apiGroup: RBAC_GROUP, ...fields['roleRef'] } } : {};
  const subjects = Array.isArray(fields['subjects']) ? { subjects: fields['subjects'].map(withGroup) } : {};
  return { ...draft, ...roleRef, ...subjects };
}

/** Users and groups belong to RBAC's own group, service accounts to the core group. */
function withGroup(subject: unknown): unknown {
  const known = isRecord(subject) && (subject['kind'] === 'User' || subject['kind'] === 'Group');
  return known ? { apiGroup: RBAC_GROUP, ...subject } : subject;
}

export function problemOfAccess(type: ResourceType, object: ObjectDraft): Problem | undefined {
  return type.storage.endsWith('bindings') ? problemOfBinding(type, object) : problemOfRules(object['rules']);
}

function problemOfRules(rules: unknown): Problem | undefined {
  for (const [index, rule] of (Array.isArray(rules) ? rules : []).entries()) {
    if (!isRecord(rule)) continue;
    const isEmpty = (field: string): boolean => !Array.isArray(rule[field]) || rule[field].length === 0;
    if (isEmpty('verbs')) return [`rules[${index}].verbs`, 'Required value: verbs must contain at least one value'];
    if (!isEmpty('nonResourceURLs')) continue;
    if (isEmpty('apiGroups')) return [`rules[${index}].apiGroups`, 'Required value: resource rules must supply at least one api group'];
    if (isEmpty('resources')) return [`rules[${index}].resources`, 'Required value: resource rules must supply at least one resource'];
  }
  return undefined;
}

function problemOfBinding(type: ResourceType, object: ObjectDraft): Problem | undefined {
  const roleRef: Fields = isRecord(object['roleRef']) ? object['roleRef'] : {};
  const kinds = type.namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (!kinds.includes(String(roleRef['kind'])))
    return [
      'roleRef.kind',
      `Unsupported value: ${JSON.stringify(roleRef['kind'] ?? '')}: supported values: ${kinds.map((kind) => `"${kind}"`).join(', ')}`,
    ];
  if (typeof roleRef['name'] !== 'string' || roleRef['name'] === '') return ['roleRef.name', 'Required value'];
  const subjects: readonly unknown[] = Array.isArray(object['subjects']) ? object['subjects'] : [];
  const homeless = subjects.findIndex(
    (subject) => isRecord(subject) && subject['kind'] === 'ServiceAccount' && (subject['namespace'] ?? '') === '',
  );
  return homeless < 0 ? undefined : [`subjects[${homeless}].namespace`, 'Required value'];
}

export function problemOfAccessChange(before: KubeObject, after: KubeObject): Problem | undefined {
  const [old, next] = [before['roleRef'], after['roleRef']].map((reference) => JSON.stringify(sorted(reference)));
  return old === next ? undefined : ['roleRef', 'Invalid value: cannot change roleRef'];
}

function sorted(value: unknown): unknown {
  return isRecord(value) ? Object.entries(value).toSorted(compareBy(([key]) => key)) : value;
}
