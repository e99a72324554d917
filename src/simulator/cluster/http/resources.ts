/** The verbs on resources over HTTP, except watch. Translates requests to calls of the Api and results to replies. */
import { subjectOf, type Api, type DeleteOptions, type ObjectPlace } from '../store/api.ts';
import { isDryRun, dryRunStore } from '../store/dry-run.ts';
import { evict } from '../store/eviction.ts';
import { typedBody } from '../store/field-types.ts';
import type { KubeObject, ReplicatedObject, ObjectDraft } from '../store/objects.ts';
import { withManagers } from './managed-fields.ts';
import { isRecord, jsonPatch, mergePatch } from '../store/patches.ts';
import { apiVersionOf, type ResourceType } from '../store/resource-types.ts';
import { badRequest, failureStatus, invalid, success, type Result } from '../store/status.ts';
import { decodeObject, encodeObject } from '../store/storage-objects.ts';
import { strategicMerge } from '../store/strategic-merge.ts';
import { matcherOf, type Lists, type ObjectList } from './lists.ts';
import { refusalReply, type ApiReply, type ApiRequest, type ResourceRoute } from './requests.ts';
import { tableOf, wantsTable } from './tables.ts';
import { warnOfIdleKind } from './warnings.ts';
import { defined } from '../../../lib/defined.ts';

// The scale subresource: replicas of a workload under the autoscaling/v1 name.

/** The `/scale` document of a workload. */
function scaleOf(object: KubeObject): KubeObject {
  const { metadata, spec, status } = object as ReplicatedObject;
  const selector = Object.entries(spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      ...defined({ namespace: metadata.namespace }),
    },
    spec: { replicas: spec.replicas ?? 1 },
    status: { replicas: status?.replicas ?? 0, selector: selector.join(',') },
  };
}

/** The workload with the replicas of a Scale; undefined if the Scale has no replicas. */
function scaled(object: KubeObject, scale: unknown): KubeObject | undefined {
  const spec = isRecord(scale) && isRecord(scale['spec']) ? scale['spec'] : {};
  const replicas = spec['replicas'] ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0 || !isRecord(object.spec)) return undefined;
  const version = isRecord(scale) && isRecord(scale['metadata']) ? scale['metadata']['resourceVersion'] : undefined;
  const metadata = typeof version === 'string' && version !== '' ? { ...object.metadata, resourceVersion: version } : object.metadata;
  return { ...object, metadata, spec: { ...object.spec, replicas } };
}

export interface Backend {
  readonly api: Api;
  readonly lists: Lists;
}

type NamedRoute = ResourceRoute & { readonly name: string };

/** Handles one request on a resource. */
export function handleRequest(backend: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  const plain = route.subresource === undefined || route.subresource === 'scale';
  const reply = answerRequest(backend, route, request);
  return plain ? warnOfIdleKind(route.type, request, reply) : reply;
}

function answerRequest({ api, lists }: Backend, route: ResourceRoute, request: ApiRequest): ApiReply {
  const rehearsed = isDryRun(request);
  if (typeof rehearsed === 'object') return refusalReply(rehearsed.refusal);
  const backend = { api: rehearsed ? dryRunStore(api) : api, lists };
  if (route.name === undefined) return answerCollection(backend, route, request);
  const named: NamedRoute = { ...route, name: route.name };
  if (named.subresource === 'log')
    return { status: 200, body: 'The simulated kubelet runs no containers, so there is nothing to read here.\n' };
  if (named.subresource === 'binding' || named.subresource === 'eviction') return answerAction(backend.api, named, request);
  switch (request.method) {
    case 'GET':
      return get(backend.api, named, request);
    case 'PUT':
      return putObject(backend.api, named, request);
    case 'PATCH':
      return patchObject(backend.api, named, request);
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
      return create(backend.api, route, request);
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
    if (route.subresource === 'scale') return scaleOf(object);
    const shown = encodeObject(route.type, object);
    if (!wantsTable(request.accept)) return shown;
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    return tableOf(route.type, [shown], { metadata, nowMs: api.timers.now(), include: includeOf(request) });
  });
}

/** The body decoded as an object of the route's kind. */
function draftOf(route: ResourceRoute, body: unknown): Result<ObjectDraft> {
  const { type, namespace, name } = route;
  if (!isRecord(body)) return badRequest('the object provided is unrecognized: the body must be a JSON object');
  const typed = typedBody(type, body);
  if (!typed.ok) return typed;
  const fields = typed.value;
  const { kind = type.kind, apiVersion = apiVersionOf(type) } = fields;
  if (kind !== type.kind || apiVersion !== apiVersionOf(type)) {
    return badRequest(
      `${String(kind)} in version "${String(apiVersion)}" cannot be handled as a ${type.kind}: the API version in the data does not match`,
    );
  }
  const metadata = isRecord(fields['metadata']) ? (fields['metadata'] as ObjectDraft['metadata']) : {};
  if (type.namespaced && metadata.namespace !== undefined && metadata.namespace !== namespace) {
    return badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (name !== undefined && metadata.name !== undefined && metadata.name !== name) {
    return badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  return success(decodeObject(type, { ...fields, kind: type.kind, apiVersion: apiVersionOf(type), metadata }));
}

function create(api: Api, route: ResourceRoute, request: ApiRequest): ApiReply {
  if (route.type.namespaced && route.namespace === undefined) return notAllowed();
  const draft = draftOf(route, request.body);
  const created = draft.ok ? api.create(route.type, draft.value, route.namespace) : draft;
  return reply(created, 201, (object) => encodeObject(route.type, object));
}

function putObject(api: Api, route: NamedRoute, request: ApiRequest): ApiReply {
  const found = api.get(route.type, placeOf(route));
  if (!found.ok) return refusalReply(found.refusal);
  if (route.subresource === 'scale') return reply(putScale(api, route, { current: found.value, scale: request.body }), 200, scaleOf);
  const draft = draftOf(route, request.body);
  if (!draft.ok) return refusalReply(draft.refusal);
  return updateManaged(api, route, { request, current: found.value, next: completed(draft.value, route) });
}

interface ManagedUpdate {
  readonly request: ApiRequest;
  readonly current: KubeObject;
  readonly next: KubeObject;
}

function updateManaged(api: Api, route: NamedRoute, { request, current, next }: ManagedUpdate): ApiReply {
  const managed = withManagers(next, current, request, api.timers);
  const updated = api.update(route.type, managed, route.subresource === 'status' ? 'status' : 'main');
  return reply(updated, 200, (object) => encodeObject(route.type, object));
}

function completed(draft: ObjectDraft, route: NamedRoute): KubeObject {
  const metadata = { ...draft.metadata, name: route.name, ...defined({ namespace: route.namespace }) };
  return { ...draft, metadata: metadata as KubeObject['metadata'] };
}

function putScale(
  api: Api,
  route: NamedRoute,
  { current, scale }: { readonly current: KubeObject; readonly scale: unknown },
): Result<KubeObject> {
  const next = scaled(current, scale);
  if (next !== undefined) return api.update(route.type, next, 'main');
  return invalid(
    { ...subjectOf(route.type, route.name), kind: 'Scale' },
    'spec.replicas',
    'Invalid value: must be an integer of zero or more',
  );
}

const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', 'application/strategic-merge-patch+json'];

function patchedObject(target: unknown, request: ApiRequest): Result<unknown> {
  switch (patchTypeOf(request)) {
    case 'application/json-patch+json':
      return jsonPatch(target, request.body);
    case 'application/merge-patch+json':
      return success(mergePatch(target, request.body));
    default:
      return success(strategicMerge(target, request.body));
  }
}

function patchTypeOf(request: ApiRequest): string {
  return request.contentType.split(';')[0]?.trim() ?? '';
}

/** Server-side apply needs the schema of every field, which this server does not have. */
function unknownPatchType(type: ResourceType): ApiReply {
  const message = `the body of the request was in an unknown format - accepted media types for ${type.plural} include: ${PATCH_TYPES.join(', ')}`;
  return refusalReply(failureStatus(415, 'UnsupportedMediaType', message));
}

/** A patch applies to the current object, so it conflicts only if it has a `resourceVersion` itself. */
function patchObject(api: Api, route: NamedRoute, request: ApiRequest): ApiReply {
  if (!PATCH_TYPES.includes(patchTypeOf(request))) return unknownPatchType(route.type);
  const found = api.get(route.type, placeOf(route));
  if (!found.ok) return refusalReply(found.refusal);
  const current = found.value;
  const target = route.subresource === 'scale' ? scaleOf(current) : encodeObject(route.type, current);
  const result = patchedObject(target, request);
  if (!result.ok) return refusalReply(result.refusal);
  if (route.subresource === 'scale') return reply(putScale(api, route, { current, scale: result.value }), 200, scaleOf);
  const draft = draftOf(route, result.value);
  if (!draft.ok) return refusalReply(draft.refusal);
  return updateManaged(api, route, { request, current, next: completed(draft.value, route) });
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
