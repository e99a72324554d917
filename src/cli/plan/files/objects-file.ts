/**
 * Kubernetes objects from a file: a `List` as kubectl writes it, single objects, several documents. Only the form of the
 * fields that a decision reads is checked; everything else passes as it came.
 */
import * as z from 'zod';
import { AutoscalerError } from '../../../lib/errors.ts';
import { readDocuments, refuse } from '../../../config/sources/documents.ts';
import { OBJECT_SCHEMAS } from './object-schemas.ts';
import { withoutNullFields } from '../../../lib/without-nulls.ts';

const MOST_OBJECTS = 500_000;
/** Lists in lists. */
const MOST_DEPTH = 10;

/** The API of each kind: another API may have a kind of the same name. */
const APIS: readonly (readonly [api: RegExp, kinds: readonly string[]])[] = [
  [/^v1$/, ['Pod', 'Node', 'Namespace', 'PersistentVolumeClaim', 'PersistentVolume', 'ReplicationController']],
  [/^(apps|extensions)\//, ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet']],
  [/^batch\//, ['Job', 'CronJob']],
  [/^node\.k8s\.io\//, ['RuntimeClass']],
  [/^policy\//, ['PodDisruptionBudget']],
  [/^storage\.k8s\.io\//, ['StorageClass', 'CSINode']],
  [/^scheduling\.k8s\.io\//, ['PriorityClass']],
];
const API_OF = new Map(APIS.flatMap(([api, kinds]) => kinds.map((kind) => [kind, api] as const)));
const SPELLING = new Map([...OBJECT_SCHEMAS.keys()].map((kind) => [kind.toLowerCase(), kind]));

export interface FileObject {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** Every object of the file, nulls left out as the API leaves them. @throws AutoscalerError `config`: one sentence with object and field. */
export function readObjects(file: string, text: string, mostMib: number): readonly FileObject[] {
  const documents = readDocuments(file, text, mostMib);
  // What a failed kubectl leaves behind is no cluster without nodes.
  if (documents.length === 0) throw mistake(`${file} is empty; accepted are Kubernetes objects.`);
  const objects = documents.flatMap((document) => {
    if (typeof document !== 'object' || document === null) throw mistake(`${file} does not hold Kubernetes objects.`);
    return Array.isArray(document) ? document.flatMap((item) => unfolded(file, item, 0)) : unfolded(file, document, 0);
  });
  if (objects.length > MOST_OBJECTS) throw mistake(`${file} holds ${objects.length} objects; accepted are ${MOST_OBJECTS} at most.`);
  return objects.map((object, index) => checked(file, object, index));
}

interface Typed {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly items?: unknown;
}

/** The object itself, or what its list holds. */
function unfolded(file: string, object: unknown, depth: number): readonly unknown[] {
  if (!isMap(object)) return [object];
  const listed = listedKind(object);
  if (!('items' in object) && listed === undefined) return [object];
  const { apiVersion, items }: Typed = object;
  // An empty list of the API may be null.
  const list: unknown = 'items' in object ? (items ?? []) : undefined;
  if (!Array.isArray(list) || depth > MOST_DEPTH) throw mistake(`${file}: List: items is not a list of objects.`);
  const implied = listed === undefined || listed === '' ? {} : { kind: listed, apiVersion };
  return list.flatMap((item: unknown) => unfolded(file, isMap(item) && !('kind' in item) ? { ...implied, ...item } : item, depth + 1));
}

/** The kind of the items of a `PodList`, which do not say it themselves as the API answers them; empty for a `List` of anything. */
function listedKind({ kind }: Typed): string | undefined {
  if (typeof kind !== 'string' || !kind.endsWith('List')) return undefined;
  const listed = kind.slice(0, -'List'.length);
  return listed === '' || OBJECT_SCHEMAS.has(listed) ? listed : undefined;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checked(file: string, given: unknown, index: number): FileObject {
  const plain = withoutNullFields(given);
  const object: Typed = isMap(plain) ? named(plain, index) : {};
  const { kind } = object;
  if (typeof kind !== 'string') throw mistake(`${file}: object ${index}: kind is missing; accepted is a Kubernetes object.`);
  // An API server's "no" is no cluster without nodes.
  if (kind === 'Status')
    throw mistake(`${file} holds the answer of a request that failed${saidBy(object)}; accepted are Kubernetes objects.`);
  const known = SPELLING.get(kind.toLowerCase());
  if (known !== undefined && isOfAnotherApi(object, known)) return { ...object, kind: `${kind} of another API` };
  if (known !== undefined && known !== kind) throw mistake(`${file}: object ${index}: kind is "${kind}"; accepted is ${known}.`);
  const parsed = OBJECT_SCHEMAS.get(kind)?.safeParse(object);
  if (parsed?.success === false) return refuse(`${file}: ${kind} ${nameOf(object, index)}`, given, parsed.error.issues);
  return { ...object, kind };
}

/** A manifest may leave the end of its name to the API server. */
function named(object: { readonly metadata?: unknown }, index: number): object {
  const { metadata } = object;
  if (typeof metadata !== 'object' || metadata === null || 'name' in metadata || !('generateName' in metadata)) return object;
  const { generateName } = metadata;
  return typeof generateName === 'string' ? { ...object, metadata: { ...metadata, name: `${generateName}${index}` } } : object;
}

function saidBy({ message }: Typed & { readonly message?: unknown }): string {
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

function mistake(sentence: string): AutoscalerError {
  return new AutoscalerError({ kind: 'config' }, sentence);
}
