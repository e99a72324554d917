import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readObjectStream } from '../../../../src/tools/plan/files/object-stream.ts';
import type { FileObject } from '../../../../src/tools/plan/files/objects-file.ts';
import { AutoscalerError } from '../../../../src/lib/errors.ts';

/** Names of the objects, or the error. */
async function namesIn(content: string | Uint8Array, cuts: readonly number[] = []): Promise<readonly string[] | string> {
  const bytes = Buffer.from(content);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((left, right) => left - right), bytes.length];
  const chunks = ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end)).filter(({ length }) => length > 0);
  const found: FileObject[] = [];
  try {
    await readObjectStream('f', Readable.from(chunks), (object) => void found.push(object));
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return thrown.message;
    throw thrown;
  }
  return found.map(({ kind, metadata }) => `${kind}/${(metadata as { readonly name: string }).name}`);
}

const namespace = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, ...more });
const kindless = (name: string) => ({ metadata: { name } });
/** More than the part of a file that is tried as YAML, too. */
const LARGE = { data: { text: `${'x'.repeat(70_000)}\\"é` } };
const many = Array.from({ length: 20 }, (_, at) => namespace(`large-${at}`, LARGE));
const LARGE_NAMES = many.map(({ metadata }) => `Namespace/${metadata.name}`);
const text = (...values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join('\n');

const TRICKY = namespace('tricky', { data: { items: '"items":[{"kind":"Pod"}]', more: '\\"],}{[', list: [[], {}, [{ items: [1] }]] } });

describe('objects of a file', () => {
  it.each<[string, string | Uint8Array, readonly string[]]>([
    [
      'a list of several kinds',
      JSON.stringify({ apiVersion: 'v1', items: [namespace('a'), { kind: 'ConfigMap', metadata: { name: 'b' } }], kind: 'List' }),
      ['Namespace/a', 'ConfigMap/b'],
    ],
    [
      'as kubectl indents it',
      JSON.stringify({ apiVersion: 'v1', items: [namespace('a'), TRICKY], kind: 'List', metadata: {} }, undefined, 4),
      ['Namespace/a', 'Namespace/tricky'],
    ],
    [
      'a typed list with its kind first',
      text({ kind: 'NamespaceList', apiVersion: 'v1', items: [kindless('a'), kindless('b')] }),
      ['Namespace/a', 'Namespace/b'],
    ],
    [
      'a typed list with its kind last',
      text({ items: [kindless('a'), kindless('b')], apiVersion: 'v1', kind: 'NamespaceList' }),
      ['Namespace/a', 'Namespace/b'],
    ],
    ['a list within a list', text({ items: [{ kind: 'List', items: [namespace('a')] }, namespace('b')] }), ['Namespace/a', 'Namespace/b']],
    ['an empty list', text({ items: [], kind: 'List' }), []],
    ['a list that is null', text({ items: null, kind: 'List' }), []],
    ['one object', text(namespace('a')), ['Namespace/a']],
    ['a key in escapes', '{"\\u0069tems":[{"kind":"Namespace","metadata":{"name":"a"}}]}', ['Namespace/a']],
    ['objects one after another', text(namespace('a'), TRICKY, namespace('c')), ['Namespace/a', 'Namespace/tricky', 'Namespace/c']],
    [
      'lists one after another',
      text({ items: [namespace('a')], kind: 'List' }, { items: [namespace('b')] }),
      ['Namespace/a', 'Namespace/b'],
    ],
    ['JSON documents of YAML', `${text(namespace('a'))}\n---\n${text(namespace('b'))}\n...\n`, ['Namespace/a', 'Namespace/b']],
    [
      'a list of objects and of lists',
      JSON.stringify([namespace('a'), { kind: 'NamespaceList', items: [kindless('b')] }]),
      ['Namespace/a', 'Namespace/b'],
    ],
    ['a byte order mark', `\uFEFF${text(namespace('a'))}`, ['Namespace/a']],
    ['gzip', gzipSync(text({ items: [namespace('a')] })), ['Namespace/a']],
    ['gzip of YAML', gzipSync('kind: Namespace\nmetadata: {name: a}\n'), ['Namespace/a']],
    ['YAML', 'kind: Namespace\nmetadata: {name: a}\n---\nkind: Namespace\nmetadata: {name: b}\n', ['Namespace/a', 'Namespace/b']],
    ['YAML that looks like JSON', '{kind: Namespace, metadata: {name: a}}', ['Namespace/a']],
    ['a large list', text({ apiVersion: 'v1', items: many, kind: 'List' }), LARGE_NAMES],
    ['a large list of lists', JSON.stringify([{ items: many }, { items: [TRICKY] }]), [...LARGE_NAMES, 'Namespace/tricky']],
    ['many large documents', text(...many), LARGE_NAMES],
    ['large gzip', gzipSync(text({ items: many })), LARGE_NAMES],
  ])('%s', async (_, content, names) => {
    expect(await namesIn(content)).toEqual(names);
  });

  it.each<[string, string | Uint8Array, string | RegExp]>([
    ['nothing', '', 'f is empty; it must contain Kubernetes objects.'],
    [
      'a list that is cut',
      text({ items: [namespace('a')] }).slice(0, -3),
      'f is not valid JSON: it ends in the middle of an object; was it written completely?',
    ],
    [
      'a large list that is cut',
      text({ items: many }).slice(0, -3),
      'f is not valid JSON: it ends in the middle of an object; was it written completely?',
    ],
    ['a large list that is cut between objects', text({ items: many }).slice(0, -2), /ends in the middle/],
    ['text after the end', `${text({ items: many })} x`, /^f is not valid JSON: unexpected "x" at byte \d+\.$/],
    ['no comma between items', text({ items: many }).replace('},{"apiVersion"', '} {"apiVersion"'), /unexpected "\{" at byte/],
    ['a comma after the last item', `{"items":[${text(many[0])},]}${text(...many)}`, /unexpected "]" at byte/],
    [
      'an item that is broken',
      text({ items: [...many, namespace('b')] }).replace('"name":"b"', '"name" "b"'),
      /^f is not valid JSON: object 21: .+\.$/,
    ],
    ['gzip that is cut', gzipSync(text({ items: many })).subarray(0, 500), /^f is not a complete gzip file/],
    ['UTF-16', Buffer.from(`\uFEFF${text(namespace('a'))}`, 'utf16le'), /^f is UTF-16 text; it must be UTF-8/],
    ['much YAML', `a: ${'x'.repeat(51 * 2 ** 20)}`, 'f has more than 50 MiB of YAML; write it with `-o json`, which may have any size.'],
    ['an item that is no object', text({ items: [7] }), 'f: object 0: kind is missing; it must be a Kubernetes object.'],
  ])('%s is refused in one sentence', async (_, content, message) => {
    const found = await namesIn(content);
    if (typeof message === 'string') expect(found).toBe(message);
    else expect(found).toMatch(message);
  });

  it('reads the same objects wherever the bytes are cut', async () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const item = fc.tuple(fc.stringMatching(/^[a-z]{1,5}$/), value).map(([name, data]) => namespace(name, { data, 'items ': data }));
    const list = fc.array(item, { maxLength: 5 }).map((items) => ({ apiVersion: 'v1', items, kind: 'List' }));
    const document = fc.oneof(
      item,
      list,
      fc.array(item, { maxLength: 3 }).map((items) => ({ kind: 'List', metadata: {}, items })),
    );
    const indent = fc.constantFrom(undefined, 2, '\t');
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 1, maxLength: 4 }),
        indent,
        fc.boolean(),
        fc.array(fc.nat(), { maxLength: 30 }),
        async (documents, space, isList, cuts) => {
          const names = documents
            .flatMap((each) => ('items' in each ? each.items : [each]))
            .map(({ metadata }) => `Namespace/${metadata.name}`);
          // Above a MiB, the parts are read as they come.
          const content = `${' '.repeat(2 ** 20)}${isList ? JSON.stringify(documents, undefined, space) : documents.map((each) => JSON.stringify(each, undefined, space)).join('\n')}`;
          expect(
            await namesIn(
              content,
              cuts.map((cut) => 2 ** 20 + (cut % 4000)),
            ),
          ).toEqual(names);
        },
      ),
      { numRuns: 15, seed: 5 },
    );
  });
});
