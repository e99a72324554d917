import { beforeEach, describe, expect, it } from 'vitest';
import { aMap, MAPS, aDeployment, aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage();
});

describe('access', () => {
  it.each(['wrong', ''])('answers 401 to the token "%s"', async (token) => {
    const answer = await stage.client.call('GET', '/api/v1/nodes', undefined, { token });
    expect(answer).toMatchObject({ status: 401, body: { kind: 'Status', status: 'Failure', reason: 'Unauthorized', code: 401 } });
  });

  it('answers permission questions with yes', async () => {
    const answer = await stage.client.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: {} });
    expect(answer).toMatchObject({ status: 201, body: { status: { allowed: true } } });
  });

  it('writes unknown paths loudly to the journal', async () => {
    expect((await stage.client.call('GET', '/apis/example.com/v1/things')).status).toBe(404);
    expect(stage.cluster.journal().at(-1)).toMatchObject({
      url: '/apis/example.com/v1/things',
      status: 404,
      note: expect.stringContaining('UNKNOWN ROUTE') as string,
    });
  });

  it('keeps a journal of who asked for what', async () => {
    await stage.client.call('POST', MAPS, aMap('a'));
    await stage.client.call('GET', '/api/v1/namespaces/default/pods/nobody?x=y');
    await stage.client.call('POST', '/api/v1/namespaces/default/pods/nobody/eviction', {});
    const entries = stage.cluster.journal();
    expect(entries).toMatchObject([
      { seq: 1, method: 'POST', verb: 'create', resource: 'configmaps', namespace: 'default', status: 201, atMs: stage.clock.now() },
      { seq: 2, verb: 'get', resource: 'pods', name: 'nobody', url: '/api/v1/namespaces/default/pods/nobody?x=y', status: 404 },
      { seq: 3, verb: 'create', resource: 'pods/eviction', name: 'nobody', status: 404 },
    ]);
    expect(stage.cluster.pendingRequests()).toBe(0);
  });

  it('answers 400 to a body that is no JSON and 415 to one that does not claim to be', async () => {
    expect((await stage.client.call('POST', MAPS, '{')).status).toBe(400);
    expect((await stage.client.call('POST', MAPS, 'k8s', { contentType: 'application/vnd.kubernetes.protobuf' })).status).toBe(415);
  });

  it('gives a kubeconfig with the CA and the token inline', async () => {
    const config = JSON.parse(stage.cluster.kubeconfig()) as {
      clusters: { cluster: Record<string, string> }[];
      users: { user: { token: string } }[];
    };
    expect(config.clusters[0]?.cluster['server']).toBe(stage.cluster.url);
    expect(Buffer.from(config.clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64').toString()).toContain(
      'BEGIN CERTIFICATE',
    );
    expect(config.users[0]?.user.token).toBe('test-token');
  });
});

describe('discovery', () => {
  it('lists groups and resources with their subresources', async () => {
    const groups = await stage.client.call('GET', '/apis');
    expect(JSON.stringify(groups.body['groups'])).toContain('"policy/v1"');
    const core = await stage.client.call('GET', '/api/v1');
    const names = (core.body['resources'] as unknown as { name: string }[]).map((resource) => resource.name);
    expect(names).toEqual(expect.arrayContaining(['pods', 'pods/eviction', 'pods/binding', 'nodes', 'nodes/status', 'events']));
  });

  it('aggregates when asked to', async () => {
    const answer = await stage.client.call('GET', '/apis', undefined, {
      accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    });
    expect(answer.body['kind']).toBe('APIGroupDiscoveryList');
    expect(answer.headers['content-type']).toContain('as=APIGroupDiscoveryList');
  });

  it('says in OpenAPI that the server validates fields', async () => {
    const answer = await stage.client.call('GET', '/openapi/v3/apis/apps/v1');
    const patch = answer.body['paths']?.['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']?.['patch'];
    expect(JSON.stringify(patch)).toContain('fieldValidation');
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({ group: 'apps', version: 'v1', kind: 'Deployment' });
  });
});

function tokenOf(list: unknown): string {
  const { metadata } = list as { readonly metadata: { readonly continue: string } };
  return encodeURIComponent(metadata.continue);
}

describe('lists', () => {
  async function fill(count: number): Promise<void> {
    for (let index = 0; index < count; index++)
      await stage.client.call('POST', MAPS, aMap(`m${index}`, { parity: index % 2 === 0 ? 'even' : 'odd' }));
  }
  const namesOf = (body: { readonly [key: string]: unknown }): string[] =>
    (body['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name);

  it('pages over one consistent picture', async () => {
    await fill(5);
    const first = await stage.client.call('GET', `${MAPS}?limit=2`);
    expect(first.body['metadata']).toMatchObject({ remainingItemCount: 3 });
    await stage.client.call('POST', MAPS, aMap('late'));
    await stage.client.call('DELETE', `${MAPS}/m4`);
    const token = tokenOf(first.body);
    const second = await stage.client.call('GET', `${MAPS}?limit=9&continue=${token}`);
    expect([...namesOf(first.body), ...namesOf(second.body)]).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
    expect(second.body['metadata']?.['resourceVersion']).toBe(first.body['metadata']?.['resourceVersion']);
    expect(second.body['metadata']?.['continue']).toBeUndefined();
  });

  it('answers 410 to a page token from before a compaction', async () => {
    await fill(3);
    const first = await stage.client.call('GET', `${MAPS}?limit=1`);
    stage.cluster.control.compact();
    const token = tokenOf(first.body);
    expect(await stage.client.call('GET', `${MAPS}?limit=1&continue=${token}`)).toMatchObject({
      status: 410,
      body: { reason: 'Expired', code: 410 },
    });
  });

  it('selects by labels and fields, in one namespace or all', async () => {
    await fill(4);
    expect(namesOf((await stage.client.call('GET', `${MAPS}?labelSelector=parity%3Dodd`)).body)).toEqual(['m1', 'm3']);
    expect(namesOf((await stage.client.call('GET', `/api/v1/configmaps?fieldSelector=metadata.name%3Dcoredns`)).body)).toEqual(['coredns']);
    expect((await stage.client.call('GET', `${MAPS}?fieldSelector=data.x%3Dy`)).status).toBe(400);
  });

  it('answers 504 to a version of the future', async () => {
    const answer = await stage.client.call('GET', `${MAPS}?resourceVersion=${stage.cluster.resourceVersion() + 10}`);
    expect(answer).toMatchObject({
      status: 504,
      body: { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    });
  });

  it('prints tables', async () => {
    stage = await setStage([aMachine('n1')]);
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const answer = await stage.client.call('GET', '/api/v1/nodes', undefined, { accept });
    expect(answer.body['kind']).toBe('Table');
    expect((answer.body['columnDefinitions'] as unknown as { name: string }[]).slice(0, 5).map((column) => column.name)).toEqual([
      'Name',
      'Status',
      'Roles',
      'Age',
      'Version',
    ]);
    expect((answer.body['rows'] as unknown as { cells: string[] }[])[0]?.cells.slice(0, 5)).toEqual([
      'n1',
      'Ready',
      '<none>',
      '60m',
      'v1.33.2',
    ]);
  });

  it('deletes what a selector selects', async () => {
    await fill(4);
    await stage.client.call('DELETE', `${MAPS}?labelSelector=parity%3Deven`);
    expect(namesOf((await stage.client.call('GET', MAPS)).body)).toEqual(['m1', 'm3']);
  });
});

describe('writes', () => {
  it('patches in three ways and refuses an unknown one', async () => {
    await stage.client.call('POST', MAPS, aMap('a'));
    const patch = (contentType: string, body: unknown): Promise<{ status: number; body: unknown }> =>
      stage.client.call('PATCH', `${MAPS}/a`, body, { contentType });
    expect(await patch('application/merge-patch+json', { data: { a: '1' } })).toMatchObject({ status: 200, body: { data: { a: '1' } } });
    expect(await patch('application/strategic-merge-patch+json', { data: { b: '2' } })).toMatchObject({
      status: 200,
      body: { data: { a: '1', b: '2' } },
    });
    expect(await patch('application/json-patch+json', [{ op: 'remove', path: '/data/a' }])).toMatchObject({
      status: 200,
      body: { data: { b: '2' } },
    });
    expect(await patch('application/unknown-patch+json', { data: {} })).toMatchObject({
      status: 415,
      body: { reason: 'UnsupportedMediaType' },
    });
  });

  it('meets a conflict when a patch carries an old version', async () => {
    await stage.client.call('POST', MAPS, aMap('a'));
    const patch = { metadata: { resourceVersion: '1' }, data: { a: '1' } };
    const answer = await stage.client.call('PATCH', `${MAPS}/a`, patch, { contentType: 'application/merge-patch+json' });
    expect(answer).toMatchObject({ status: 409, body: { reason: 'Conflict', details: { name: 'a', kind: 'configmaps' } } });
  });

  it('scales by the subresource', async () => {
    stage.cluster.apply(aDeployment('web', 2));
    const path = '/apis/apps/v1/namespaces/default/deployments/web/scale';
    expect((await stage.client.call('GET', path)).body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 2 },
    });
    const merge = { contentType: 'application/merge-patch+json' };
    expect((await stage.client.call('PATCH', path, { spec: { replicas: 5 } }, merge)).status).toBe(200);
    expect(stage.cluster.store.get('deployments', 'default', 'web')?.spec).toMatchObject({ replicas: 5 });
    expect((await stage.client.call('PATCH', path, { spec: { replicas: -1 } }, merge)).status).toBe(422);
  });

  it('writes status through its subresource only', async () => {
    stage.cluster.apply(aPodDraft('p', { spec: { nodeSelector: { no: 'where' } } }));
    const merge = { contentType: 'application/merge-patch+json' };
    const path = '/api/v1/namespaces/default/pods/p';
    expect((await stage.client.call('PATCH', path, { status: { phase: 'Failed' } }, merge)).body).toMatchObject({
      status: { phase: 'Pending' },
    });
    expect((await stage.client.call('PATCH', `${path}/status`, { status: { phase: 'Failed' } }, merge)).body).toMatchObject({
      status: { phase: 'Failed' },
    });
  });

  it('takes a null field as an absent one', async () => {
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b', labels: null },
      spec: { minAvailable: 1, selector: null },
    };
    const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    expect((await stage.client.call('POST', path, budget)).body).toMatchObject({ spec: { minAvailable: 1 } });
    stage.clock.advance(0);
    expect(stage.cluster.store.get('poddisruptionbudgets', 'default', 'b')).toMatchObject({
      spec: { minAvailable: 1 },
      status: { expectedPods: 0 },
    });
  });

  it('refuses a node whose resources are no quantities', async () => {
    stage = await setStage([aMachine('n1')]);
    const patch = { status: { allocatable: { cpu: 'many' } } };
    const answer = await stage.client.call('PATCH', '/api/v1/nodes/n1/status', patch, { contentType: 'application/merge-patch+json' });
    expect(answer).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
  });

  it('shows one event in two API groups', async () => {
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'default' },
      regarding: { kind: 'Pod', name: 'p' },
      note: 'hello',
      reason: 'Test',
      type: 'Normal',
      reportingController: 'me',
    };
    await stage.client.call('POST', '/apis/events.k8s.io/v1/namespaces/default/events', event);
    expect((await stage.client.call('GET', '/api/v1/namespaces/default/events/e')).body).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { name: 'p' },
      message: 'hello',
      reportingComponent: 'me',
    });
    expect((await stage.client.call('GET', '/apis/events.k8s.io/v1/namespaces/default/events/e')).body).toMatchObject(event);
    const listed = await stage.client.call('GET', '/api/v1/events?fieldSelector=involvedObject.name%3Dp');
    expect(listed.body['items']).toHaveLength(1);
  });
});

describe('faults', () => {
  it('fails the next requests that match, and no others', async () => {
    stage.cluster.control.failNext(2, 500, { resource: 'configmaps', verb: 'list' });
    const statuses = [];
    for (const path of [MAPS, '/api/v1/nodes', MAPS, MAPS]) statuses.push((await stage.client.call('GET', path)).status);
    expect(statuses).toEqual([500, 200, 500, 200]);
  });

  it('becomes unreachable and reachable again', async () => {
    const watch = await stage.client.watch(`${MAPS}?watch=true`);
    stage.cluster.control.pause();
    await expect(watch.next()).rejects.toThrow();
    await expect(stage.client.call('GET', MAPS)).rejects.toThrow();
    stage.cluster.control.resume();
    expect((await stage.client.call('GET', MAPS)).status).toBe(200);
  });
});
