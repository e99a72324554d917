/**
 * Reads Kubernetes objects from a file: a `List` as kubectl writes it, single objects, or several documents.
 * Checks only fields that a decision reads. Must not know how a decision uses them.
 */
import * as z from 'zod';
import { configError } from '../../../lib/errors.ts';
import { readDocuments, throwFirstIssue } from '../../../config/sources/documents.ts';
import { OBJECT_SCHEMAS } from './object-schemas.ts';
import { isRecord, withoutNulls } from '../../../lib/json.ts';

const MOST_OBJECTS = 500_000;
/** Lists within lists. */
const MOST_LIST_DEPTH = 10;

/** The API groups of each kind: another group may have a kind of the same name. */
const APIS: readonly (readonly [api: RegExp, kinds: readonly string[]])[] = [
  [/^v1$/, ['Pod', 'Node', 'Namespace', 'PersistentVolumeClaim', 'PersistentVolume', 'ReplicationController']],
  [/^(apps|extensions)\//, ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet']],
  [/^batch\//, ['Job', 'CronJob']],
  [/^autoscaling\.k8s\.io\//, ['VerticalPodAutoscaler']],
  [/^node\.k8s\.io\//, ['RuntimeClass']],
  [/^policy\//, ['PodDisruptionBudget']],
  [/^storage\.k8s\.io\//, ['StorageClass', 'CSINode']],
  [/^scheduling\.k8s\.io\//, ['PriorityClass', 'PodGroup', 'Workload']],
];
const API_OF = new Map(APIS.flatMap(([api, kinds]) => kinds.map((kind) => [kind, api] as const)));
const SPELLING = new Map([...OBJECT_SCHEMAS.keys()].map((kind) => [kind.toLowerCase(), kind]));

export interface FileObject {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** Returns every object of the file without null fields. @throws AutoscalerError `config`: one sentence with object and field. */
export function readObjects(file: string, text: string, mostMib: number): readonly FileObject[] {
  const documents = readDocuments(file, text, mostMib);
  // A failed kubectl leaves an empty file. It does not mean a cluster without nodes.
  if (documents.length === 0) throw configError(`${file} is empty; it must contain Kubernetes objects.`);
  const objects = documents.flatMap((document) => {
    if (typeof document !== 'object' || document === null) throw configError(`${file} does not contain Kubernetes objects.`);
    return Array.isArray(document) ? document.flatMap((item) => flatten(file, item, 0)) : flatten(file, document, 0);
  });
  if (objects.length > MOST_OBJECTS) throw configError(`${file} contains ${objects.length} objects; it must be at most ${MOST_OBJECTS}.`);
  return objects.map((object, index) => checkObject(file, object, index));
}

interface Typed {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly items?: unknown;
}

/** Returns the object, or the items of a list. */
export function flatten(file: string, object: unknown, depth: number): readonly unknown[] {
  if (!isRecord(object)) return [object];
  const listed = listedKind(object);
  if (!('items' in object) && listed === undefined) return [object];
  const { items }: Typed = object;
  // An empty list of the API may be null.
  const list: unknown = 'items' in object ? (items ?? []) : undefined;
  if (!Array.isArray(list) || depth > MOST_LIST_DEPTH) throw configError(`${file}: List: items is not a list of objects.`);
  const implied = impliedKind(object);
  return list.flatMap((item: unknown) => flatten(file, isRecord(item) && !('kind' in item) ? { ...implied, ...item } : item, depth + 1));
}

/** What the API omits in the items of a typed list. Empty for a `List` of any kinds, and for what is no list. */
export interface ImpliedKind {
  readonly kind?: string;
  readonly apiVersion?: unknown;
}

/** Of the items of this list. */
export function impliedKind(list: unknown): ImpliedKind {
  if (!isRecord(list)) return {};
  const listed = listedKind(list);
  const { apiVersion }: Typed = list;
  return listed === undefined || listed === '' ? {} : { kind: listed, apiVersion };
}

/** The kind of the items of a `PodList`: the API omits it in the items. Empty for a `List` of any kinds. */
function listedKind({ kind }: Typed): string | undefined {
  if (typeof kind !== 'string' || !kind.endsWith('List')) return undefined;
  const listed = kind.slice(0, -'List'.length);
  return listed === '' || OBJECT_SCHEMAS.has(listed) ? listed : undefined;
}

/** The object without null fields, if it is what a decision reads. @throws AutoscalerError `config`: one sentence. */
export function checkObject(file: string, given: unknown, index: number): FileObject {
  const plain = withoutNulls(given, { keepInLists: true });
  const object: Typed = isRecord(plain) ? withName(plain, index) : {};
  const { kind } = object;
  if (typeof kind !== 'string') throw configError(`${file}: object ${index}: kind is missing; it must be a Kubernetes object.`);
  // An error response of the API server does not mean a cluster without nodes.
  if (kind === 'Status')
    throw configError(`${file} contains the response to a failed request${messageOf(object)}; it must contain Kubernetes objects.`);
  const known = SPELLING.get(kind.toLowerCase());
  if (known !== undefined && isOfAnotherApi(object, known)) return { ...object, kind: `${kind} of another API` };
  if (known !== undefined && known !== kind) throw configError(`${file}: object ${index}: kind is "${kind}"; it must be ${known}.`);
  const parsed = OBJECT_SCHEMAS.get(kind)?.safeParse(object);
  if (parsed?.success === false) return throwFirstIssue(`${file}: ${kind} ${nameOf(object, index)}`, given, parsed.error.issues);
  return { ...object, kind };
}

/** Completes `generateName`, as the API server does. */
function withName(object: { readonly metadata?: unknown }, index: number): object {
  const { metadata } = object;
  if (typeof metadata !== 'object' || metadata === null || 'name' in metadata || !('generateName' in metadata)) return object;
  const { generateName } = metadata;
  return typeof generateName === 'string' ? { ...object, metadata: { ...metadata, name: `${generateName}${index}` } } : object;
}

function messageOf({ message }: Typed & { readonly message?: unknown }): string {
  return typeof message === 'string' && message !== '' ? ` (${message.split('\n')[0] ?? ''})` : '';
}

function isOfAnotherApi({ apiVersion }: Typed, kind: string): boolean {
  return typeof apiVersion === 'string' && API_OF.get(kind)?.test(apiVersion) === false;
}

function nameOf(object: unknown, index: number): string {
  const found = z.looseObject({ metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }) }).safeParse(object);
  if (!found.success) return String(index);
  const { name, namespace } = found.data.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}
