/** Rules of custom kinds (`x-kubernetes-validations`) through the API server, with the words of Kubernetes 1.36. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../../../simulator/cluster/store/objects.ts';
import { setStage, type Stage } from '../stage.ts';

let stage: Stage;

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const PATH = '/apis/example.com/v1/namespaces/default/widgets';
type Part = Readonly<Record<string, unknown>>;

const int = (rules: readonly Part[] = []): Part => ({ type: 'integer', 'x-kubernetes-validations': rules });
const FIELDS: Part = {
  replicas: { type: 'integer' },
  min: { type: 'integer' },
  ratio: { type: 'number' },
  name: { type: 'string' },
  until: { type: 'string', format: 'date-time' },
  grace: { type: 'string', format: 'duration' },
  size: { 'x-kubernetes-int-or-string': true },
  'x-y': { type: 'string' },
  namespace: { type: 'string' },
  labels: { type: 'object', additionalProperties: { type: 'string' } },
  ports: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: {
      type: 'object',
      properties: { name: { type: 'string' }, port: int([{ rule: 'self >= oldSelf', message: 'ports only rise' }]) },
    },
  },
  numbers: { type: 'array', items: { type: 'integer' } },
};

function definition(specRules: readonly Part[], more: { readonly root?: readonly Part[]; readonly fields?: Part } = {}): ObjectDraft {
  const spec = { type: 'object', properties: { ...FIELDS, ...more.fields }, 'x-kubernetes-validations': specRules };
  const openAPIV3Schema = {
    type: 'object',
    properties: { spec },
    ...(more.root === undefined ? {} : { 'x-kubernetes-validations': more.root }),
  };
  const names = { plural: 'widgets', kind: 'Widget' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

const widget = (spec: Part): ObjectDraft => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' }, spec });

async function define(...given: Parameters<typeof definition>) {
  stage = await setStage();
  const created = await stage.client.call('POST', DEFINITIONS, definition(...given));
  stage.clock.advance(1_000);
  return created;
}

const create = (spec: Part) => stage.client.call('POST', PATH, widget(spec));
const replace = (spec: Part) => stage.client.call('PUT', `${PATH}/one`, widget(spec));

describe('a rule of a custom kind', () => {
  it.each([
    { rule: 'self.replicas >= self.min', good: { replicas: 2, min: 1 }, bad: { replicas: 1, min: 2 } },
    { rule: '!has(self.min) || self.min > 0', good: {}, bad: { min: 0 } },
    { rule: 'self.ratio > 0.5 && self.ratio < 2.0', good: { ratio: 1 }, bad: { ratio: 0.25 } },
    { rule: "self.name.matches('^[a-z]+$') && self.name.find('[a-z]') == 'o'", good: { name: 'one' }, bad: { name: 'One' } },
    {
      rule: "self.until > timestamp('2026-01-01T00:00:00Z')",
      good: { until: '2026-02-01T00:00:00Z' },
      bad: { until: '2025-02-01T00:00:00Z' },
    },
    { rule: "self.grace <= duration('1h')", good: { grace: '30m' }, bad: { grace: '2h' } },
    { rule: "type(self.size) == string ? self.size == '99%' : self.size == 42", good: { size: 42 }, bad: { size: '98%' } },
    {
      rule: "self.x__dash__y == 'a' && self.__namespace__ == 'b'",
      good: { 'x-y': 'a', namespace: 'b' },
      bad: { 'x-y': 'a', namespace: 'c' },
    },
    { rule: "self.labels.all(k, k.startsWith('a') && self.labels[k] != '')", good: { labels: { ab: 'x' } }, bad: { labels: { ab: '' } } },
    { rule: "self.ports.exists_one(p, p.name == 'web')", good: { ports: [{ name: 'web' }] }, bad: { ports: [{ name: 'db' }] } },
    {
      rule: 'self.numbers.isSorted() && self.numbers.sum() == 6 && self.numbers.max() == 3',
      good: { numbers: [1, 2, 3] },
      bad: { numbers: [3, 2, 1] },
    },
    { rule: 'self.?min.orValue(3) == 3', good: {}, bad: { min: 4 } },
  ])('$rule', async ({ rule, good, bad }) => {
    expect((await define([{ rule }])).status).toBe(201);
    const refused = await create(bad);
    expect([refused.status, refused.body['message']]).toEqual([
      422,
      `Widget.example.com "one" is invalid: spec: Invalid value: failed rule: ${rule}`,
    ]);
    expect((await create(good)).status).toBe(201);
  });

  it('has its message, its reason and its field in the refusal; a message may be an expression', async () => {
    await define([
      { rule: 'self.replicas < 10', message: 'at most nine', fieldPath: '.replicas', reason: 'FieldValueForbidden' },
      { rule: 'has(self.name)', message: 'a name is needed', fieldPath: '.name', reason: 'FieldValueRequired' },
      { rule: 'self.replicas > 20', messageExpression: "'%d are too few for %s'.format([self.replicas, 'it'])", message: 'unused' },
      { rule: 'self.replicas > 30', messageExpression: 'self.nothing', message: 'the message after all' },
    ]);
    const { body } = await create({ replicas: 12 });
    expect(body['details']?.['causes']).toEqual([
      { reason: 'FieldValueForbidden', message: 'Forbidden: at most nine', field: 'spec.replicas' },
      { reason: 'FieldValueRequired', message: 'Required value: a name is needed', field: 'spec.name' },
      { reason: 'FieldValueInvalid', message: 'Invalid value: 12 are too few for it', field: 'spec' },
      { reason: 'FieldValueInvalid', message: 'Invalid value: the message after all', field: 'spec' },
    ]);
  });

  it('names the value of a number, and the whole object as nil', async () => {
    const root = [{ rule: "self.metadata.name != 'one'", message: 'not this name' }];
    await define([], { root, fields: { replicas: int([{ rule: 'self != 7' }]) } });
    const { body } = await create({ replicas: 7 });
    expect(body['message']).toBe(
      'Widget.example.com "one" is invalid: [<nil>: Invalid value: not this name, spec.replicas: Invalid value: 7: failed rule: self != 7]',
    );
  });

  it('about the old value runs for changes only, also of the item with the same key; with optionalOldSelf always', async () => {
    const optional = { rule: 'oldSelf.hasValue() || self.replicas == 1', optionalOldSelf: true, message: 'begins with one' };
    await define([{ rule: 'self.replicas >= oldSelf.replicas', message: 'only rises' }, optional]);
    expect((await create({ replicas: 2 })).body['message']).toContain('begins with one');
    expect((await create({ replicas: 1, ports: [{ name: 'web', port: 80 }] })).status).toBe(201);
    expect(
      (
        await replace({
          replicas: 5,
          ports: [
            { name: 'db', port: 1 },
            { name: 'web', port: 81 },
          ],
        })
      ).status,
    ).toBe(200);
    expect((await replace({ replicas: 4 })).body['message']).toContain('spec: Invalid value: only rises');
    expect((await replace({ replicas: 5, ports: [{ name: 'web', port: 80 }] })).body['message']).toContain(
      'spec.ports[0].port: Invalid value: 80: ports only rise',
    );
  });

  it('does not hold up a change beside a value that broke it before', async () => {
    await define([], { fields: { name: { type: 'string' } } });
    await create({ name: 'Bad', min: 1 });
    const strict = definition([], { fields: { name: { type: 'string', 'x-kubernetes-validations': [{ rule: "self != 'Bad'" }] } } });
    stage.cluster.apply(strict);
    stage.clock.advance(1_000);
    expect((await replace({ name: 'Bad', min: 2 })).status).toBe(200);
    expect((await replace({ name: 'Good', min: 2 })).status).toBe(200);
    expect((await replace({ name: 'Bad', min: 2 })).body['message']).toContain(
      `spec.name: Invalid value: "Bad": failed rule: self != 'Bad'`,
    );
  });

  it.each([
    { rule: 'self.min > 1', spec: {}, why: 'no such key: min' },
    { rule: 'self.numbers[2] > 1', spec: { numbers: [1] }, why: 'index out of bounds: 2' },
  ])('that has no result is refused with the reason: $why', async ({ rule, spec, why }) => {
    await define([{ rule }]);
    const { body } = await create(spec);
    expect(body['message']).toBe(`Widget.example.com "one" is invalid: spec: Invalid value: "object": ${why} evaluating rule: ${rule}`);
  });

  it.each([
    {
      what: 'a rule that is no expression',
      rule: { rule: 'self.replicas >' },
      words: 'spec].x-kubernetes-validations[0].rule: Invalid value:',
    },
    { what: 'an unknown function', rule: { rule: 'nothing(self)' }, words: 'compilation failed' },
    { what: 'an unknown variable', rule: { rule: 'other.x == 1' }, words: 'compilation failed' },
    { what: 'no rule', rule: { message: 'x' }, words: '.rule: Required value: rule is not specified' },
    {
      what: 'a message that is no expression',
      rule: { rule: 'true', messageExpression: "'a" },
      words: 'messageExpression compilation failed',
    },
  ])('is refused with its definition: $what', async ({ rule, words }) => {
    const refused = await define([rule]);
    expect([refused.status, refused.body['message']]).toEqual([422, expect.stringContaining(words)]);
  });

  it('with a library that is missing here is not evaluated, which a warning says', async () => {
    const created = await define([{ rule: "quantity('1').isLessThan(quantity(self.name))" }]);
    expect(String(created.headers['warning'])).toContain('it lacks the function quantity');
    expect((await create({ name: '0' })).status).toBe(201);
  });
});
