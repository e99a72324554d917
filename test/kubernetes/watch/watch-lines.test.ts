import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter, decodeWithoutManagedFields } from '../../../src/kubernetes/watch/watch-lines.ts';

const decode = (value: unknown): string => decodeWithoutManagedFields(Buffer.from(JSON.stringify(value)));
const entry = { manager: 'kubelet', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:nodeName': {} } } };

/** The content of JSON without managedFields. */
function unmanaged(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => (key === 'managedFields' ? undefined : inner)) as unknown;
}

describe('decoding without managedFields', () => {
  it.each<[string, object]>([
    ['last in the metadata, as the API server writes it', { metadata: { name: 'a', managedFields: [entry] }, spec: { x: 1 } }],
    ['alone in the metadata', { metadata: { managedFields: [entry, entry] }, spec: {} }],
    ['empty', { metadata: { name: 'a', managedFields: [] }, spec: {} }],
    ['of an object without a spec', { metadata: { name: 'a', managedFields: [entry] }, status: { phase: 'Active' } }],
    ['inside an event', { type: 'ADDED', object: { metadata: { name: 'ä', managedFields: [entry] }, spec: { x: '"managedFields":[' } } }],
  ])('leaves them out: %s', (_what, value) => {
    const text = decode(value);
    expect(JSON.parse(text)).toEqual(unmanaged(value));
    expect(text).not.toContain('kubelet');
  });

  it.each<[string, object]>([
    ['there are none', { metadata: { name: 'a' }, spec: {} }],
    ['something follows them in the metadata', { metadata: { managedFields: [entry], labels: { a: 'b' } }, spec: {} }],
    ['they hold an array', { metadata: { managedFields: [{ fieldsV1: { a: [1] } }] }, spec: {} }],
    ['they hold a bracket in a string', { metadata: { managedFields: [{ manager: 'a]},"spec":{' }] }, spec: {} }],
    ['only a string says so', { metadata: { annotations: { last: '{"metadata":{"managedFields":[]},"spec":{}}' } }, spec: {} }],
    ['nothing follows the metadata', { metadata: { managedFields: [entry] } }],
  ])('leaves everything as it is when %s', (_what, value) => {
    expect(JSON.parse(decode(value))).toEqual(value);
  });

  it('never changes what the rest means, whatever it is', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom(']},"spec":{', '"managedFields":[', '\\"', ']', '}', 'é]},"spec":'));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(text, tie('value'), { maxKeys: 3 }),
      ),
    }));
    const object = fc.record({
      type: text,
      object: fc.record(
        {
          metadata: fc.record({ labels: value, name: text, managedFields: fc.array(value, { maxLength: 3 }) }, { requiredKeys: [] }),
          spec: value,
          status: value,
        },
        { requiredKeys: [] },
      ),
    });
    fc.assert(
      fc.property(object, (generated) => {
        expect(unmanaged(JSON.parse(decode(generated)))).toEqual(unmanaged(generated));
      }),
      { seed: 20261121, numRuns: 1_000 },
    );
  });
});

describe('lines', () => {
  it('come out whole, wherever the chunks are cut', () => {
    const lines = ['{"a":"é"}', '', '{"metadata":{"managedFields":[{}]},"spec":1}', 'last €'];
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.sort((left, right) => left - right), bytes.length];
        const splitter = new LineSplitter(decodeWithoutManagedFields);
        const seen: string[] = [];
        places.slice(1).forEach((end, index) => splitter.push(bytes.subarray(places[index], end), (line) => seen.push(line)));
        expect(seen).toEqual(['{"a":"é"}', '{"metadata":{},"spec":1}', 'last €']);
        expect(splitter.unfinished).toBe(0);
      }),
      { seed: 20261121 },
    );
  });
});
