/** Server-side apply: a PATCH with a configuration, which creates the object or merges with it (kubernetes.io, "Server-Side Apply"). */
import { applyConfiguration, type AppliedObject } from '../apply/managers.ts';
import { schemaMismatch } from '../apply/typed-values.ts';
import { admitDefined } from '../schemas/definitions.ts';
import { ANY } from '../schemas/schema.ts';
import { subjectOf } from '../store/api.ts';
import type { KubeObject, ObjectDraft } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { badRequest, failureStatus, invalid, notFound, refuse, success, type Result } from '../store/status.ts';
import { encodeObject } from '../store/storage-objects.ts';
import { partOf, writerOf, type ManagedWrites } from './managed-writes.ts';
import { refusalReply, type ApiReply, type ApiRequest, type ResourceRoute } from './requests.ts';
import { defined } from '../../../../src/lib/defined.ts';

type NamedRoute = ResourceRoute & { readonly name: string };

export function applyObject(writes: ManagedWrites, route: NamedRoute, request: ApiRequest): ApiReply {
  const config = configurationOf(writes, route, request);
  if (!config.ok) return refusalReply(config.refusal);
  const found = writes.api.get(route.type, { namespace: route.namespace, name: route.name });
  const live = found.ok ? found.value : undefined;
  if (live === undefined && route.subresource !== undefined) return refusalReply(notFound(subjectOf(route.type, route.name)).refusal);
  const applied = applyConfiguration({
    schema: writes.kinds.schemaOf(route.type) ?? ANY,
    live,
    config: config.value,
    writer: writerOf(writes, route, request),
    force: ['true', '1'].includes(request.query.get('force') ?? ''),
  });
  const stored = applied.ok ? store(writes, route, { live, config: config.value, applied: applied.value }) : applied;
  if (!stored.ok) return refusalReply(stored.refusal);
  return { status: live === undefined ? 201 : 200, body: encodeObject(route.type, stored.value) };
}

interface Storing {
  readonly live: KubeObject | undefined;
  readonly config: KubeObject;
  readonly applied: AppliedObject;
}

function store(
  { api, kinds }: ManagedWrites,
  { type, namespace, subresource }: NamedRoute,
  { live, config, applied }: Storing,
): Result<KubeObject> {
  const { uid } = config.metadata as Partial<KubeObject['metadata']>;
  if (live !== undefined && uid !== undefined && uid !== live.metadata.uid) {
    const { name } = live.metadata;
    return invalid(
      { ...subjectOf(type, name), kind: type.kind },
      'metadata.uid',
      `Invalid value: ${JSON.stringify(uid)}: field is immutable`,
    );
  }
  const admitted = admitDefined(kinds, type, applied.object, live);
  if (!admitted.ok) return admitted;
  // Only the configuration's own version is compared: the merge began with the newest.
  const { resourceVersion: _live, ...metadata } = applied.object.metadata;
  const own = (config.metadata as Partial<KubeObject['metadata']>).resourceVersion;
  const next = { ...admitted.value, metadata: { ...metadata, ...defined({ resourceVersion: own }), managedFields: applied.managedFields } };
  if (live === undefined) return api.create(type, next, namespace);
  return api.update(type, next as KubeObject, partOf(subresource));
}

/** The configuration in the body, or why it cannot be applied. */
function configurationOf({ kinds }: ManagedWrites, { type, namespace, name }: NamedRoute, request: ApiRequest): Result<KubeObject> {
  if ((request.query.get('fieldManager') ?? '') === '') return withoutManager();
  const { body } = request;
  const fields: Partial<ObjectDraft> = isRecord(body) ? body : {};
  const [group, version] = [type.group, type.version];
  if (fields.kind !== type.kind || fields.apiVersion === undefined) return badRequest(`invalid object type: ${objectType(fields)}`);
  const metadata: Readonly<Record<string, unknown>> = isRecord(fields.metadata) ? fields.metadata : {};
  if (metadata['managedFields'] !== undefined) return badRequest('metadata.managedFields must be nil');
  if (metadata['name'] !== undefined && metadata['name'] !== name)
    return badRequest(
      `the name of the object (${JSON.stringify(metadata['name']).slice(1, -1)}) does not match the name on the URL (${name})`,
    );
  const schema = kinds.schemaOf(type);
  const wrong = schema === undefined ? undefined : schemaMismatch(schema, fields);
  if (wrong !== undefined) {
    const given = typeof metadata['namespace'] === 'string' ? metadata['namespace'] : '';
    const apiVersion = group === '' ? version : `${group}/${version}`;
    return untyped(`failed to create typed patch object (${given}/${name}; ${apiVersion}, Kind=${type.kind}): ${wrong}`);
  }
  const complete: Readonly<Record<string, unknown>> = { ...fields, metadata: { ...metadata, name, ...defined({ namespace }) } };
  return success(complete as KubeObject);
}

function objectType({ apiVersion = '', kind = '' }: Partial<ObjectDraft>): string {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return `${group ?? ''}/${version ?? ''}, Kind=${kind}`;
}

function withoutManager(): Result<never> {
  const message = 'Required value: is required for apply patch';
  return refuse(422, 'Invalid', `PatchOptions.meta.k8s.io "" is invalid: fieldManager: ${message}`, {
    group: 'meta.k8s.io',
    kind: 'PatchOptions',
    causes: [{ reason: 'FieldValueRequired', message, field: 'fieldManager' }],
  });
}

/** A real server has no reason for this refusal. */
function untyped(message: string): Result<never> {
  const { reason: _none, ...status } = failureStatus(500, '', message);
  return { ok: false, refusal: status };
}
