/**
 * Who wrote which field of a node, in `metadata.managedFields` (kubernetes.io, "Server-Side Apply"): an update makes its client the manager of
 * the fields that it changed. Only the two fields of a node's spec that people ask about are followed.
 */
import type { SimClock } from '../../base/sim-clock.ts';
import type { KubeObject } from '../store/objects.ts';
import { timestamp } from '../store/objects.ts';
import { isRecord, sameJson } from '../store/patches.ts';
import type { ApiRequest } from './requests.ts';

const FOLLOWED = ['taints', 'unschedulable'] as const;
type Followed = (typeof FOLLOWED)[number];

interface ManagedField {
  readonly manager: string;
  readonly operation: 'Update';
  readonly apiVersion: 'v1';
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: { readonly 'f:spec': Readonly<Record<string, object>> };
}

/** The client's name is that of the query, else the first part of its User-Agent. Other kinds are returned as they are. */
export function withManagers(next: KubeObject, current: KubeObject, request: ApiRequest, clock: Pick<SimClock, 'now'>): KubeObject {
  if (next.kind !== 'Node') return next;
  const changed = FOLLOWED.filter((field) => !sameJson(specOf(next)[field] ?? EMPTY[field], specOf(current)[field] ?? EMPTY[field]));
  const before = managedFieldsOf(current);
  const { managedFields: _sent, ...metadata } = next.metadata as KubeObject['metadata'] & { readonly managedFields?: unknown };
  if (changed.length === 0) return withFields(next, metadata, before);
  const left = before.flatMap((entry) => without(entry, changed));
  const present = changed.filter((field) => specOf(next)[field] !== undefined);
  const added: ManagedField = {
    manager: request.query.get('fieldManager') ?? request.userAgent.split('/')[0] ?? '',
    operation: 'Update',
    apiVersion: 'v1',
    time: timestamp(clock.now()),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': Object.fromEntries(present.map((field) => [`f:${field}`, {}])) },
  };
  return withFields(next, metadata, present.length === 0 ? left : [...left, added]);
}

const EMPTY = { taints: [], unschedulable: false } as const;

function specOf(object: KubeObject): Readonly<Record<string, unknown>> {
  return isRecord(object.spec) ? object.spec : {};
}

function managedFieldsOf({ metadata }: KubeObject): readonly ManagedField[] {
  const { managedFields = [] } = metadata as { readonly managedFields?: readonly ManagedField[] };
  return managedFields;
}

function withFields(object: KubeObject, metadata: KubeObject['metadata'], fields: readonly ManagedField[]): KubeObject {
  const managed = fields.length === 0 ? {} : { managedFields: fields };
  return { ...object, metadata: { ...metadata, ...managed } };
}

/** An entry without a field has none left. */
function without(entry: ManagedField, fields: readonly Followed[]): readonly ManagedField[] {
  const lost = new Set<string>(fields.map((field) => `f:${field}`));
  const kept = Object.entries(entry.fieldsV1['f:spec']).filter(([field]) => !lost.has(field));
  return kept.length === 0 ? [] : [{ ...entry, fieldsV1: { 'f:spec': Object.fromEntries(kept) } }];
}
