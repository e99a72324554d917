/** What `kubectl apply -k` and Helm also need: dry runs, roles and their bindings, secrets. */
import { beforeEach, describe, expect, it } from 'vitest';
import { aBudgetDraft, aDeployment, aMap, aMachine, MAPS, setStage, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage();
});

/** All objects with their versions. */
const stored = (): string =>
  JSON.stringify(['configmaps', 'deployments', 'poddisruptionbudgets', 'pods'].map((kind) => stage.cluster.store.list(kind)));

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ROLES = `${RBAC}/namespaces/default/roles`;
const BINDINGS = `${RBAC}/namespaces/default/rolebindings`;

function binding(roleRef: Readonly<Record<string, string>>, subjects: readonly unknown[] = []): Readonly<Record<string, unknown>> {
  return { metadata: { name: 'b' }, roleRef, subjects };
}

describe('dryRun=All', () => {
  it('answers as the write would be answered, and nothing is written', async () => {
    stage = await setStage([aMachine('usr-1')]);
    const { client } = stage;
    await client.call('POST', MAPS, aMap('a'));
    const version = stored();
    const merge = { contentType: 'application/merge-patch+json' };
    const rehearsed = [
      await client.call('POST', `${MAPS}?dryRun=All`, aMap('b')),
      await client.call('PATCH', `${MAPS}/a?dryRun=All`, { data: { x: 'y' } }, merge),
      await client.call('PUT', `${MAPS}/a?dryRun=All`, { metadata: { name: 'a' }, data: { z: '1' } }),
      await client.call('DELETE', `${MAPS}/a`, { dryRun: ['All'] }),
      await client.call('DELETE', `${MAPS}?dryRun=All`),
      await client.call('POST', '/apis/apps/v1/namespaces/default/deployments?dryRun=All', aDeployment('web', 2)),
    ];
    expect(rehearsed.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 201]);
    expect(rehearsed[0]?.body).toMatchObject({ metadata: { name: 'b', uid: expect.any(String) as string } });
    expect(rehearsed[1]?.body).toMatchObject({ data: { x: 'y' } });
    expect(rehearsed[5]?.body).toMatchObject({ spec: { replicas: 2, strategy: { type: 'RollingUpdate' } } });
    expect(stored()).toBe(version);
    expect((await client.call('GET', `${MAPS}/b`)).status).toBe(404);
  });

  it('refuses what the write would be refused for, and any other value', async () => {
    const { client } = stage;
    await client.call('POST', MAPS, aMap('a'));
    expect((await client.call('POST', `${MAPS}?dryRun=All`, aMap('a'))).status).toBe(409);
    expect((await client.call('POST', `${MAPS}?dryRun=All`, aMap('Bad_Name'))).status).toBe(422);
    const other = await client.call('POST', `${MAPS}?dryRun=true`, aMap('c'));
    expect(other).toMatchObject({ status: 422, body: { reason: 'Invalid', message: expect.stringContaining('"All"') as string } });
    expect((await client.call('GET', `${MAPS}/c`)).status).toBe(404);
  });

  it('of an eviction spends nothing of a budget', async () => {
    stage = await setStage([aMachine('usr-1')]);
    const { client, cluster } = stage;
    cluster.apply(aDeployment('api', 2));
    cluster.apply(aBudgetDraft('api', { maxUnavailable: 1, selector: { matchLabels: { app: 'api' } } }));
    stage.clock.advance(60_000);
    const pod = cluster.store.pods().find(({ metadata }) => metadata.labels?.['app'] === 'api');
    const path = `/api/v1/namespaces/default/pods/${pod?.metadata.name ?? ''}/eviction`;
    const before = stored();
    expect((await client.call('POST', `${path}?dryRun=All`, { metadata: { name: pod?.metadata.name } })).status).toBe(201);
    expect((await client.call('POST', path, { metadata: {}, deleteOptions: { dryRun: ['All'] } })).status).toBe(201);
    expect(stored()).toBe(before);
  });
});

describe('roles and bindings', () => {
  it('are kept, with the groups that a server fills in, and shown', async () => {
    const { client } = stage;
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
    expect((await client.call('POST', `${RBAC}/clusterroles`, { metadata: { name: 'system:Reader' }, rules })).status).toBe(201);
    const made = await client.call(
      'POST',
      BINDINGS,
      binding({ kind: 'ClusterRole', name: 'system:Reader' }, [
        { kind: 'User', name: 'ada' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
      ]),
    );
    expect(made).toMatchObject({
      status: 201,
      body: {
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:Reader' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }, { kind: 'ServiceAccount' }],
      },
    });
    const table = await client.call('GET', BINDINGS, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(JSON.stringify(table.body)).toContain('ClusterRole/system:Reader');
  });

  it.each<[string, string, Readonly<Record<string, unknown>>, string]>([
    ['a rule without verbs', ROLES, { metadata: { name: 'r' }, rules: [{ apiGroups: [''], resources: ['pods'] }] }, 'rules[0].verbs'],
    ['a rule without groups', ROLES, { metadata: { name: 'r' }, rules: [{ resources: ['pods'], verbs: ['get'] }] }, 'rules[0].apiGroups'],
    ['a rule without resources', ROLES, { metadata: { name: 'r' }, rules: [{ apiGroups: [''], verbs: ['get'] }] }, 'rules[0].resources'],
    ['a name that is no part of a path', ROLES, { metadata: { name: 'a/b' }, rules: [] }, 'metadata.name'],
    ['a role of no kind', BINDINGS, binding({ kind: 'Pod', name: 'r' }), 'roleRef.kind'],
    ['a role without a name', BINDINGS, binding({ kind: 'Role' }), 'roleRef.name'],
    [
      'an account of nowhere',
      BINDINGS,
      binding({ kind: 'Role', name: 'r' }, [{ kind: 'ServiceAccount', name: 'x' }]),
      'subjects[0].namespace',
    ],
  ])('%s is refused', async (_what, path, body, field) => {
    const answer = await stage.client.call('POST', path, body);
    expect(answer).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    expect(JSON.stringify(answer.body)).toContain(field);
  });

  it('a binding keeps its role for ever', async () => {
    const { client } = stage;
    await client.call('POST', BINDINGS, binding({ kind: 'Role', name: 'r' }));
    expect((await client.call('PUT', `${BINDINGS}/b`, binding({ kind: 'Role', name: 'other' }))).status).toBe(422);
    expect((await client.call('PUT', `${BINDINGS}/b`, binding({ kind: 'Role', name: 'r' }, [{ kind: 'User', name: 'eve' }]))).status).toBe(
      200,
    );
  });
});

describe('secrets', () => {
  it('keep text as bytes', async () => {
    const path = '/api/v1/namespaces/default/secrets';
    const made = await stage.client.call('POST', path, { metadata: { name: 's' }, data: { a: 'Yg==' }, stringData: { c: 'd' } });
    expect(made.body).toMatchObject({ type: 'Opaque', data: { a: 'Yg==', c: 'ZA==' } });
    expect(made.body).not.toHaveProperty('stringData');
  });
});

it('an idle connection stays open for 90 seconds: a client that is slow to send does not find it closed', async () => {
  expect((await stage.client.call('GET', MAPS)).headers['keep-alive']).toBe('timeout=90');
});
