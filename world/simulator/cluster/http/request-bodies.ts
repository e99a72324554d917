/**
 * The object in the body of a write: decoded, without unknown fields, with the defaults of a custom kind, and valid by its schema. What
 * `fieldValidation` asks for decides about unknown fields (kubernetes.io, "Field validation").
 */
import { admitDefined, ruleWarnings } from '../schemas/definitions.ts';
import type { KindTable } from '../schemas/kind-table.ts';
import { withoutUnknown } from '../schemas/unknown-fields.ts';
import { typedBody } from '../store/field-types.ts';
import type { ObjectDraft } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { apiVersionOf } from '../store/resource-types.ts';
import { badRequest, refuse, success, type Result } from '../store/status.ts';
import { decodeObject } from '../store/storage-objects.ts';
import type { ApiRequest, ResourceRoute } from './requests.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface ReadBody {
  readonly draft: ObjectDraft;
  /** What the response warns of. */
  readonly warnings: readonly string[];
}

const OPTIONS: Readonly<Record<string, string>> = { POST: 'CreateOptions', PATCH: 'PatchOptions' };

/** Since Kubernetes 1.25 the default is to warn. */
export function fieldValidationOf({ method, query }: Pick<ApiRequest, 'method' | 'query'>): Result<FieldValidation> {
  const given = query.get('fieldValidation') ?? '';
  if (given === '') return success('Warn');
  if (given === 'Ignore' || given === 'Warn' || given === 'Strict') return success(given);
  const problem = `Unsupported value: ${JSON.stringify(given)}: supported values: "", "Ignore", "Strict", "Warn"`;
  const kind = OPTIONS[method] ?? 'UpdateOptions';
  return refuse(422, 'Invalid', `${kind}.meta.k8s.io "" is invalid: fieldValidation: ${problem}`, {
    group: 'meta.k8s.io',
    kind,
    causes: [{ reason: 'FieldValueNotSupported', message: problem, field: 'fieldValidation' }],
  });
}

export interface BodyInput {
  readonly kinds: KindTable;
  readonly route: ResourceRoute;
  readonly body: unknown;
  readonly validation: FieldValidation;
  /** A patch names itself in the refusal of an unknown field. Default: the body is a whole object. */
  readonly patch?: () => string;
}

/** The body as an object of the route's kind. */
export function readBody(input: BodyInput): Result<ReadBody> {
  const { kinds, route, body } = input;
  const { type } = route;
  if (!isRecord(body)) return badRequest('the object provided is unrecognized: the body must be a JSON object');
  const typed = typedBody(type, body);
  if (!typed.ok) return typed;
  const wrong = refusalOfIdentity(route, typed.value);
  if (wrong !== undefined) return wrong;
  const schema = kinds.schemaOf(type);
  const { value, unknown } = schema === undefined ? { value: typed.value, unknown: [] } : withoutUnknown(schema, typed.value);
  if (unknown.length > 0 && input.validation === 'Strict') return strictRefusal(input, unknown);
  const fields = value as Readonly<Record<string, unknown>>;
  const metadata = isRecord(fields['metadata']) ? (fields['metadata'] as ObjectDraft['metadata']) : {};
  const draft: ObjectDraft = { ...fields, kind: type.kind, apiVersion: apiVersionOf(type), metadata };
  const named = { ...draft, metadata: { ...metadata, name: metadata.name ?? route.name ?? '' } };
  const { namespace, name } = route;
  const admitted = admitDefined(kinds, type, named, name === undefined ? undefined : kinds.stored(type, { namespace, name }));
  if (!admitted.ok) return admitted;
  const warnings = [...(input.validation === 'Warn' ? unknown.map((path) => `unknown field "${path}"`) : []), ...ruleWarnings(type, draft)];
  return success({ draft: decodeObject(type, { ...admitted.value, metadata }), warnings });
}

function refusalOfIdentity(
  { type, namespace, name }: ResourceRoute,
  fields: Readonly<Record<string, unknown>>,
): ReturnType<typeof badRequest> | undefined {
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
  if (name === undefined || metadata.name === undefined || metadata.name === name) return undefined;
  return badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

function strictRefusal({ route: { type }, patch }: BodyInput, unknown: readonly string[]): ReturnType<typeof badRequest> {
  const problem = `strict decoding error: ${unknown.map((path) => `unknown field "${path}"`).join(', ')}`;
  if (patch === undefined) return badRequest(`${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${problem}`);
  const message = `Invalid value: ${JSON.stringify(patch())}: ${problem}`;
  return refuse(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
    causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }],
  });
}
