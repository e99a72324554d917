/** The fields of built-in kinds: unknown ones are dropped, warned of or refused, and OpenAPI shows them. Words recorded from Kubernetes 1.35. */
import { beforeEach, describe, expect, it } from 'vitest';
import { builtInSchema } from '../../../../simulator/cluster/schemas/schema.ts';
import { RESOURCE_TYPES } from '../../../../simulator/cluster/store/resource-types.ts';
import { schemaTable, type OpenApiDocument } from '../../../../../test/e2e/schema-table.ts';
import { aDeployment, MAPS, setStage, type Stage } from '../stage.ts';

let stage: Stage;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const DEEP = aDeployment('deep', 1, { spec: { foo: 1 } });
const MAP = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', foo: 1 }, data: {}, bar: { x: 1 } };

describe('unknown fields of a built-in kind', () => {
  beforeEach(async () => {
    stage = await setStage();
  });

  it.each<readonly [string, number, string | undefined]>([
    ['', 201, '299 - "unknown field \\"metadata.foo\\"", 299 - "unknown field \\"bar\\""'],
    ['?fieldValidation=Ignore', 201, undefined],
  ])('are dropped, created with "%s"', async (query, status, warning) => {
    const created = await stage.client.call('POST', `${MAPS}${query}`, MAP);
    expect([created.status, created.headers['warning'], created.body['bar'], created.body['metadata']?.['foo']]).toEqual([
      status,
      warning,
      undefined,
      undefined,
    ]);
  });

  it.each<readonly [string, string, unknown, string]>([
    [
      'POST',
      `${MAPS}?fieldValidation=Strict`,
      MAP,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.foo", unknown field "bar"',
    ],
    [
      'POST',
      `${DEPLOYMENTS}?fieldValidation=Strict`,
      DEEP,
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.foo"',
    ],
  ])('refuse a strict %s', async (_, path, body, message) => {
    expect(await stage.client.call('POST', path, body)).toMatchObject({ status: 400, body: { reason: 'BadRequest', message } });
  });

  it.each([
    [
      'application/merge-patch+json',
      /^ "" is invalid: patch: Invalid value: ".*\\"foo\\":1.*": strict decoding error: unknown field "spec.foo"$/,
    ],
    [
      'application/strategic-merge-patch+json',
      /^ "" is invalid: patch: Invalid value: "map\[spec:map\[foo:1\]\]": strict decoding error: unknown field "spec.foo"$/,
    ],
  ])('refuse a strict patch of type %s', async (contentType, message) => {
    await stage.client.call('POST', DEPLOYMENTS, aDeployment('web', 1));
    const body = { spec: { foo: 1 } };
    const refused = await stage.client.call('PATCH', `${DEPLOYMENTS}/web?fieldValidation=Strict`, body, { contentType });
    expect([refused.status, refused.body['message']]).toEqual([422, expect.stringMatching(message)]);
    const patched = await stage.client.call('PATCH', `${DEPLOYMENTS}/web`, body, { contentType });
    expect([patched.status, patched.headers['warning']]).toEqual([200, '299 - "unknown field \\"spec.foo\\""']);
  });

  it('are not decided by another word', async () => {
    const refused = await stage.client.call('POST', `${MAPS}?fieldValidation=Nope`, MAP);
    expect(refused).toMatchObject({
      status: 422,
      body: {
        message:
          'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Nope": supported values: "", "Ignore", "Strict", "Warn"',
      },
    });
  });

  it('OpenAPI has fields, merge keys and list types, in both forms', async () => {
    const three = JSON.stringify((await stage.client.call('GET', '/openapi/v3/apis/apps/v1')).body);
    expect(three).toContain('"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"');
    const two = (await stage.client.call('GET', '/openapi/v2')).body;
    expect(two['definitions']?.['io.k8s.api.core.v1.Taint']).toMatchObject({
      required: ['effect', 'key'],
      properties: { key: { type: 'string' } },
    });
    expect(JSON.stringify(two)).not.toContain('#/components/');
  });
});

describe('the table of built-in kinds', () => {
  it('has every kind that Kubernetes itself has', () => {
    const missing = RESOURCE_TYPES.filter((type) => type.group !== 'autoscaling.x-k8s.io' && builtInSchema(type) === undefined);
    expect(missing.map(({ kind }) => kind)).toEqual([]);
  });

  it('is read back as it was written', () => {
    const container = builtInSchema({ group: '', version: 'v1', kind: 'Pod' })?.fields.get('spec')?.schema;
    const fields = container?.kind === 'struct' ? container.fields : new Map();
    expect(fields.get('containers')).toMatchObject({
      required: true,
      patch: { mergeKey: 'name' },
      schema: { kind: 'list', keys: ['name'] },
    });
    expect(fields.get('nodeSelector')?.schema).toMatchObject({ kind: 'map', atomic: true });
    expect(fields.get('tolerations')?.schema).toMatchObject({ kind: 'list', keys: [], set: false });
  });

  it('is made from the OpenAPI documents of a real server', () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const document: OpenApiDocument = {
      components: {
        schemas: {
          'io.k8s.api.core.v1.ConfigMap': {
            properties: {
              metadata: { allOf: [ref('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')], default: {} },
              data: { type: 'object', additionalProperties: { type: 'string' } },
              binaryData: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
              immutable: { type: 'boolean' },
            },
            'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'ConfigMap' }],
          },
          'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': {
            required: ['name'],
            properties: {
              name: { type: 'string', default: 'x' },
              owners: {
                type: 'array',
                items: { type: 'string' },
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['a', 'b'],
                'x-kubernetes-patch-merge-key': 'a',
                'x-kubernetes-patch-strategy': 'merge,retainKeys',
              },
              finalizers: {
                type: 'array',
                items: { type: 'string' },
                'x-kubernetes-list-type': 'set',
                'x-kubernetes-patch-strategy': 'merge',
              },
              at: ref('io.k8s.apimachinery.pkg.apis.meta.v1.Time'),
              generation: { type: 'integer', format: 'int64' },
            },
          },
          'io.k8s.api.core.v1.Unused': { properties: {} },
        },
      },
    };
    expect(schemaTable([document]).split('\n')).toEqual([
      'core.v1.ConfigMap@/v1/ConfigMap: metadata=meta.v1.ObjectMeta~ data={s} binaryData={s}! immutable=b',
      'meta.v1.ObjectMeta: name*=s:"x" owners=[s]%a,b^a$ finalizers=[s]=^ at=t generation=I',
    ]);
  });
});
