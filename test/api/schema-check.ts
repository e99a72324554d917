/** Compares a document with a JSON schema, as far as the API's own schemas go. */

import { openApi } from '../../src/api/documents/open-api/open-api.ts';

type Schema = Readonly<Record<string, unknown>>;

/** As `/api/v1/openapi.json` describes it. */
export interface Description {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly responses: { readonly '200': { readonly content: Readonly<Record<string, { readonly schema: Schema }>> } };
        };
      }
    >
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Where a document of this path, without `/api/v1/`, is not as described. */
export function differencesFromApi(path: string, document: unknown): readonly string[] {
  const { paths, components } = openApi() as Description;
  const schema = paths[`/${path}`]?.get.responses['200'].content['application/json']?.schema;
  return schema === undefined ? [`${path} is not described`] : differences(document, schema, components.schemas);
}

/** Where the value differs, as paths; empty if it conforms. */
export function differences(value: unknown, schema: Schema, schemas: Readonly<Record<string, Schema>>, at = '$'): readonly string[] {
  const name = typeof schema['$ref'] === 'string' ? schema['$ref'].split('/').at(-1) : undefined;
  if (name !== undefined) return differences(value, schemas[name] ?? { const: `no schema ${name}` }, schemas, at);
  if ('const' in schema) return value === schema['const'] ? [] : [`${at} is not ${String(schema['const'])}`];
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value) ? [] : [`${at} is ${JSON.stringify(value)}`];
  switch (schema['type']) {
    case 'array':
      if (!Array.isArray(value)) return [`${at} is no list`];
      return value.flatMap((item, index) => differences(item, schema['items'] as Schema, schemas, `${at}[${index}]`));
    case 'object':
      return differencesOfFields(value, schema, schemas, at);
    case 'integer':
      return Number.isInteger(value) && (value as number) >= Number(schema['minimum'] ?? value)
        ? []
        : [`${at} is ${String(value)}, no count`];
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? [] : [`${at} is no number`];
    case 'boolean':
      return typeof value === 'boolean' ? [] : [`${at} is no boolean`];
    case 'string':
      if (typeof value !== 'string') return [`${at} is no text`];
      return schema['format'] === 'date-time' && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
        ? [`${at} is no time: ${value}`]
        : [];
    default:
      return [`${at} has a schema without a known type`];
  }
}

function differencesOfFields(value: unknown, schema: Schema, schemas: Readonly<Record<string, Schema>>, at: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${at} is no object`];
  const properties = schema['properties'] as Readonly<Record<string, Schema>> | undefined;
  const others = schema['additionalProperties'];
  const missing = ((schema['required'] ?? []) as readonly string[])
    .filter((key) => !(key in value))
    .map((key) => `${at}.${key} is missing`);
  return missing.concat(
    Object.entries(value).flatMap(([key, part]) => {
      const known = properties?.[key] ?? (typeof others === 'object' ? (others as Schema) : undefined);
      if (known !== undefined) return differences(part, known, schemas, `${at}.${key}`);
      return others === false ? [`${at}.${key} is not described`] : [];
    }),
  );
}
