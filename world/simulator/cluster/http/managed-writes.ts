/** Writes that keep `metadata.managedFields`: who wrote which field is found by comparing what the server would store with what it has. */
import { areEntries, managersAfterUpdate, type FieldWriter } from '../apply/managers.ts';
import type { KindTable } from '../schemas/kind-table.ts';
import { ANY } from '../schemas/schema.ts';
import type { Api, ObjectPart } from '../store/api.ts';
import { dryRunStore } from '../store/dry-run.ts';
import type { KubeObject, ObjectDraft } from '../store/objects.ts';
import { apiVersionOf, type Subresource } from '../store/resource-types.ts';
import { success, type Result } from '../store/status.ts';
import { encodeObject } from '../store/storage-objects.ts';
import type { ApiRequest, ResourceRoute } from './requests.ts';

export interface ManagedWrites {
  readonly api: Api;
  readonly kinds: KindTable;
}

/** Kinds that the server stores as they were sent: nothing has to be tried first. */
const PLAIN = new Set(['events', 'leases', 'configmaps']);

/** The client's name is that of the query, else the first part of its User-Agent. */
export function writerOf({ api }: ManagedWrites, { type, subresource }: ResourceRoute, request: ApiRequest): FieldWriter {
  return {
    manager: request.query.get('fieldManager') ?? request.userAgent.split('/')[0] ?? '',
    apiVersion: apiVersionOf(type),
    subresource,
    nowMs: api.timers.now(),
  };
}

export function createManaged(
  writes: ManagedWrites,
  route: ResourceRoute,
  { request, draft }: { readonly request: ApiRequest; readonly draft: ObjectDraft },
): Result<KubeObject> {
  const { api } = writes;
  const tried = PLAIN.has(route.type.storage) ? success(draft as KubeObject) : dryRunStore(api).create(route.type, draft, route.namespace);
  if (!tried.ok) return tried;
  const metadata = withEntries(draft.metadata, managersOf(writes, route, { request, before: undefined, after: tried.value, given: draft }));
  return api.create(route.type, { ...draft, metadata }, route.namespace);
}

/** What a write through the subresource changes. */
export function partOf(subresource: Subresource | undefined): ObjectPart {
  return subresource === 'status' || subresource === 'resize' ? subresource : 'main';
}

export interface ManagedUpdate {
  readonly request: ApiRequest;
  readonly current: KubeObject;
  readonly next: KubeObject;
}

export function updateManaged(writes: ManagedWrites, route: ResourceRoute, { request, current, next }: ManagedUpdate): Result<KubeObject> {
  const { api } = writes;
  const part = partOf(route.subresource);
  const tried = PLAIN.has(route.type.storage) ? success(next) : dryRunStore(api).update(route.type, next, part);
  if (!tried.ok) return tried;
  const metadata = withEntries(next.metadata, managersOf(writes, route, { request, before: current, after: tried.value, given: next }));
  return api.update(route.type, { ...next, metadata }, part);
}

interface ManagersInput {
  readonly request: ApiRequest;
  readonly before: KubeObject | undefined;
  /** What the server would store. */
  readonly after: KubeObject;
  /** What the client sent, which may change the managers themselves. */
  readonly given: { readonly metadata: object };
}

function managersOf(writes: ManagedWrites, route: ResourceRoute, { request, before, after, given }: ManagersInput): readonly unknown[] {
  const sent: unknown = 'managedFields' in given.metadata ? given.metadata.managedFields : undefined;
  // A list without managers clears them.
  if (Array.isArray(sent) && sent.length > 0 && !areEntries(sent)) return [];
  const { type } = route;
  const shown = {
    before: before === undefined ? undefined : encodeObject(type, before),
    after: encodeObject(type, withManagers(after, sent)),
  };
  return managersAfterUpdate(writes.kinds.schemaOf(type) ?? ANY, shown, writerOf(writes, route, request));
}

function withManagers(object: KubeObject, sent: unknown): KubeObject {
  return { ...object, metadata: { ...object.metadata, managedFields: areEntries(sent) ? sent : [] } };
}

/** Without managers there is no list of them. */
function withEntries<Metadata extends { readonly managedFields?: readonly unknown[] }>(
  { managedFields: _before, ...metadata }: Metadata,
  managedFields: readonly unknown[],
): Omit<Metadata, 'managedFields'> {
  return managedFields.length === 0 ? metadata : { ...metadata, managedFields };
}
