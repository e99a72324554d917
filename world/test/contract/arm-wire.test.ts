/** The wire in detail: headers, refusals word by word, operations over time, pages, budgets, and what the AKS provider refuses. */
import { describe, expect, it } from 'vitest';
import {
  MINUTE,
  RG,
  VERSION,
  aPool,
  aWorld,
  operationOf,
  poolPath,
  scale,
  setPath,
  sharedRig,
  startRig,
  stateOf,
  type Answer,
  type Rig,
} from '../simulator/arm/harness.ts';

describe('every answer', () => {
  const rig = sharedRig(aWorld([aPool('a')]));

  it('leaves its connection open for four idle minutes: a client in virtual time may be slow', async () => {
    const read = await rig().call('GET', `${setPath(rig(), 'a')}?${VERSION}`);
    expect(read.headers['keep-alive']).toBe('timeout=240');
  });

  it('carries the headers of ARM, the ids of the client among them', async () => {
    const headers = {
      'x-ms-client-request-id': 'mine',
      'x-ms-return-client-request-id': 'true',
      'x-ms-correlation-request-id': '11111111-0000-4000-a000-000000000000',
    };
    const read = await rig().call('GET', `${setPath(rig(), 'a')}?${VERSION}`, { headers });
    expect(read.headers).toMatchObject({
      'cache-control': 'no-cache',
      pragma: 'no-cache',
      expires: '-1',
      'content-type': 'application/json; charset=utf-8',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-cache': 'CONFIG_NOCACHE',
      'x-ms-client-request-id': 'mine',
      'x-ms-correlation-request-id': headers['x-ms-correlation-request-id'],
      etag: '"1"',
    });
    const guid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
    expect(read.headers['x-ms-request-id']).toMatch(new RegExp(`^${guid}$`));
    expect(read.headers['x-ms-routing-request-id']).toMatch(new RegExp(`^WESTEUROPE:\\d{8}T\\d{6}Z:${guid}$`));
    expect(read.headers['x-ms-operation-identifier']).toMatch(new RegExp(`^tenantId=${guid},objectId=${guid}/westeurope/${guid}$`));
    expect(read.headers['x-msedge-ref']).toMatch(/^Ref A: [0-9A-F]{32} Ref B: \S+ Ref C: \d{4}-\d\d-\d\dT[\d:]+Z$/);
    const silent = await rig().call('GET', `${setPath(rig(), 'a')}?${VERSION}`, { headers: { 'x-ms-client-request-id': 'mine' } });
    expect(silent.headers['x-ms-client-request-id']).toBeUndefined();
  });

  it('an empty one has a length of 0 and no type; a list has no tag of its own, its items have', async () => {
    const started = await rig().call('POST', `${setPath(rig(), 'a', '/start')}?${VERSION}`);
    expect([started.status, started.headers['content-length'], started.headers['content-type']]).toEqual([202, '0', undefined]);
    const list = await rig().call('GET', `${setPath(rig(), 'a').replace(/\/[^/]+$/, '')}?${VERSION}`);
    expect(list.headers['etag']).toBeUndefined();
    expect(list.json).toMatchObject({ value: [{ etag: '"1"' }] });
    expect(list.json).not.toHaveProperty('nextLink');
  });

  it('a query may be encoded', async () => {
    const read = await rig().call('GET', `${setPath(rig(), 'a', '/virtualMachines')}?${VERSION}&%24expand=instanceView`);
    expect(read.text).toContain('PowerState/running');
  });

  it.each(['latest', '2025-04-01-beta', ''])('api-version "%s" is refused', async (version) => {
    const refused = await rig().call('GET', `${setPath(rig(), 'a')}?api-version=${version}`);
    expect(refused).toMatchObject({ status: 400, json: { error: { code: 'InvalidApiVersionParameter' } } });
    expect(refused.text).toContain(`The api-version '${version}' is invalid. The supported versions are '`);
    expect(refused.headers['x-ms-failure-cause']).toBe('gateway');
  });

  // github.com/Azure/azure-sdk-for-python/issues/32029
  it.each(['2019-02-28', '2017-08-31', '2014-04-01'])('api-version %s is refused, since Compute never had it', async (version) => {
    const refused = await rig().call('GET', `${setPath(rig(), 'a')}?api-version=${version}`);
    expect(refused).toMatchObject({ status: 400, json: { error: { code: 'NoRegisteredProviderFound' } } });
    const [sentence] = refused.text.split(' The supported');
    expect(sentence).toContain(
      `No registered resource provider found for location '${rig().spec.location}' and API version '${version}' for type 'virtualMachineScaleSets'.`,
    );
    expect(refused.text).toContain("'2015-06-15, 2016-03-30, ");
  });

  it.each(['2017-12-01', '2019-03-01', '2025-04-01', '2026-03-01', '2025-10-02-preview'])('api-version %s is taken', async (version) => {
    expect((await rig().call('GET', `${setPath(rig(), 'a')}?api-version=${version}`)).status).toBe(200);
  });

  it('is in words that clients know', async () => {
    const error = async (path: string): Promise<unknown> => (await rig().call('GET', path)).json['error'];
    const root = `/subscriptions/${rig().spec.subscriptionId}`;
    const compute = 'providers/Microsoft.Compute';
    expect(await error(`${setPath(rig(), 'a')}x?${VERSION}`)).toEqual({
      code: 'ResourceNotFound',
      message:
        `The Resource 'Microsoft.Compute/virtualMachineScaleSets/${rig().set('a')}x' under resource group '${RG}' was not found. ` +
        'For more details please go to https://aka.ms/ARMResourceNotFoundFix',
    });
    expect(await error(`${root}/resourceGroups/none/${compute}/virtualMachineScaleSets?${VERSION}`)).toEqual({
      code: 'ResourceGroupNotFound',
      message: "Resource group 'none' could not be found.",
    });
    expect(await error(`/subscriptions/none/${compute}/skus?${VERSION}`)).toEqual({
      code: 'SubscriptionNotFound',
      message: "The subscription 'none' could not be found.",
    });
    expect(rig().arm.control.journal().at(-1)?.loud).toBeUndefined();
    expect(await error(`${root}/${compute}/galleries?${VERSION}`)).toEqual({
      code: 'InvalidResourceType',
      message: "The resource type 'galleries' could not be found in the namespace 'Microsoft.Compute' for api version '2025-04-01'.",
    });
    expect(rig().arm.control.journal().at(-1)?.loud).toBe('The emulator does not know this route.');
    expect(await error(setPath(rig(), 'a'))).toEqual({
      code: 'MissingApiVersionParameter',
      message: 'The api-version query parameter (?api-version=) is required for all requests.',
    });
    expect(await error(`${setPath(rig(), 'a', '/virtualMachines/99')}?${VERSION}`)).toEqual({
      code: 'NotFound',
      message: 'The entity was not found.',
    });
    const stale = await scale(rig(), 'a', 3, { 'if-match': '"3"' });
    expect(stale.json['error']).toEqual({
      code: 'PreconditionFailed',
      message: 'Etag provided in if-match header "3" does not match etag "1" of resource.',
    });
  });

  it.each([
    { headers: { 'if-match': '"1"', 'if-none-match': '*' }, status: 400 },
    { headers: { 'if-none-match': '"1"' }, status: 400 },
    { headers: { 'if-none-match': '*' }, status: 412 },
    { headers: { 'if-match': '1' }, status: 412 },
    { headers: { 'if-match': '"01"' }, status: 412 },
  ])('a write under $headers answers $status', async ({ headers, status }) => {
    expect((await scale(rig(), 'a', 3, headers)).status).toBe(status);
    expect(stateOf(rig(), 'a')).toMatchObject({ capacity: 2, etag: '"1"' });
  });

  it('a condition on what is not there: 412 for a scale set', async () => {
    const path = `${setPath(rig(), 'a')}new?${VERSION}`;
    const body = { location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 1 } };
    expect((await rig().call('PUT', path, { body, headers: { 'if-match': '*' } })).status).toBe(412);
  });
});

describe('operations over time', () => {
  it('the document has an end only when it has ended, and is remembered for an hour', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { tokenLifetimeSeconds: 1_000_000 } });
    const put = await scale(rig, 'a', 3);
    const running = await operationOf(rig, put);
    expect(running.headers['retry-after']).toBe('10');
    expect(running.json).toMatchObject({ status: 'InProgress' });
    expect(running.json).not.toHaveProperty('endTime');
    expect(running.json).not.toHaveProperty('error');
    expect(String(running.json['startTime'])).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}\+00:00$/);
    rig.clock.advance(10 * MINUTE);
    const done = await operationOf(rig, put);
    expect(done.headers['retry-after']).toBeUndefined();
    expect(Date.parse(String(done.json['endTime']))).toBeGreaterThan(Date.parse(String(done.json['startTime'])));
    rig.clock.advance(45 * MINUTE);
    expect((await operationOf(rig, put)).status).toBe(200);
    rig.clock.advance(20 * MINUTE);
    const forgotten = await operationOf(rig, put);
    expect(forgotten).toMatchObject({ status: 404, json: { error: { code: 'NotFound' } } });
    expect(forgotten.text).toContain('The entity was not found in this Azure location.');
  });

  it('its place to wait answers 202 with where to ask again, then 200 with nothing; a failure has its own status', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const remove = (id: string): Promise<Answer> =>
      rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: [id] } });
    const monitor = (answer: Answer): Promise<Answer> => {
      const url = new URL(String(answer.headers['location']));
      expect(url.href).toMatch(/monitor=true&api-version=2025-04-01/);
      return rig.call('GET', url.pathname + url.search);
    };
    const good = await remove('0');
    const waiting = await monitor(good);
    expect(waiting).toMatchObject({ status: 202, text: '' });
    expect(waiting.headers['location']).toBe(good.headers['location']);
    expect(waiting.headers['retry-after']).toBe('10');
    rig.clock.advance(10 * MINUTE);
    expect(await monitor(good)).toMatchObject({ status: 200, text: '' });
    rig.arm.control.addFault({ id: 'bad', match: {}, effect: { kind: 'removal', how: 'fails' } });
    const bad = await remove('1');
    rig.clock.advance(10 * MINUTE);
    expect(await monitor(bad)).toMatchObject({ status: 500, json: { error: { code: 'InternalExecutionError' } } });
    expect((await operationOf(rig, bad)).json).toMatchObject({
      status: 'Failed',
      error: { code: 'InternalExecutionError', target: '1' },
    });
  });

  it('a deallocation asks to wait longer; a set that goes takes no writes, and is gone in the end', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const stop = await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['0'] } });
    expect(stop.headers['retry-after']).toBe('30');
    const path = setPath(rig, 'a');
    const gone = await rig.call('DELETE', `${path}?${VERSION}`);
    expect(gone).toMatchObject({ status: 202, text: '' });
    expect((await rig.call('GET', `${path}?${VERSION}`)).json).toMatchObject({ properties: { provisioningState: 'Deleting' } });
    const body = { location: 'westeurope', sku: { capacity: 9 } };
    expect(await rig.call('PUT', `${path}?${VERSION}`, { body })).toMatchObject({ status: 409, json: { error: { code: 'Conflict' } } });
    rig.clock.advance(10 * MINUTE);
    expect((await rig.call('GET', `${path}?${VERSION}`)).status).toBe(404);
  });

  it('the tag moves once more at the end when the knob says so', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { etagMovesAtEnd: true } });
    await scale(rig, 'a', 3);
    expect(stateOf(rig, 'a').etag).toBe('"2"');
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'a').etag).toBe('"3"');
  });

  it('ids are used again when the knob says so', async () => {
    const act = async (rig: Rig): Promise<readonly string[]> => {
      await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['0'] } });
      rig.clock.advance(10 * MINUTE);
      await scale(rig, 'a', 2);
      return stateOf(rig, 'a').instances.map(({ id }) => id);
    };
    expect(await act(await startRig(aWorld([aPool('a')])))).toEqual(['1', '2']);
    expect(await act(await startRig(aWorld([aPool('a')]), { knobs: { reuseInstanceIds: true } }))).toEqual(['1', '0']);
  });
});

describe('pages', () => {
  const options = { knobs: { pageSize: 2 } };

  it('the link is absolute, keeps version, expansion and filter, and a wrong token is refused', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 3 })]), options);
    const filter = "startswith(instanceView/statuses/code,'PowerState') eq true";
    const list = `${setPath(rig, 'a', '/virtualMachines')}?${VERSION}`;
    const first = await rig.call('GET', `${list}&$expand=instanceView&$filter=${encodeURIComponent(filter)}`);
    const next = new URL(String(first.json['nextLink']));
    expect(next.origin).toBe(rig.arm.url);
    expect([...next.searchParams.keys()].sort()).toEqual(['$expand', '$filter', '$skiptoken', 'api-version']);
    const second = await rig.call('GET', next.pathname + next.search);
    expect(second.json['value']).toMatchObject([{ instanceId: '2', properties: { instanceView: {} } }]);
    const wrong = await rig.call('GET', `${list}&$skiptoken=nonsense`);
    expect(wrong).toMatchObject({ status: 400, json: { error: { code: 'InvalidParameter', target: '$skiptoken' } } });
  });

  it('a page without items is legal: the clients go on to the rest', async () => {
    const rig = await startRig(aWorld(['a', 'b', 'c'].map((name) => aPool(name))), options);
    rig.arm.control.addFault({ id: 'empty', match: { method: 'GET' }, effect: { kind: 'empty-page' } });
    const sizes: number[] = [];
    for await (const page of rig.compute.virtualMachineScaleSets.list(RG).byPage()) sizes.push(page.length);
    expect(sizes).toEqual([0, 2, 1]);
    const pools = [];
    for await (const pool of rig.aks.agentPools.list('rg', 'aks')) pools.push(pool.name);
    expect(pools).toEqual(['a', 'b', 'c']);
  });
});

describe('budgets, word by word', () => {
  it('Compute says how many of what, and from when to when', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const first = await scale(rig, 'a', 3);
    expect(first.headers['x-ms-request-charge']).toBe('1');
    expect(first.headers['x-ms-ratelimit-remaining-resource']).toBe(
      'Microsoft.Compute/CreateVMScaleSetSubscriptionMaximum;374,Microsoft.Compute/CreateVMScaleSetResource;11,' +
        'Microsoft.Compute/VMScaleSetBatchedVMRequestsSubscriptionMaximum;5999,Microsoft.Compute/VmssQueuedVMOperations;0',
    );
    let refused = first;
    for (let capacity = 4; refused.status !== 429; capacity++) refused = await scale(rig, 'a', capacity);
    const { error } = refused.json as unknown as { error: { details: { message: string }[]; innererror: unknown } };
    expect(error.innererror).toEqual({ internalErrorCode: 'TooManyRequestsReceived' });
    const measured = JSON.parse(error.details[0]?.message ?? '') as Record<string, unknown>;
    expect(measured).toMatchObject({ operationGroup: 'CreateVMScaleSetResource', allowedRequestCount: 12, measuredRequestCount: 13 });
    expect(Date.parse(String(measured['endTime'])) - Date.parse(String(measured['startTime']))).toBe(MINUTE);
  });

  it('reports its rate limits by their older names if configured', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { olderBudgetNames: true } });
    const read = await rig.call('GET', `${setPath(rig, 'a')}?${VERSION}`);
    expect(read.headers['x-ms-ratelimit-remaining-resource']).toBe(
      'Microsoft.Compute/GetVMScaleSet30Min;2399,Microsoft.Compute/GetVMScaleSet3Min;35',
    );
  });

  it('AKS: twenty writes of a pool, then one a minute; another pool is free', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('b')]));
    const put = (pool: string): Promise<Answer> => rig.call('PUT', poolPath(rig, pool), { body: { properties: { count: 2 } } });
    for (let write = 0; write < 20; write++) expect((await put('a')).status).not.toBe(429);
    const refused = await put('a');
    expect(refused).toMatchObject({ status: 429, json: { code: 'Throttled', details: null, subcode: '' } });
    expect(refused.headers['retry-after']).toBe('60');
    expect(refused.text).toContain(
      'The PutAgentPoolHandler.PUT request limit has been exceeded for agentpool a, please retry again in 60 seconds.',
    );
    expect((await put('b')).status).toBe(200);
    rig.clock.advance(60_000);
    expect((await put('a')).status).not.toBe(429);
  });
});

describe('scheduled events', () => {
  it('are renumbered with every change, name VM and time, and happen at once when approved', async () => {
    const rig = await startRig(aWorld([aPool('a', { priority: 'Spot' })]));
    const path = '/metadata/scheduledevents?api-version=2020-07-01';
    const headers = { metadata: 'true' };
    const read = async (): Promise<{ DocumentIncarnation: number; Events: Record<string, unknown>[] }> =>
      (await rig.call('GET', path, { token: false, headers })).json as never;
    expect((await rig.call('GET', path, { token: false })).status).toBe(400);
    const calm = await read();
    expect(calm.Events).toEqual([]);
    rig.arm.control.raise({ evict: { pool: 'a', count: 1 } });
    const told = await read();
    expect(told.DocumentIncarnation).toBeGreaterThan(calm.DocumentIncarnation);
    expect(told.Events).toMatchObject([{ EventType: 'Preempt', EventStatus: 'Scheduled', Resources: [`${rig.set('a')}_1`] }]);
    expect(Date.parse(String(told.Events[0]?.['NotBefore'])) - rig.clock.now()).toBeGreaterThanOrEqual(29_000);
    const body = { StartRequests: [{ EventId: told.Events[0]?.['EventId'] }] };
    expect((await rig.call('POST', path, { token: false, headers, body })).status).toBe(200);
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 1 });
    const after = await read();
    expect(after.Events).toEqual([]);
    expect(after.DocumentIncarnation).toBeGreaterThan(told.DocumentIncarnation);
  });
});
