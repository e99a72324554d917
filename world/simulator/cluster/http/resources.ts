/** The verbs on resources over HTTP, except watch. Translates requests to calls of the Api and results to replies. */
import type { KindTable } from '../schemas/kind-table.ts';
import { scaleOf, withScale } from '../schemas/scale.ts';
import { subjectOf, type Api, type DeleteOptions, type ObjectPlace } from '../store/api.ts';
import { isDryRun, dryRunStore } from '../store/dry-run.ts';
import { evict } from '../store/eviction.ts';
import type { KubeObject, ObjectDraft } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { apiVersionOf } from '../store/resource-types.ts';
import { badRequest, failureStatus, invalid, type Result } from '../store/status.ts';
import { encodeObject } from '../store/storage-objects.ts';
import { applyObject } from './apply-requests.ts';
import { matcherOf, type Lists, type ObjectList } from './lists.ts';
import { createManaged, updateManaged, type ManagedWrites } from './managed-writes.ts';
import { isApply, patchInWords, patchTypeOf, patchTypesOf, patched, unknownPatchType } from './patch-requests.ts';
import { fieldValidationOf, readBody, type ReadBody } from './request-bodies.ts';
import { refusalReply, type ApiReply, type ApiRequest, type ResourceRoute } from './requests.ts';
import { tableOf, wantsTable } from './tables.ts';
import { warnOfDeprecation, warnOfIdleKind, withWarnings } from './warnings.ts';
import { defined } from '../../../../src/lib/defined.ts';

export interface Backend {
  readonly api: Api;
  readonly lists: Lists;
  readonly kinds: KindTable;
}

type NamedRoute = ResourceRoute & { readonly name: string };

/** Handles one request on a resource. */
export function handleRequest(backend: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  const plain = route.subresource === undefined || route.subresource === 'scale';
  const reply = warnOfDeprecation(route.type, answerRequest(backend, route, request));
  return plain ? warnOfIdleKind(route.type, request, reply) : reply;
}

function answerRequest({ api, lists, kinds }: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  const rehearsed = isDryRun(request);
  if (typeof rehearsed === 'object') return refusalReply(rehearsed.refusal);
  const backend = { api: rehearsed ? dryRunStore(api) : api, lists, kinds };
  if (route.name === undefined) return answerCollection(backend, route, request);
  const named: NamedRoute = { ...route, name: route.name };
  if (named.subresource === 'log')
    return { status: 200, body: 'The simulated kubelet runs no containers, so there is nothing to read here.\n' };
  if (named.subresource === 'binding' || named.subresource === 'eviction') return answerAction(backend.api, named, request);
  switch (request.method) {
    case 'GET':
      return get(backend.api, named, request);
    case 'PUT':
      return putObject(backend, named, request);
    case 'PATCH':
      return patchObject(backend, named, request);
    case 'DELETE':
      return remove(backend.api, named, request);
    default:
      return notAllowed();
  }
}

function notAllowed(): ApiReply {
  return refusalReply(failureStatus(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource'));
}

function reply<Value>(result: Result<Value>, status: number, show: (value: Value) => unknown): ApiReply {
  return result.ok ? { status, body: show(result.value) } : refusalReply(result.refusal);
}

function placeOf(route: NamedRoute): ObjectPlace {
  return { namespace: route.namespace, name: route.name };
}

function answerCollection(backend: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  switch (request.method) {
    case 'GET':
      return list(backend, route, request);
    case 'POST':
      return create(backend, route, request);
    case 'DELETE':
      return removeAll(backend.api, route, request);
    default:
      return notAllowed();
  }
}

function includeOf(request: ApiRequest): 'Object' | 'Metadata' | 'None' {
  const include = request.query.get('includeObject');
  return include === 'Object' || include === 'None' ? include : 'Metadata';
}

function list(backend: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  const listed = backend.lists.list(route, request.query);
  return reply(listed, 200, (found: ObjectList) =>
    wantsTable(request.accept)
      ? tableOf(route.type, found.items, { metadata: found.metadata, nowMs: backend.api.timers.now(), include: includeOf(request) })
      : found,
  );
}

function get(api: Api, route: NamedRoute, request: ApiRequest): ApiReply {
  return reply(api.get(route.type, placeOf(route)), 200, (object) => {
    if (route.subresource === 'scale') return scaleOf(route.type, object);
    const shown = encodeObject(route.type, object);
    if (!wantsTable(request.accept)) return shown;
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    return tableOf(route.type, [shown], { metadata, nowMs: api.timers.now(), include: includeOf(request) });
  });
}

/** The object of a body, and the warnings that its writer gets. */
function bodyOf(kinds: KindTable, route: ResourceRoute, request: ApiRequest): Result<ReadBody> {
  const validation = fieldValidationOf(request);
  return validation.ok ? readBody({ kinds, route, body: request.body, validation: validation.value }) : validation;
}

function create({ api, kinds }: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  if (route.type.namespaced && route.namespace === undefined) return notAllowed();
  const read = bodyOf(kinds, route, request);
  if (!read.ok) return refusalReply(read.refusal);
  const created = createManaged({ api, kinds }, route, { request, draft: read.value.draft });
  return withWarnings(
    reply(created, 201, (object) => encodeObject(route.type, object)),
    read.value.warnings,
  );
}

function putObject({ api, kinds }: Backend, route: NamedRoute, request: ApiRequest): ApiReply {
  const found = api.get(route.type, placeOf(route));
  if (!found.ok) return refusalReply(found.refusal);
  if (route.subresource === 'scale') return putScale({ api, kinds }, route, { request, current: found.value, scale: request.body });
  const read = bodyOf(kinds, route, request);
  if (!read.ok) return refusalReply(read.refusal);
  return writeBody({ api, kinds }, route, { request, current: found.value, read: read.value });
}

interface BodyUpdate {
  readonly request: ApiRequest;
  readonly current: KubeObject;
  readonly read: ReadBody;
}

function writeBody(writes: ManagedWrites, route: NamedRoute, { request, current, read }: BodyUpdate): ApiReply {
  const updated = updateManaged(writes, route, { request, current, next: completed(read.draft, route) });
  return withWarnings(
    reply(updated, 200, (object) => encodeObject(route.type, object)),
    read.warnings,
  );
}

function completed(draft: ObjectDraft, route: NamedRoute): KubeObject {
  const metadata = { ...draft.metadata, name: route.name, ...defined({ namespace: route.namespace }) };
  return { ...draft, metadata: metadata as KubeObject['metadata'] };
}

interface ScaleUpdate {
  readonly request: ApiRequest;
  readonly current: KubeObject;
  readonly scale: unknown;
}

function putScale(writes: ManagedWrites, route: NamedRoute, { request, current, scale }: ScaleUpdate): ApiReply {
  const next = withScale(route.type, current, scale);
  if (next !== undefined)
    return reply(updateManaged(writes, route, { request, current, next }), 200, (object) => scaleOf(route.type, object));
  const subject = { ...subjectOf(route.type, route.name), kind: 'Scale' };
  return refusalReply(invalid(subject, 'spec.replicas', 'Invalid value: must be an integer of zero or more').refusal);
}

/** A patch applies to the current object, so it conflicts only if it has a `resourceVersion` itself. */
function patchObject({ api, kinds }: Backend, route: NamedRoute, request: ApiRequest): ApiReply {
  if (isApply(request) && route.subresource !== 'scale') return applyObject({ api, kinds }, route, request);
  if (isApply(request) || !patchTypesOf(route.type).includes(patchTypeOf(request))) return refusalReply(unknownPatchType(route.type));
  const validation = fieldValidationOf(request);
  if (!validation.ok) return refusalReply(validation.refusal);
  const found = api.get(route.type, placeOf(route));
  if (!found.ok) return refusalReply(found.refusal);
  const current = found.value;
  const result = patched(route.subresource === 'scale' ? scaleOf(route.type, current) : encodeObject(route.type, current), request);
  if (!result.ok) return refusalReply(result.refusal);
  if (route.subresource === 'scale') return putScale({ api, kinds }, route, { request, current, scale: result.value });
  const patch = (): string => patchInWords(request, result.value);
  const read = readBody({ kinds, route, body: result.value, validation: validation.value, patch });
  return read.ok ? writeBody({ api, kinds }, route, { request, current, read: read.value }) : refusalReply(read.refusal);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** DeleteOptions are in the body, in the query, or inside an Eviction. */
function deleteOptionsOf(body: unknown, query: URLSearchParams): DeleteOptions {
  const options = isRecord(body) ? body : {};
  const preconditions = isRecord(options['preconditions']) ? options['preconditions'] : {};
  const inQuery = query.get('gracePeriodSeconds');
  const grace =
    typeof options['gracePeriodSeconds'] === 'number' ? options['gracePeriodSeconds'] : inQuery === null ? undefined : Number(inQuery);
  const propagation =
    textOf(options['propagationPolicy']) ?? query.get('propagationPolicy') ?? (options['orphanDependents'] === true ? 'Orphan' : undefined);
  return {
    gracePeriodSeconds: grace,
    propagation: propagation === 'Foreground' || propagation === 'Orphan' ? propagation : 'Background',
    uid: textOf(preconditions['uid']),
    resourceVersion: textOf(preconditions['resourceVersion']),
  };
}

function remove(api: Api, route: NamedRoute, request: ApiRequest): ApiReply {
  const removed = api.remove(route.type, placeOf(route), deleteOptionsOf(request.body, request.query));
  return reply(removed, 200, ({ object, gone }) => {
    if (!gone || route.type.storage === 'pods') return encodeObject(route.type, object);
    const { name, uid } = object.metadata;
    const details = { name, kind: route.type.plural, uid, ...(route.type.group === '' ? {} : { group: route.type.group }) };
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details, code: 200 };
  });
}

function removeAll(api: Api, route: ResourceRoute, request: ApiRequest): ApiReply {
  if (route.type.namespaced && route.namespace === undefined) return notAllowed();
  const matcher = matcherOf(route, request.query);
  if (!matcher.ok) return refusalReply(matcher.refusal);
  const options = deleteOptionsOf(request.body, request.query);
  const items = api.store.list(route.type.storage).filter(matcher.value);
  for (const { metadata } of items) api.remove(route.type, { namespace: metadata.namespace, name: metadata.name }, options);
  const shown = items.map((object) => encodeObject(route.type, object));
  const metadata = { resourceVersion: String(api.store.version) };
  return { status: 200, body: { kind: `${route.type.kind}List`, apiVersion: apiVersionOf(route.type), metadata, items: shown } };
}

const CREATED = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

function answerAction(api: Api, route: NamedRoute, request: ApiRequest): ApiReply {
  if (request.method !== 'POST') return notAllowed();
  const body = isRecord(request.body) ? request.body : {};
  const place = { namespace: route.namespace ?? '', name: route.name };
  if (route.subresource === 'eviction') {
    return reply(evict(api, place, deleteOptionsOf(body['deleteOptions'], request.query)), 201, () => CREATED);
  }
  const target = isRecord(body['target']) ? textOf(body['target']['name']) : undefined;
  const bound = target === undefined || target === '' ? badRequest('target.name: Required value') : api.bind(place, target);
  return reply(bound, 201, () => CREATED);
}
