/** The few kinds of fields that documents of `/api/v1` have, as JSON schemas. */
/** A JSON schema, as OpenAPI 3.1 has it. */
export type Schema = Readonly<Record<string, unknown>>;

export const text = { type: 'string' } as const;
export const time = { type: 'string', format: 'date-time' } as const;
export const count = { type: 'integer', minimum: 0 } as const;
export const amount = { type: 'number' } as const;
export const flag = { type: 'boolean' } as const;
export const anything = { type: 'object' } as const;

export function oneOf(values: readonly unknown[]): Schema {
  return { enum: values };
}

export function list(items: Schema): Schema {
  return { type: 'array', items };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** A key that ends in `?` is optional. */
export function object(fields: Readonly<Record<string, Schema>>): Schema {
  const names = Object.keys(fields);
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    required: names.filter((name) => !name.endsWith('?')),
    additionalProperties: false,
  };
}

export function numbersBy(): Schema {
  return { type: 'object', additionalProperties: count };
}
