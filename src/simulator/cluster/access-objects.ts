/** Roles and their bindings: kept and checked as an API server does, enforced by nobody here. */
import { isRecord } from './json-values.ts';
import type { KubeObject, ObjectDraft } from './objects.ts';
import type { ResourceType } from './resource-types.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** A field and what is wrong with it. */
export type Problem = readonly [field: string, problem: string];

type Fields = Readonly<Record<string, unknown>>;

export function isAccessObject(type: ResourceType): boolean {
  return type.group === RBAC_GROUP;
}

/** Names of roles need only fit into a path: `system:node` is one. */
export function isPathSegment(name: string): boolean {
  return name !== '.' && name !== '..' && !/[/%]/.test(name);
}

export function accessDefaults(draft: ObjectDraft): ObjectDraft {
  const fields: Fields = { ...draft };
  const roleRef = isRecord(fields['roleRef']) ? { roleRef: { apiGroup: RBAC_GROUP, ...fields['roleRef'] } } : {};
  const subjects = Array.isArray(fields['subjects']) ? { subjects: fields['subjects'].map(withGroup) } : {};
  return { ...draft, ...roleRef, ...subjects };
}

/** Users and groups are of RBAC's own group, service accounts of the core one. */
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
  return isRecord(value) ? Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)) : value;
}
