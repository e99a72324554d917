/** CustomResourceDefinitions over HTTP: served, checked, printed, scaled and gone. The words were recorded from Kubernetes 1.35. */
import { beforeEach, describe, expect, it } from 'vitest';
import { setStage, type Stage } from '../stage.ts';
import { aDefinition, aWidget, DEFINITIONS_PATH, WIDGETS_PATH } from './widget.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage();
});

const MERGE = { contentType: 'application/merge-patch+json' };

async function define(definition: unknown = aDefinition()): Promise<void> {
  const created = await stage.client.call('POST', DEFINITIONS_PATH, definition);
  expect(created.status).toBe(201);
  stage.clock.advance(1_000);
}

async function widgetStage(definition?: unknown): Promise<void> {
  await define(definition);
}

describe('a definition', () => {
  it('is established, and its kind is served from then on', async () => {
    expect((await stage.client.call('GET', WIDGETS_PATH)).status).toBe(404);
    await define();
    const { body } = await stage.client.call('GET', `${DEFINITIONS_PATH}/widgets.example.com`);
    expect(body).toMatchObject({
      spec: { names: { listKind: 'WidgetList' }, conversion: { strategy: 'None' } },
      status: {
        conditions: [
          { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
          { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' },
        ],
        acceptedNames: { plural: 'widgets', listKind: 'WidgetList' },
        storedVersions: ['v1'],
      },
    });
    expect(await stage.client.call('GET', WIDGETS_PATH)).toMatchObject({ status: 200, body: { kind: 'WidgetList', items: [] } });
  });

  it('is in discovery and in OpenAPI with its descriptions', async () => {
    await widgetStage();
    const { body } = await stage.client.call('GET', '/apis/example.com/v1');
    expect(body).toMatchObject({
      resources: [
        { name: 'widgets', singularName: 'widget', kind: 'Widget', shortNames: ['wd'], categories: ['all'] },
        { name: 'widgets/status' },
        { name: 'widgets/scale', group: 'autoscaling', kind: 'Scale' },
      ],
    });
    expect((await stage.client.call('GET', '/apis/example.com')).body).toMatchObject({ preferredVersion: { version: 'v1' } });
    const openApi = (await stage.client.call('GET', '/openapi/v3/apis/example.com/v1')).body;
    expect(JSON.stringify(openApi)).toContain('How large it is.');
  });

  it('with the names of another kind is not established', async () => {
    await widgetStage();
    const names = { plural: 'gadgets', singular: 'widget', kind: 'Widget' };
    await define(aDefinition({}, { names }, 'gadgets.example.com'));
    expect((await stage.client.call('GET', `${DEFINITIONS_PATH}/gadgets.example.com`)).body).toMatchObject({
      status: {
        conditions: [
          { type: 'NamesAccepted', status: 'False', reason: 'ListKindConflict', message: '"WidgetList" is already in use' },
          { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
        ],
        acceptedNames: { plural: 'gadgets', kind: '' },
      },
    });
    expect((await stage.client.call('GET', '/apis/example.com/v1/gadgets')).status).toBe(404);
  });

  it('takes its objects with it', async () => {
    await widgetStage();
    await stage.client.call('POST', WIDGETS_PATH, aWidget('one', { size: 1 }));
    expect((await stage.client.call('DELETE', `${DEFINITIONS_PATH}/widgets.example.com`)).status).toBe(200);
    expect((await stage.client.call('GET', `${WIDGETS_PATH}/one`)).status).toBe(404);
    await define();
    expect((await stage.client.call('GET', WIDGETS_PATH)).body).toMatchObject({ items: [] });
  });

  it('with rules that are not evaluated has a warning, and so has each use of a deprecated version', async () => {
    const spec = { type: 'object', 'x-kubernetes-validations': [{ rule: "isQuantity('1')" }] };
    const created = await stage.client.call(
      'POST',
      DEFINITIONS_PATH,
      aDefinition({ deprecated: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } }),
    );
    const rule = String.raw`\"isQuantity('1')\"`;
    expect(created.headers['warning']).toBe(
      `299 - "the simulated cluster does not evaluate the rule ${rule}: it lacks the function isQuantity"`,
    );
    stage.clock.advance(1_000);
    expect((await stage.client.call('GET', WIDGETS_PATH)).headers['warning']).toBe('299 - "example.com/v1 Widget is deprecated"');
  });

  it.each<readonly [string, unknown, string]>([
    [
      'another name',
      aDefinition({}, {}, 'wrong.example.com'),
      'metadata.name: Invalid value: "wrong.example.com": must be spec.names.plural+"."+spec.group',
    ],
    ['no schema', aDefinition({ schema: undefined }), 'spec.versions[0].schema.openAPIV3Schema: Required value'],
    [
      'a field without a type',
      aDefinition({ schema: { openAPIV3Schema: { type: 'object', properties: { spec: { properties: { a: { type: 'string' } } } } } } }),
      'spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields',
    ],
    [
      'a default of another type',
      aDefinition({ schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'string', default: 3 } } } } }),
      'spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: "integer":  in body must be of type string: "integer"',
    ],
    [
      'a protected group',
      aDefinition({}, { group: 'things.k8s.io' }, 'widgets.things.k8s.io'),
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation',
    ],
    ['no version that is stored', aDefinition({ storage: false }), 'must have exactly one version marked as storage version'],
  ])('is refused with %s', async (_, definition, words) => {
    const { status, body } = await stage.client.call('POST', DEFINITIONS_PATH, definition);
    expect([status, body['reason'], body['message']]).toEqual([422, 'Invalid', expect.stringContaining(words)]);
  });
});

describe('an object of a custom kind', () => {
  it('has the defaults of its schema, and its status only by the subresource', async () => {
    await widgetStage();
    const created = await stage.client.call(
      'POST',
      WIDGETS_PATH,
      aWidget('one', { size: 2, parts: [{ id: 'a' }] }, { status: { ready: 1 } }),
    );
    expect(created).toMatchObject({
      status: 201,
      body: { metadata: { generation: 1 }, spec: { size: 2, color: 'red', parts: [{ id: 'a', n: 7 }] } },
    });
    expect(created.body['status']).toBeUndefined();
    await stage.client.call('PATCH', `${WIDGETS_PATH}/one/status`, { status: { ready: 4 } }, MERGE);
    const changed = await stage.client.call('PATCH', `${WIDGETS_PATH}/one`, { spec: { size: 3 }, status: { ready: 9 } }, MERGE);
    expect(changed.body).toMatchObject({ metadata: { generation: 2 }, spec: { size: 3 }, status: { ready: 4 } });
  });

  it.each<readonly [string, string | undefined, number, string | undefined]>([
    ['', '299 - "unknown field \\"spec.foo\\"", 299 - "unknown field \\"top\\""', 201, undefined],
    ['?fieldValidation=Ignore', undefined, 201, undefined],
    [
      '?fieldValidation=Strict',
      undefined,
      400,
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.foo", unknown field "top"',
    ],
  ])('with unknown fields, created with "%s"', async (query, warning, status, message) => {
    await widgetStage();
    const created = await stage.client.call('POST', `${WIDGETS_PATH}${query}`, aWidget('two', { size: 2, foo: 1 }, { top: 1 }));
    expect([created.status, created.headers['warning']]).toEqual([status, warning]);
    if (message !== undefined) expect(created.body['message']).toBe(message);
    else expect(created.body).toMatchObject({ spec: { size: 2, color: 'red' } });
    expect(created.body['top']).toBeUndefined();
  });

  it('is refused by its schema on every way in', async () => {
    await widgetStage();
    const refused = await stage.client.call('POST', WIDGETS_PATH, aWidget('three', {}));
    expect(refused).toMatchObject({
      status: 422,
      body: {
        message: 'Widget.example.com "three" is invalid: spec.size: Required value',
        details: {
          group: 'example.com',
          kind: 'Widget',
          causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec.size' }],
        },
      },
    });
    await stage.client.call('POST', WIDGETS_PATH, aWidget('one', { size: 1 }));
    expect((await stage.client.call('PATCH', `${WIDGETS_PATH}/one`, { spec: { size: 99 } }, MERGE)).status).toBe(422);
    expect((await stage.client.call('PUT', `${WIDGETS_PATH}/one`, aWidget('one', { size: 'x' }))).status).toBe(422);
    expect(() => stage.cluster.apply({ ...aWidget('four', {}), metadata: { name: 'four', namespace: 'default' } })).toThrow(
      'spec.size: Required value',
    );
  });

  it('has no strategic merge patch', async () => {
    await widgetStage();
    await stage.client.call('POST', WIDGETS_PATH, aWidget('one', { size: 1 }));
    const refused = await stage.client.call('PATCH', `${WIDGETS_PATH}/one`, {}, { contentType: 'application/strategic-merge-patch+json' });
    expect([refused.status, refused.body['message']]).toEqual([415, expect.stringContaining('application/merge-patch+json')]);
  });

  it('is scaled by the paths of its definition', async () => {
    await widgetStage();
    await stage.client.call('POST', WIDGETS_PATH, aWidget('one', { size: 3 }));
    const scaled = await stage.client.call('PATCH', `${WIDGETS_PATH}/one/scale`, { spec: { replicas: 5 } }, MERGE);
    expect(scaled).toMatchObject({ status: 200, body: { kind: 'Scale', spec: { replicas: 5 }, status: { replicas: 0 } } });
    expect((await stage.client.call('GET', `${WIDGETS_PATH}/one`)).body).toMatchObject({ spec: { size: 5 } });
  });

  it('is printed with the columns of its definition, watched, and deleted with its owner', async () => {
    await widgetStage();
    const watch = await stage.client.watch(`${WIDGETS_PATH}?watch=true`);
    const owner = await stage.client.call('POST', WIDGETS_PATH, aWidget('owner', { size: 1 }));
    const ownerReferences = [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'owner', uid: owner.body['metadata']?.['uid'] }];
    await stage.client.call('POST', WIDGETS_PATH, { ...aWidget('owned', { size: 2 }), metadata: { name: 'owned', ownerReferences } });
    expect([(await watch.next())?.object['metadata']?.['name'], (await watch.next())?.object['apiVersion']]).toEqual([
      'owner',
      'example.com/v1',
    ]);
    watch.close();
    const table = await stage.client.call('GET', WIDGETS_PATH, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(table.body).toMatchObject({
      columnDefinitions: [{ name: 'Name' }, { name: 'Size' }, { name: 'Age' }],
      rows: [{ cells: ['owned', 2, '0s'] }, { cells: ['owner', 1, '0s'] }],
    });
    await stage.client.call('DELETE', `${WIDGETS_PATH}/owner`);
    stage.clock.advance(60_000);
    expect((await stage.client.call('GET', WIDGETS_PATH)).body).toMatchObject({ items: [] });
  });
});
