/** Answers and requests are held against OpenAPI documents, here a small one of our own in the form of Azure's. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { wireCommand } from './command.ts';
import { Findings } from './finding.ts';
import { daemonRequests, type SentRequest } from './specs/daemon-requests.ts';
import { SchemaCheck, type Direction } from './specs/schema-check.ts';
import { checkSpecifications, judgeSpecifications } from './specs/spec-check.ts';
import { Specifications, type Json } from './specs/specifications.ts';
import type { WorldAnswer } from './world/world-client.ts';

const VERSION = '2026-04-01';
const SET_PATH =
  '/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Microsoft.Compute/virtualMachineScaleSets/{vmScaleSetName}';

const DEFINITIONS: Json = {
  Set: {
    allOf: [{ $ref: './common/types.json#/definitions/Resource' }],
    required: ['location'],
    properties: {
      location: { type: 'string' },
      etag: { type: 'string', readOnly: true },
      capacity: { type: 'integer', 'x-nullable': true },
      sizes: { type: 'array', items: { $ref: '#/definitions/Size' } },
      mode: { type: 'string', enum: ['Uniform', 'Flexible'], 'x-ms-enum': { name: 'Mode', modelAsString: true } },
      level: { type: 'string', enum: ['Info', 'Error'], 'x-ms-enum': { name: 'Level', modelAsString: false } },
      tags: { type: 'object', additionalProperties: { type: 'string' } },
      free: { type: 'object' },
      pet: { $ref: '#/definitions/Pet' },
      'a/b': { type: 'boolean' },
    },
  },
  Size: { type: 'object', properties: { name: { type: 'string' } } },
  Pet: { discriminator: 'kind', required: ['kind'], properties: { kind: { type: 'string' } } },
  Cat: { allOf: [{ $ref: '#/definitions/Pet' }], properties: { lives: { type: 'integer' } } },
  Hound: { 'x-ms-discriminator-value': 'Dog', allOf: [{ $ref: '#/definitions/Pet' }], properties: { leash: { type: 'boolean' } } },
  Self: { properties: { self: { $ref: '#/definitions/Self' } } },
};

const COMMON: Json = {
  swagger: '2.0',
  info: { version: VERSION },
  definitions: { Resource: { required: ['id'], properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } } } },
  parameters: { SetParameter: { name: 'parameters', in: 'body', schema: { $ref: '../compute.json#/definitions/Set' } } },
};

function aDocument(more: Json = {}): Json {
  const answer = { description: '', schema: { $ref: '#/definitions/Set' } };
  const operations = {
    get: { responses: { 200: answer, default: { description: '', schema: { properties: { error: { type: 'object' } } } } } },
    put: { parameters: [{ $ref: './common/types.json#/parameters/SetParameter' }], responses: { 200: answer } },
  };
  return { swagger: '2.0', info: { version: VERSION }, paths: { [SET_PATH]: operations }, definitions: DEFINITIONS, ...more };
}

/** A folder of documents as in a checkout, with the version in its path. */
function documents(document: Json = aDocument(), more: Readonly<Record<string, Json>> = {}): string {
  const folder = temporaryFolder();
  const files = { 'compute.json': document, 'common/types.json': COMMON, 'examples/get.json': { parameters: {} }, ...more };
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, 'stable', VERSION, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(content));
  }
  return folder;
}

function specifications(document?: Json): Specifications {
  return new Specifications(documents(document), new Set([VERSION]));
}

const SET_URI = new URL(`https://localhost${SET_PATH.replaceAll(/[{}]/g, '').toLowerCase()}?api-version=${VERSION}`);
const GOOD: Json = { id: 'x', location: 'here' };

function wrongIn(value: unknown, direction: Direction = 'response'): readonly string[] {
  const known = specifications();
  const found = known.find('GET', SET_URI);
  if (found === undefined) throw new Error('the document has no such path');
  const node = { $ref: '#/definitions/Set' };
  return new SchemaCheck(known, direction).check(value, { node, file: found.operation.file });
}

describe('a document and its schema', () => {
  it.each<[string, unknown]>([
    ['with what is required', GOOD],
    ['with every kind of field', { ...GOOD, name: 'n', sizes: [{ name: 's' }], tags: { a: 'b' }, free: { any: [1] }, 'a/b': true }],
    ['with null where it may be, and where nothing is required', { ...GOOD, capacity: null, name: null }],
    ['with a new word of an open list', { ...GOOD, mode: 'Floating' }],
    ['with a word of a closed list', { ...GOOD, level: 'Info' }],
    ['with what a discriminator adds', { ...GOOD, pet: { kind: 'Cat', lives: 9 } }],
    ['with what another name of a discriminator adds', { ...GOOD, pet: { kind: 'Dog', leash: true } }],
  ])('agree: %s', (_title, value) => {
    expect(wrongIn(value)).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{ ...GOOD, yeast: 1 }, 'body yeast is not documented'],
    [{ ...GOOD, sizes: [{ name: 's', yeast: 1 }, { yeast: 1 }] }, 'body sizes[].yeast is not documented'],
    [{ id: 'x' }, 'body location is required and missing'],
    [{ location: 'here' }, 'body id is required and missing'],
    [{ ...GOOD, location: null }, 'body location is required and missing'],
    [{ ...GOOD, capacity: 1.5 }, 'body capacity is number and is documented as integer'],
    [{ ...GOOD, sizes: {} }, 'body sizes is object and is documented as array'],
    [{ ...GOOD, level: 'Loud' }, 'body level has a word outside its documented list'],
    [{ ...GOOD, tags: { a: 1 } }, 'body tags.* is number and is documented as string'],
    [{ ...GOOD, pet: { kind: 'Cat', leash: true } }, 'body pet.leash is not documented'],
    [{ ...GOOD, pet: {} }, 'body pet.kind is required and missing'],
    [null, 'body is null'],
    [[], 'body is array and is documented as object'],
  ])('differ: %j', (value, what) => {
    expect(wrongIn(value)).toEqual([what]);
  });

  it('need nothing in a request that only Azure sets', () => {
    expect(wrongIn({ location: 'here' }, 'request')).toEqual([]);
    expect(wrongIn({}, 'request')).toEqual(['body location is required and missing']);
  });
});

function answered(status: number, body: unknown, more: Partial<WorldAnswer> = {}): WorldAnswer {
  return { method: 'GET', uri: SET_URI, status, headers: new Map(), body: body === undefined ? '' : JSON.stringify(body), ...more };
}

function findings(answers: readonly WorldAnswer[], requests: readonly SentRequest[], document?: Json): readonly string[] {
  const found = new Findings();
  checkSpecifications(specifications(document), { answers, requests }, found);
  return found.list().map(({ weight, route, what }) => `${weight}: ${route}: ${what}`);
}

describe('the world and the documents', () => {
  it('agree in bodies and statuses, errors included', () => {
    expect(findings([answered(200, GOOD), answered(404, { error: {} })], [])).toEqual([]);
  });

  it.each<[string, WorldAnswer, string]>([
    ['a field', answered(200, { ...GOOD, yeast: 1 }), 'form: getScaleSet 200: in the world body yeast is not documented'],
    ['a status', answered(299, GOOD), 'form: getScaleSet 299: the world answers with a status that is not documented'],
    ['the form of an error', answered(404, { code: 'x' }), 'form: getScaleSet 404: in the world body code is not documented'],
    ['a missing body', answered(200, undefined), 'form: getScaleSet 200: in the world body is missing'],
  ])('differ in %s', (_title, answer, what) => {
    expect(findings([answer], [])).toEqual([what]);
  });

  it('differ in a body where none is documented', () => {
    const document = aDocument({ paths: { [SET_PATH]: { get: { responses: { 200: { description: '' } } } } } });
    expect(findings([answered(200, GOOD)], [], document)).toEqual(['form: getScaleSet 200: in the world body is not documented']);
  });
});

describe('the requests of the daemon and the documents', () => {
  const put = (body: unknown): SentRequest => ({ method: 'PUT', uri: SET_URI, body });

  it('agree', () => {
    expect(findings([], [put({ location: 'here' }), { method: 'GET', uri: SET_URI, body: undefined }])).toEqual([]);
  });

  it.each<[string, SentRequest, string]>([
    ['a field', put({ location: 'here', yeast: 1 }), "daemon: putScaleSet: in the daemon's request body yeast is not documented"],
    [
      'a path',
      { method: 'POST', uri: SET_URI, body: undefined },
      `daemon: POST ${SET_URI.pathname}: the daemon sends a request that version ${VERSION} does not document`,
    ],
    ['a body', { method: 'GET', uri: SET_URI, body: {} }, 'daemon: getScaleSet: the daemon sends a body that is not documented'],
  ])('differ in %s', (_title, request, what) => {
    expect(findings([], [request])).toEqual([what]);
  });

  it('are those of its writes and reads', async () => {
    const sent = (await daemonRequests()).map(({ method, uri }) => `${method} ${uri.pathname.slice(uri.pathname.lastIndexOf('/') + 1)}`);
    expect(sent).toEqual(
      expect.arrayContaining(['GET virtualmachinescalesets', 'PUT aks-user1-vmss', 'POST delete', 'GET skus', 'GET usages']),
    );
    expect(sent.slice(-4)).toEqual(['GET mixed', 'PUT mixed', 'POST deleteMachines', 'GET agentPools']);
  });
});

describe('the folder of documents', () => {
  const NO_EXAMPLES = { argued: [], examples: () => Promise.resolve([]) };

  it('is read where paths are documented, without examples and other versions', async () => {
    const folder = documents(aDocument(), { 'later.json': aDocument({ info: { version: '2031-01-01' } }) });
    expect(new Specifications(folder, new Set([VERSION])).find('GET', SET_URI)?.path).toBe(SET_PATH);
    expect(new Specifications(folder, new Set(['2031-01-01'])).size).toBe(0);
    expect((await judgeSpecifications(folder, NO_EXAMPLES.examples)).documents).toBe(2);
  });

  it('without a document of our versions, or with a broken one, is a finding', async () => {
    const { findings: none } = await judgeSpecifications(temporaryFolder(), NO_EXAMPLES.examples);
    expect(none.map(({ what }) => what)).toEqual([expect.stringMatching(/^cannot be read: no document of the versions /)]);
    const lost = documents(aDocument({ definitions: {} }));
    const { findings: broken } = await judgeSpecifications(lost, () => Promise.resolve([answered(200, GOOD)]));
    expect(broken.map(({ what }) => what)).toContain('cannot be read: #/definitions/Set leads nowhere');
  });

  it('is compared by the command, alone or beside recordings', async () => {
    const { code, out } = await wireCommand(['--specs', documents()], NO_EXAMPLES);
    expect(code).toBe(1);
    expect(out).toContain('1 documents, 0 answers of the world');
    expect(out).toContain(`the daemon sends a request that version ${VERSION} does not document`);
    expect(await wireCommand(['--specs', '/nowhere/at/all'], NO_EXAMPLES)).toMatchObject({ code: 2 });
  });
});
