/** Validation, defaults and unknown fields of custom objects, against what a real API server answered (Kubernetes 1.35). */
import { describe, expect, it } from 'vitest';
import { structOfCustomKind, withSchemaDefaults } from '../../../../simulator/cluster/schemas/json-schema.ts';
import { schemaProblems } from '../../../../simulator/cluster/schemas/schema-validation.ts';
import { withoutUnknown } from '../../../../simulator/cluster/schemas/unknown-fields.ts';
import { WIDGET_SCHEMA } from './widget.ts';

const refusals = (spec: unknown): readonly string[] =>
  schemaProblems(WIDGET_SCHEMA, { spec }).map(({ field, message }) => `${field}: ${message}`);

describe('a custom object that its schema refuses', () => {
  it.each<readonly [unknown, readonly string[]]>([
    [{}, ['spec.size: Required value']],
    [{ size: 11 }, ['spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10']],
    [{ size: 0 }, ['spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1']],
    [{ size: 1.5 }, ['spec.size: Invalid value: "number": spec.size in body must be of type integer: "number"']],
    [{ size: 'two' }, ['spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"']],
    [{ size: 1, name: 'ABCDEFGH' }, ['spec.name: Too long: may not be more than 5 bytes']],
    [{ size: 1, name: 'a' }, ['spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long']],
    [{ size: 1, name: 'AB' }, ['spec.name: Invalid value: "AB": spec.name in body should match \'^[a-z]+$\'']],
    [{ size: 1, color: 'green' }, ['spec.color: Unsupported value: "green": supported values: "red", "blue"']],
    [{ size: 1, ratio: 'x' }, ['spec.ratio: Invalid value: "string": spec.ratio in body must be of type number: "string"']],
    [{ size: 1, flags: ['a', 'b', 'c'] }, ['spec.flags: Too many: 3: must have at most 2 items']],
    [{ size: 1, flags: ['a', 'a'] }, ['spec.flags[1]: Duplicate value: "a"']],
    [{ size: 1, parts: [{ id: 'a' }, { id: 'a' }] }, ['spec.parts[1]: Duplicate value: {"id":"a"}']],
    [{ size: 1, parts: [{ n: 1 }] }, ['spec.parts[0].id: Required value']],
    [{ size: 1, parts: 'x' }, ['spec.parts: Invalid value: "string": spec.parts in body must be of type array: "string"']],
    [{ size: 1, map: { a: 'x' } }, ['spec.map.a: Invalid value: "string": spec.map.a in body must be of type integer: "string"']],
    [{ size: 1, port: true }, ['spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"']],
    [{ size: 1, on: 3 }, ['spec.on: Invalid value: "integer": spec.on in body must be of type boolean: "integer"']],
    [{ size: 1, when: 'never' }, ['spec.when: Invalid value: "never": spec.when in body must be of type date-time: "never"']],
    [
      { size: 11, name: 'a' },
      [
        'spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10',
        'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
      ],
    ],
  ])('%j', (spec, expected) => {
    expect(refusals(spec)).toEqual(expected);
  });

  it.each<readonly [unknown]>([
    [{ size: 1, on: null }],
    [{ size: 10, port: '25%', ratio: 2, map: { a: 1 }, flags: ['a'], when: '2026-01-01T00:00:00Z' }],
  ])('%j is valid', (spec) => {
    expect(refusals(spec)).toEqual([]);
  });

  it.each<readonly [string, unknown, string]>([
    ['anyOf', { anyOf: [{ required: ['a'] }, { required: ['b'] }] }, 'must validate at least one schema (anyOf)'],
    [
      'oneOf',
      { oneOf: [{ required: ['c'] }, { required: ['c'] }] },
      'must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    ['not', { not: { required: ['c'] } }, 'must not validate the schema (not)'],
    ['allOf', { allOf: [{ required: ['a'] }] }, 'Required value'],
  ])('%s', (_, junction, words) => {
    const json = { type: 'object', properties: {}, ...(junction as object) };
    expect(schemaProblems(json, { c: 1 }, 'spec').map(({ message }) => message)).toEqual([expect.stringContaining(words)]);
  });
});

describe('defaults of a schema', () => {
  it.each([
    [{ size: 1 }, { size: 1, color: 'red' }],
    [{ color: 'blue' }, { color: 'blue' }],
    [
      { color: null, name: null, on: null },
      { color: 'red', on: null },
    ],
    [
      { parts: [{ id: 'a' }, { id: 'b', n: 1 }] },
      {
        parts: [
          { id: 'a', n: 7 },
          { id: 'b', n: 1 },
        ],
        color: 'red',
      },
    ],
  ])('%j becomes %j', (spec, expected) => {
    expect(withSchemaDefaults(WIDGET_SCHEMA, { spec })).toEqual({ spec: expected });
  });

  it('an absent object gets none', () => {
    expect(withSchemaDefaults(WIDGET_SCHEMA, {})).toEqual({});
  });
});

describe('fields that a schema does not have', () => {
  it('are dropped and named with their paths, in the order of the document', () => {
    const widget = { metadata: { name: 'a' }, spec: { size: 1, foo: 1, parts: [{ id: 'a', z: 1 }], free: { any: { thing: 1 } } }, top: 1 };
    expect(withoutUnknown(structOfCustomKind(WIDGET_SCHEMA), widget)).toEqual({
      value: { metadata: { name: 'a' }, spec: { size: 1, parts: [{ id: 'a' }], free: { any: { thing: 1 } } } },
      unknown: ['spec.foo', 'spec.parts[0].z', 'top'],
    });
  });
});
