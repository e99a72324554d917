/**
 * OpenAPI documents of this server's kinds, as far as kubectl reads them: `explain`, the merge keys of patches, and that the server validates
 * fields. Built-in kinds have no descriptions here; those of custom kinds are in their definitions.
 */
import { apiVersionOf, type ResourceType } from '../store/resource-types.ts';
import type { JsonSchema } from './json-schema.ts';
import type { KindTable } from './kind-table.ts';
import { metadataSchema, type FieldSchema, type LeafType, type Schema, type StructSchema } from './schema.ts';

type Document = Readonly<Record<string, unknown>>;

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
const LEAVES: Readonly<Record<LeafType, Document>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  number: { type: 'number', format: 'double' },
  time: { type: 'string', format: 'date-time' },
  quantity: { $ref: `#/components/schemas/${QUANTITY}` },
  'int-or-string': { $ref: `#/components/schemas/${INT_OR_STRING}` },
};
const SHARED: Document = {
  [QUANTITY]: { description: 'An amount such as 500m or 16Gi.', oneOf: [{ type: 'string' }, { type: 'number' }] },
  [INT_OR_STRING]: {
    description: 'A number, or a text such as 25%.',
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  },
};

/** `io.k8s.api.core.v1.Pod` of `core.v1.Pod`; of a custom kind its group in reverse. */
function fullName(name: string): string {
  if (name.startsWith('meta.')) return `io.k8s.apimachinery.pkg.apis.${name}`;
  return name.startsWith('apiextensions.') ? `io.k8s.apiextensions-apiserver.pkg.apis.${name}` : `io.k8s.api.${name}`;
}

function customName({ group, version, kind }: ResourceType): string {
  return [...group.split('.').toReversed(), version, kind].join('.');
}

/** The document of one group version. */
export function openApiV3(kinds: KindTable, types: readonly ResourceType[], version: string): Document {
  const paths = Object.fromEntries(types.flatMap(pathsOf));
  return { openapi: '3.0.0', info: { title: 'Kubernetes', version }, paths, components: { schemas: schemasOf(kinds, types) } };
}

/** The older form, of all kinds. */
export function openApiV2(kinds: KindTable, version: string): Document {
  const text = JSON.stringify(schemasOf(kinds, kinds.types())).replaceAll('#/components/schemas/', '#/definitions/');
  return { swagger: '2.0', info: { title: 'Kubernetes', version }, paths: {}, definitions: JSON.parse(text) as unknown };
}

function schemasOf(kinds: KindTable, types: readonly ResourceType[]): Document {
  const schemas = new Map<string, unknown>(Object.entries(SHARED));
  for (const type of types) {
    const custom = kinds.custom(type);
    if (custom !== undefined) {
      addStruct(schemas, metadataSchema());
      schemas.set(customName(type), { ...customDocument(custom.json), ...gvkOf(type) });
      continue;
    }
    const struct = kinds.schemaOf(type);
    if (struct?.name === undefined) continue;
    addStruct(schemas, struct);
    const own = schemas.get(fullName(struct.name)) as Document;
    schemas.set(fullName(struct.name), { description: descriptionOf(type), ...own, ...gvkOf(type) });
  }
  return Object.fromEntries(schemas);
}

function descriptionOf({ kind }: ResourceType): string {
  return `${kind}. The simulated API server describes no fields; see https://kubernetes.io/docs/reference/kubernetes-api/`;
}

function gvkOf({ group, version, kind }: ResourceType): Document {
  return { 'x-kubernetes-group-version-kind': [{ group, version, kind }] };
}

/** The schema of a definition, with the metadata of every object. */
function customDocument(json: JsonSchema): Document {
  const identity = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { allOf: [{ $ref: `#/components/schemas/${fullName('meta.v1.ObjectMeta')}` }], default: {} },
  };
  return { ...json, properties: { ...json.properties, ...identity } };
}

function addStruct(schemas: Map<string, unknown>, struct: StructSchema): void {
  const name = fullName(struct.name ?? '');
  if (schemas.has(name)) return;
  schemas.set(name, {});
  const required = [...struct.fields].filter(([, field]) => field.required).map(([field]) => field);
  const properties = Object.fromEntries([...struct.fields].map(([field, of]) => [field, fieldDocument(schemas, of)]));
  schemas.set(name, {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties,
    ...(struct.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  });
}

function fieldDocument(schemas: Map<string, unknown>, { schema, patch, always, ...field }: FieldSchema): Document {
  const strategies = [...(patch.mergeKey === undefined ? [] : ['merge']), ...(patch.retainsKeys ? ['retainKeys'] : [])];
  const document = documentOf(schemas, schema);
  const plain = '$ref' in document && (always || strategies.length > 0) ? { allOf: [document] } : document;
  return {
    ...plain,
    ...(always ? { default: {} } : field.default === undefined ? {} : { default: field.default }),
    ...((patch.mergeKey ?? '') === '' ? {} : { 'x-kubernetes-patch-merge-key': patch.mergeKey }),
    ...(strategies.length === 0 ? {} : { 'x-kubernetes-patch-strategy': strategies.join(',') }),
  };
}

function documentOf(schemas: Map<string, unknown>, schema: Schema): Document {
  switch (schema.kind) {
    case 'leaf':
      return LEAVES[schema.type];
    case 'any':
      return { type: 'object' };
    case 'map':
      return {
        type: 'object',
        additionalProperties: documentOf(schemas, schema.of),
        ...(schema.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
      };
    case 'list': {
      const type = schema.set ? 'set' : schema.keys.length > 0 ? 'map' : 'atomic';
      const keys = schema.keys.length === 0 ? {} : { 'x-kubernetes-list-map-keys': schema.keys };
      return { type: 'array', items: documentOf(schemas, schema.of), 'x-kubernetes-list-type': type, ...keys };
    }
    default:
      addStruct(schemas, schema);
      return { $ref: `#/components/schemas/${fullName(schema.name ?? '')}` };
  }
}

function pathsOf(type: ResourceType): readonly (readonly [string, unknown])[] {
  const root = type.group === '' ? '/api/v1' : `/apis/${apiVersionOf(type)}`;
  const collection = `${root}/${type.namespaced ? 'namespaces/{namespace}/' : ''}${type.plural}`;
  const options = ['dryRun', 'fieldManager', 'fieldValidation'];
  return [
    [collection, { get: operation(type, 'list', []), post: operation(type, 'post', options) }],
    [
      `${collection}/{name}`,
      { get: operation(type, 'get', []), put: operation(type, 'put', options), patch: operation(type, 'patch', [...options, 'force']) },
    ],
  ];
}

function operation({ group, version, kind }: ResourceType, action: string, parameters: readonly string[]): Document {
  return {
    parameters: parameters.map((name) => ({ name, in: 'query', schema: { type: name === 'force' ? 'boolean' : 'string' } })),
    responses: { '200': { description: 'OK' } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
}
