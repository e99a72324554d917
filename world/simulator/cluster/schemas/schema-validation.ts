/**
 * Validation of a custom object by the schema of its definition, in the words of an API server (recorded from Kubernetes 1.35).
 */
import { isRecord, sameJson } from '../store/patches.ts';
import type { JsonSchema } from './json-schema.ts';

export interface SchemaProblem {
  /** `spec.parts[0].id`; empty for the object itself. */
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** All problems of the value, in the order of its fields. */
export function schemaProblems(json: JsonSchema, value: unknown, field = ''): readonly SchemaProblem[] {
  if (value === null && json.nullable === true) return [];
  const mistyped = typeProblem(json, value, field);
  if (mistyped !== undefined) return [mistyped];
  return [...valueProblems(json, value, field), ...enumProblems(json, value, field), ...junctionProblems(json, value, field)];
}

function problem(field: string, reason: string, message: string): SchemaProblem {
  return { field, reason, message };
}

/** `in body must be ...`, as go-openapi words it. */
function inBody(field: string, value: unknown, rule: string, reason = 'FieldValueInvalid'): SchemaProblem {
  return problem(field, reason, `Invalid value: ${JSON.stringify(value)}: ${field} in body ${rule}`);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value === 'object' ? 'object' : typeof value;
}

function typeProblem(json: JsonSchema, value: unknown, field: string): SchemaProblem | undefined {
  const name = typeName(value);
  const isIntOrString = json['x-kubernetes-int-or-string'] === true;
  const wanted = isIntOrString ? ['integer', 'string'] : json.type === undefined ? [] : [json.type];
  if (wanted.length === 0 || wanted.includes(name) || (name === 'integer' && wanted.includes('number'))) return undefined;
  return inBody(field, name, `must be of type ${wanted.join(',')}: ${JSON.stringify(name)}`, 'FieldValueTypeInvalid');
}

function valueProblems(json: JsonSchema, value: unknown, field: string): readonly SchemaProblem[] {
  if (typeof value === 'string') return textProblems(json, value, field);
  if (typeof value === 'number') return numberProblems(json, value, field);
  if (Array.isArray(value)) return listProblems(json, value as readonly unknown[], field);
  return isRecord(value) ? objectProblems(json, value, field) : [];
}

function textProblems({ minLength, maxLength, pattern, format }: JsonSchema, value: string, field: string): readonly SchemaProblem[] {
  if (maxLength !== undefined && value.length > maxLength)
    return [problem(field, 'FieldValueTooLong', `Too long: may not be more than ${maxLength} bytes`)];
  if (minLength !== undefined && value.length < minLength) return [inBody(field, value, `should be at least ${minLength} chars long`)];
  if (pattern !== undefined && !new RegExp(pattern).test(value)) return [inBody(field, value, `should match '${pattern}'`)];
  if (format === 'date-time' && Number.isNaN(Date.parse(value)))
    return [inBody(field, value, `must be of type date-time: ${JSON.stringify(value)}`)];
  return [];
}

function numberProblems(json: JsonSchema, value: number, field: string): readonly SchemaProblem[] {
  const { minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false, multipleOf } = json;
  const isHigh = maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum);
  if (isHigh) return [inBody(field, value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`)];
  const isLow = minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum);
  if (isLow) return [inBody(field, value, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`)];
  const isBetween = multipleOf !== undefined && !Number.isInteger(value / multipleOf);
  return isBetween ? [inBody(field, value, `should be a multiple of ${multipleOf}`)] : [];
}

function listProblems(json: JsonSchema, items: readonly unknown[], field: string): readonly SchemaProblem[] {
  const { minItems, maxItems } = json;
  if (maxItems !== undefined && items.length > maxItems)
    return [problem(field, 'FieldValueTooMany', `Too many: ${items.length}: must have at most ${maxItems} items`)];
  if (minItems !== undefined && items.length < minItems) return [inBody(field, items.length, `should have at least ${minItems} items`)];
  const within = items.flatMap((item, index) => schemaProblems(json.items ?? {}, item, `${field}[${index}]`));
  return within.length > 0 ? within : duplicateProblems(json, items, field);
}

/** A set has each value once, a list by keys each key once. */
function duplicateProblems(json: JsonSchema, items: readonly unknown[], field: string): readonly SchemaProblem[] {
  const type = json['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return [];
  const keys = json['x-kubernetes-list-map-keys'] ?? [];
  const identities = items.map((item) => {
    const fields = isRecord(item) ? item : {};
    return type === 'set' ? item : Object.fromEntries(keys.flatMap((key) => (key in fields ? [[key, fields[key]]] : [])));
  });
  return identities.flatMap((identity, index) =>
    identities.slice(0, index).some((earlier) => sameJson(earlier, identity))
      ? [problem(`${field}[${index}]`, 'FieldValueDuplicate', `Duplicate value: ${JSON.stringify(identity)}`)]
      : [],
  );
}

function objectProblems(json: JsonSchema, value: Readonly<Record<string, unknown>>, field: string): readonly SchemaProblem[] {
  const at = (name: string): string => (field === '' ? name : `${field}.${name}`);
  const { additionalProperties: rest, properties = {}, required = [], minProperties, maxProperties } = json;
  const count = Object.keys(value).length;
  if (maxProperties !== undefined && count > maxProperties)
    return [problem(field, 'FieldValueTooMany', `Too many: ${count}: must have at most ${maxProperties} items`)];
  if (minProperties !== undefined && count < minProperties)
    return [inBody(field, count, `should have at least ${minProperties} properties`)];
  const missing = required.filter((name) => value[name] === undefined);
  return [
    ...missing.map((name) => problem(at(name), 'FieldValueRequired', 'Required value')),
    ...Object.entries(value).flatMap(([name, item]) => {
      const of = Object.hasOwn(properties, name) ? properties[name] : isRecord(rest) ? (rest as JsonSchema) : undefined;
      return of === undefined ? [] : schemaProblems(of, item, at(name));
    }),
  ];
}

function enumProblems({ enum: accepted }: JsonSchema, value: unknown, field: string): readonly SchemaProblem[] {
  if (accepted === undefined || accepted.some((each) => sameJson(each, value))) return [];
  const values = accepted.map((each) => JSON.stringify(each)).join(', ');
  return [problem(field, 'FieldValueNotSupported', `Unsupported value: ${JSON.stringify(value)}: supported values: ${values}`)];
}

function junctionProblems({ allOf = [], anyOf, oneOf, not }: JsonSchema, value: unknown, field: string): readonly SchemaProblem[] {
  const fits = (json: JsonSchema): boolean => schemaProblems(json, value, field).length === 0;
  const refuse = (rule: string): SchemaProblem => problem(field, 'FieldValueInvalid', `Invalid value: "": "${field}" ${rule}`);
  const matches = (oneOf ?? []).filter(fits).length;
  return [
    ...allOf.flatMap((json) => schemaProblems(json, value, field)),
    ...(anyOf === undefined || anyOf.some(fits) ? [] : [refuse('must validate at least one schema (anyOf)')]),
    ...(oneOf === undefined || matches === 1
      ? []
      : [refuse(`must validate one and only one schema (oneOf). Found ${matches === 0 ? 'none valid' : `${matches} valid alternatives`}`)]),
    ...(not === undefined || !fits(not) ? [] : [refuse('must not validate the schema (not)')]),
  ];
}
