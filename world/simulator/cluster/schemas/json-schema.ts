/** The schema of a custom kind as its definition has it (apiextensions.k8s.io/v1, structural schemas), and its form for merges and unknown fields. */
import { isRecord } from '../store/patches.ts';
import { ANY, metadataSchema, type FieldSchema, type LeafType, type Schema, type StructSchema } from './schema.ts';

export interface JsonSchema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly unknown[];
}

/** The root of a custom object: every kind has identity and metadata. */
export function structOfCustomKind(root: JsonSchema): StructSchema {
  const own = root['x-kubernetes-preserve-unknown-fields'] === true ? { ...root, properties: root.properties ?? {} } : root;
  const struct = structOf(own);
  const identity: readonly (readonly [string, FieldSchema])[] = [
    ['apiVersion', plainField(TEXT)],
    ['kind', plainField(TEXT)],
    ['metadata', { ...plainField(metadataSchema()), always: true }],
  ];
  return { ...struct, fields: new Map([...struct.fields, ...identity]) };
}

const TEXT: Schema = { kind: 'leaf', type: 'string' };

function plainField(schema: Schema): FieldSchema {
  return { schema, required: false, always: false, patch: { retainsKeys: false } };
}

function structOf(json: JsonSchema): StructSchema {
  const fields = Object.entries(json.properties ?? {}).map(([name, of]): readonly [string, FieldSchema] => [
    name,
    {
      ...plainField(schemaOf(of)),
      required: json.required?.includes(name) === true,
      ...(of.default === undefined ? {} : { default: of.default }),
    },
  ]);
  const embedded = json['x-kubernetes-embedded-resource'] === true;
  return {
    kind: 'struct',
    name: undefined,
    fields: new Map(fields),
    atomic: json['x-kubernetes-map-type'] === 'atomic',
    open: json['x-kubernetes-preserve-unknown-fields'] === true || embedded,
  };
}

function schemaOf(json: JsonSchema): Schema {
  if (json['x-kubernetes-int-or-string'] === true) return { kind: 'leaf', type: 'int-or-string' };
  if (json.type === 'array') {
    const kind = json['x-kubernetes-list-type'];
    const keys = kind === 'map' ? (json['x-kubernetes-list-map-keys'] ?? []) : [];
    return { kind: 'list', of: schemaOf(json.items ?? {}), keys, set: kind === 'set' };
  }
  if (json.type === 'object' || json.properties !== undefined) return objectOf(json);
  return leafOf(json);
}

function objectOf(json: JsonSchema): Schema {
  const { additionalProperties: values } = json;
  const atomic = json['x-kubernetes-map-type'] === 'atomic';
  if (values !== undefined && values !== false) return { kind: 'map', of: values === true ? ANY : schemaOf(values), atomic };
  if (json.properties === undefined && json['x-kubernetes-preserve-unknown-fields'] === true) return ANY;
  return structOf(json);
}

function leafOf({ type, format }: JsonSchema): Schema {
  const types: Readonly<Record<string, LeafType>> = {
    string: format === 'date-time' ? 'time' : 'string',
    boolean: 'boolean',
    integer: format === 'int32' ? 'int32' : 'int64',
    number: 'number',
  };
  const leaf = types[type ?? ''];
  return leaf === undefined ? ANY : { kind: 'leaf', type: leaf };
}

/** The value with the defaults of its schema. A null that the schema does not allow is absent. */
export function withSchemaDefaults(json: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value))
    return json.items === undefined ? value : value.map((item: unknown) => withSchemaDefaults(json.items ?? {}, item));
  if (!isRecord(value)) return value;
  const properties = json.properties ?? {};
  const present = Object.entries(value).flatMap(([name, item]) => {
    const of = properties[name] ?? (isRecord(json.additionalProperties) ? json.additionalProperties : undefined);
    if (of === undefined) return [[name, item] as const];
    return item === null && of.nullable !== true ? [] : [[name, withSchemaDefaults(of, item)] as const];
  });
  const names = new Set(present.map(([name]) => name));
  const missing = Object.entries(properties).filter(([name, of]) => of.default !== undefined && !names.has(name));
  return Object.fromEntries([
    ...present,
    ...missing.map(([name, of]) => [name, withSchemaDefaults(of, structuredClone(of.default))] as const),
  ]);
}
