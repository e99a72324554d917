/**
 * The structure of the kinds that the simulated API server has, as a table of text made from the OpenAPI documents of a real one: names and types
 * of fields, lists by key, patch strategies. No descriptions. `world/simulator/cluster/schemas/schema.ts` reads it.
 */
import { RESOURCE_TYPES } from '../../world/simulator/cluster/store/resource-types.ts';

interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly unknown[];
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
}

export interface OpenApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

/** Kinds of subresources, which no row of the resource types names. */
const MORE = ['autoscaling/v1/Scale', 'policy/v1/Eviction', '/v1/Binding'];
/** Schemas without properties, by the end of their name. */
const LEAVES: Readonly<Record<string, string>> = {
  Time: 't',
  MicroTime: 't',
  Quantity: 'q',
  IntOrString: 'x',
  FieldsV1: 'a',
  RawExtension: 'a',
  JSON: 'a',
  JSONSchemaPropsOrArray: 'a',
  JSONSchemaPropsOrBool: 'a',
  JSONSchemaPropsOrStringArray: 'a',
  CustomResourceSubresourceStatus: 'a',
};

/** Paths of the documents: `api/v1`, `apis/apps/v1`. */
export function documentPaths(): readonly string[] {
  const versions = RESOURCE_TYPES.map(({ group, version }) => (group === '' ? `api/${version}` : `apis/${group}/${version}`));
  return [...new Set([...versions, 'apis/autoscaling/v1', 'apis/policy/v1'])];
}

/** One line per schema that is reachable from a kind, by name. Documents that the server does not have are left out. */
export function schemaTable(documents: readonly OpenApiDocument[]): string {
  const schemas = new Map(documents.flatMap(({ components }) => Object.entries(components.schemas)));
  const wanted = new Set([...RESOURCE_TYPES.map(({ group, version, kind }) => `${group}/${version}/${kind}`), ...MORE]);
  const open = [...schemas].filter(([, schema]) => gvksOf(schema).some((gvk) => wanted.has(gvk))).map(([name]) => name);
  const lines = new Map<string, string>();
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const schema = schemas.get(name);
    if (schema === undefined || lines.has(name) || leafOf(name) !== undefined) continue;
    const gvk = gvksOf(schema).find((each) => wanted.has(each));
    lines.set(name, lineOf(name, schema, gvk));
    open.push(...refsIn(schema));
  }
  return [...lines.values()].sort().join('\n');
}

function gvksOf(schema: OpenApiSchema): readonly string[] {
  return (schema['x-kubernetes-group-version-kind'] ?? []).map(({ group, version, kind }) => `${group}/${version}/${kind}`);
}

function lineOf(name: string, schema: OpenApiSchema, gvk: string | undefined): string {
  const atomic = schema['x-kubernetes-map-type'] === 'atomic' ? '!' : '';
  const fields = Object.entries(schema.properties ?? {}).map(([field, of]) => {
    const mark = schema.required?.includes(field) === true ? '*' : '';
    return `${field}${mark}=${textOf(of)}`;
  });
  return [`${shortName(name)}${atomic}${gvk === undefined ? '' : `@${gvk}`}:`, ...fields].join(' ');
}

/** `io.k8s.api.core.v1.Pod` becomes `core.v1.Pod`. */
function shortName(name: string): string {
  return name.replace(/^io\.k8s\.(?:api|apimachinery\.pkg\.apis|apiextensions-apiserver\.pkg\.apis)\./, '');
}

function leafOf(name: string): string | undefined {
  return LEAVES[name.split('.').at(-1) ?? ''];
}

function refOf(schema: OpenApiSchema): string | undefined {
  return (schema.$ref ?? schema.allOf?.[0]?.$ref)?.split('/').at(-1);
}

function refsIn(schema: OpenApiSchema): readonly string[] {
  const { additionalProperties: values } = schema;
  const parts = [...Object.values(schema.properties ?? {}), schema.items, typeof values === 'object' ? values : undefined];
  const own = refOf(schema);
  return [...(own === undefined ? [] : [own]), ...parts.flatMap((part) => (part === undefined ? [] : refsIn(part)))];
}

function textOf(schema: OpenApiSchema): string {
  const { default: usual } = schema;
  const always = typeof usual === 'object' && usual !== null ? '~' : '';
  const given = usual === undefined || usual === '' || usual === 0 || always !== '' ? '' : `:${JSON.stringify(usual)}`;
  return `${typeOf(schema)}${patchOf(schema)}${always}${given}`;
}

function typeOf(schema: OpenApiSchema): string {
  const ref = refOf(schema);
  if (ref !== undefined) return `${leafOf(ref) ?? shortName(ref)}${schema['x-kubernetes-map-type'] === 'atomic' ? '!' : ''}`;
  const { additionalProperties: values, items } = schema;
  if (schema.type === 'array') return `[${typeOf(items ?? {})}]${listOf(schema)}`;
  if (typeof values === 'object') return `{${typeOf(values)}}${schema['x-kubernetes-map-type'] === 'atomic' ? '!' : ''}`;
  return { string: 's', boolean: 'b', integer: schema.format === 'int64' ? 'I' : 'i', number: 'n' }[schema.type ?? ''] ?? 'a';
}

function listOf(schema: OpenApiSchema): string {
  if (schema['x-kubernetes-list-type'] === 'set') return '=';
  return schema['x-kubernetes-list-type'] === 'map' ? `%${(schema['x-kubernetes-list-map-keys'] ?? []).join(',')}` : '';
}

/** `^`: merged by a strategic merge patch, by this key; `$`: other fields are dropped. */
function patchOf(schema: OpenApiSchema): string {
  const strategies = (schema['x-kubernetes-patch-strategy'] ?? '').split(',');
  const merge = strategies.includes('merge') ? `^${schema['x-kubernetes-patch-merge-key'] ?? ''}` : '';
  return `${merge}${strategies.includes('retainKeys') ? '$' : ''}`;
}
