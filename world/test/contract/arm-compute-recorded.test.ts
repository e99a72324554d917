/**
 * Compute as recordings have it: azure-powershell's of November 2025 (a Flexible set in eastus2euap) and cloud-provider-azure's of
 * January 2026 (a Uniform set in eastus2), both with api-version 2025-04-01, and those of Azure's CLI from August 2024 to January 2025.
 */
import { describe, expect, it } from 'vitest';
import { EXTENSIONS_MS } from '../../simulator/arm/compute/instance-document.ts';
import { pickObject, pickText, type JsonObject } from '../../simulator/arm/http/json.ts';
import { Throttle, type ComputePolicyName } from '../../simulator/arm/http/throttling.ts';
import {
  MINUTE,
  RG,
  VERSION,
  aPool,
  aWorld,
  operationOf,
  scale,
  setPath,
  startRig,
  stateOf,
  type Answer,
} from '../simulator/arm/harness.ts';

const SUBSCRIPTION = aWorld([]).subscriptionId;
const TOKENS = 'x-ms-ratelimit-remaining-resource';
const CHARGE = 'x-ms-request-charge';
const BY_ID = `/virtualMachines/0?${VERSION}`;

function tokens(answer: Answer): readonly string[] {
  return String(answer.headers[TOKENS])
    .split(',')
    .map((part) => part.replace('Microsoft.Compute/', ''));
}

function itemsOf({ text }: Pick<Answer, 'text'>): readonly JsonObject[] {
  const { value } = JSON.parse(text) as { readonly value: readonly JsonObject[] };
  return value;
}

function namesOf(answer: Answer): readonly string[] {
  return tokens(answer).map((part) => part.split(';')[0] ?? '');
}

describe('what Compute charges, as recorded', () => {
  it('a list of instances costs a view of each, a single read one of them: of one bucket for both', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 2 }), aPool('many', { count: 5 })], {}), { knobs: { pageSize: 3 } });
    const list = await rig.call('GET', `${setPath(rig, 'a')}/virtualMachines?${VERSION}`);
    expect(list.headers[CHARGE]).toBe('2');
    expect(tokens(list)).toEqual([
      'HighCostGetVMScaleSetSubscriptionMaximum;1079',
      'HighCostGetVMScaleSetResource;29',
      'VMScaleSetVMViewsSubscriptionMaximum;29998',
    ]);
    const one = await rig.call('GET', `${setPath(rig, 'a')}${BY_ID}`);
    expect(one.headers[CHARGE]).toBe('1');
    expect(tokens(one)).toEqual([
      'GetVMScaleSetVMSubscriptionMaximum;5999',
      'GetVMScaleSetVMResource;35',
      'VMScaleSetVMViewsSubscriptionMaximum;29997',
    ]);
    expect((await rig.call('GET', `${setPath(rig, 'a')}/virtualMachines/0/instanceView?${VERSION}`)).headers[CHARGE]).toBe('1');
    const page = await rig.call('GET', `${setPath(rig, 'many')}/virtualMachines?${VERSION}`);
    expect([page.headers[CHARGE], tokens(page).at(-1)]).toEqual(['3', 'VMScaleSetVMViewsSubscriptionMaximum;29993']);
  });

  // That the instance view of a set is among them is assumed.
  it('reads of sets cost no view and say nothing of charges', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const limits = { '': 'GetVMScaleSet', '/instanceView': 'HighCostGetVMScaleSet' };
    for (const [rest, limit] of Object.entries(limits)) {
      const read = await rig.call('GET', `${setPath(rig, 'a')}${rest}?${VERSION}`);
      expect([read.status, read.headers[CHARGE], namesOf(read)]).toEqual([
        200,
        undefined,
        [`${limit}SubscriptionMaximum`, `${limit}Resource`],
      ]);
    }
    const list = await rig.call('GET', `${setPath(rig, 'a').replace(/\/[^/]+$/, '')}?${VERSION}`);
    expect([list.headers[CHARGE], namesOf(list)]).toEqual([undefined, ['HighCostGetVMScaleSetSubscriptionMaximum']]);
  });

  // Recorded by Azure's CLI, August 2024; the documentation counts a deletion of instances among deletions, and by set.
  it.each<[what: string, method: string, rest: string, limits: readonly string[], isOfSet: boolean]>([
    ['a deletion of instances', 'POST', 'set/delete', ['VMScaleSetActionsSubscriptionMaximum'], true],
    ['a start', 'POST', 'set/start', ['VMScaleSetActionsSubscriptionMaximum'], true],
    ['a deallocation', 'POST', 'set/deallocate', ['DeleteVMScaleSetSubscriptionMaximum'], true],
    ['a change of tags', 'PATCH', 'set', ['VMScaleSetActionsSubscriptionMaximum', 'VMScaleSetActionsResource'], true],
    ['a deletion of a set', 'DELETE', 'set', ['DeleteVMScaleSetSubscriptionMaximum', 'DeleteVMScaleSetResource'], true],
    [
      'a deallocation of one instance',
      'POST',
      'set/virtualMachines/0/deallocate',
      ['DeleteVMScaleSetVMSubscriptionMaximum', 'DeleteVMScaleSetVMResource'],
      true,
    ],
    ['a list of VMs', 'GET', 'vms', ['HighCostGetSubscriptionMaximum'], false],
    ['a deallocation of a VM', 'POST', 'vms/VM/deallocate', ['DeleteVMSubscriptionMaximum', 'DeleteVMResource'], false],
    ['a restart of a VM', 'POST', 'vms/VM/restart', ['UpdateVMSubscriptionMaximum', 'UpdateVMResource'], false],
    ['usages', 'GET', 'locations/westeurope/usages', ['GetSubscriptionInfoSubscriptionMaximum'], false],
  ])('%s counts in limits of its own', async (_what, method, rest, limits, isOfSet) => {
    const rig = await startRig(aWorld([aPool('a', { count: 2 }), aPool('f', { kind: 'vmss-flexible', count: 1 })]));
    const vms = setPath(rig, 'a').replace(/virtualMachineScaleSets.*$/, 'virtualMachines');
    const [vm] = itemsOf(await rig.call('GET', `${vms}?${VERSION}`));
    const path = rest.startsWith('set')
      ? setPath(rig, 'a', rest.slice('set'.length))
      : rest.startsWith('vms')
        ? `${vms}${rest.slice('vms'.length).replace('VM', pickText(vm, 'name') ?? '')}`
        : `/subscriptions/${SUBSCRIPTION}/providers/Microsoft.Compute/${rest}`;
    const body = { '/delete': { instanceIds: ['1'] }, '': { tags: { a: 'b' } } }[rest.replace('set', '')];
    const answer = await rig.call(method, `${path}?${VERSION}`, body === undefined ? {} : { body });
    expect(answer.status).toBeLessThan(300);
    const ofSets = isOfSet ? ['VMScaleSetBatchedVMRequestsSubscriptionMaximum', 'VmssQueuedVMOperations'] : [];
    expect(namesOf(answer)).toEqual([...limits, ...ofSets]);
  });

  it('without views left, lists of instances and single reads are refused, and reads of the set are not', () => {
    let now = 0;
    const throttle = new Throttle({ now: () => now, speed: 1, after: () => () => undefined });
    const call = (compute: ComputePolicyName) =>
      throttle.charge({ method: 'GET', clientId: 'c', subscription: 's', compute, resource: 'a' });
    const list = call('ListVMScaleSetVMs');
    throttle.spend('views', 30_001);
    expect(list.headers[TOKENS]).toContain('VMScaleSetVMViewsSubscriptionMaximum;0');
    for (const compute of ['ListVMScaleSetVMs', 'GetVMScaleSetVM'] as const)
      expect(call(compute).refusal).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1' },
        body: { error: { details: [{ code: 'TooManyRequests', target: 'VMScaleSetVMViewsSubscriptionMaximum' }] } },
      });
    for (const compute of ['GetVMScaleSet', 'HighCostGetVMScaleSet'] as const) expect(call(compute).refusal).toBeUndefined();
    now += 1_000;
    expect(call('ListVMScaleSetVMs').refusal).toBeUndefined();
  });

  it('writes cost the VMs that they touch, and one that changes nothing costs nothing: same tag, Updating, an operation to follow', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const more = await scale(rig, 'a', 5);
    expect([more.headers[CHARGE], more.headers['etag']]).toEqual(['3', '"2"']);
    rig.clock.advance(10 * MINUTE);
    const same = await scale(rig, 'a', 5);
    expect([same.status, same.headers[CHARGE], same.headers['etag']]).toEqual([200, '0', '"2"']);
    expect(same.json).toMatchObject({ etag: '"2"', properties: { provisioningState: 'Updating' } });
    expect((await operationOf(rig, same)).json).toMatchObject({ status: 'InProgress' });
    rig.clock.advance(MINUTE);
    expect((await operationOf(rig, same)).json).toMatchObject({ status: 'Succeeded' });
    expect(stateOf(rig, 'a')).toMatchObject({ etag: '"2"', provisioningState: 'Succeeded', capacity: 5 });
    const body = { location: 'westeurope', sku: { name: 'Standard_D4s_v5', capacity: 2 } };
    const created = await rig.call('PUT', `${setPath(rig, 'a')}new?${VERSION}`, { body });
    expect([created.status, created.headers[CHARGE], created.headers['etag']]).toEqual([201, '2', '"1"']);
    const deleted = await rig.call('DELETE', `${setPath(rig, 'a')}?${VERSION}`);
    expect(deleted.headers).toMatchObject({ [CHARGE]: '5', 'azure-asyncnotification': 'Enabled' });
    expect([deleted.headers['location'], deleted.headers['azure-asyncoperation']]).toEqual([expect.any(String), expect.any(String)]);
  });

  it('a poll of an operation names the limit of the operation first', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const put = await scale(rig, 'a', 3);
    for (let poll = 0; poll < 2; poll++) await operationOf(rig, put);
    expect(tokens(await operationOf(rig, put))).toEqual(['GetOperationResource;42', 'GetOperationSubscriptionMaximum;14997']);
  });
});

describe('instances, as recorded', () => {
  it('each of a Uniform set has a tag of its own, which its creation does not move and a write of it does', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    const path = `${setPath(rig, 'a')}/virtualMachines/2?${VERSION}`;
    const born = await rig.call('GET', path);
    expect([born.headers['etag'], born.json['etag'], stateOf(rig, 'a').etag]).toEqual(['"1"', '"1"', '"2"']);
    const list = await rig.call('GET', `${setPath(rig, 'a')}/virtualMachines?${VERSION}`);
    expect([list.headers['etag'], list.json]).toMatchObject([undefined, { value: [{ etag: '"1"' }, { etag: '"1"' }, { etag: '"1"' }] }]);
    const nothing = await rig.call('PUT', path, { body: { tags: born.json['tags'] }, headers: { 'if-match': '"1"' } });
    expect([nothing.status, nothing.headers['etag'], nothing.headers[CHARGE]]).toEqual([200, '"1"', '0']);
    expect(nothing.json).toMatchObject({ properties: { provisioningState: 'Updating' } });
    expect(nothing.headers['azure-asyncoperation']).toBeDefined();
    const own = await rig.call('PUT', path, { body: { tags: { own: 'y' } }, headers: { 'if-match': '"1"' } });
    expect([own.status, own.headers['etag'], own.headers[CHARGE]]).toEqual([200, '"2"', '1']);
    const stale = await rig.call('PUT', path, { body: { tags: { own: 'x' } }, headers: { 'if-match': 'invalid-etag' } });
    expect(stale).toMatchObject({
      status: 412,
      json: {
        error: {
          code: 'PreconditionFailed',
          message: 'Etag provided in if-match header "invalid-etag" does not match etag "2" of resource.',
        },
      },
    });
    expect(stale.headers[CHARGE]).toBeUndefined();
  });

  // Recorded by the SDK for Go, February 2023.
  it('are Updating while their extensions install, after their creation has succeeded, and running all the while', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const put = await scale(rig, 'a', 3);
    const isOver = async (): Promise<boolean> => (await operationOf(rig, put)).text.includes('Succeeded');
    while (!(await isOver())) rig.clock.advance(5_000);
    const read = () =>
      rig.compute.virtualMachineScaleSetVMs.get(RG, rig.set('a'), '2', { expand: 'instanceView' }).then((vm) => ({
        state: vm.provisioningState,
        codes: vm.instanceView?.statuses?.map(({ code }) => code),
        extension: vm.instanceView?.extensions?.[0]?.statuses?.[0]?.code,
      }));
    expect(await read()).toEqual({
      state: 'Updating',
      codes: ['ProvisioningState/updating', 'PowerState/running'],
      extension: 'ProvisioningState/creating',
    });
    expect(stateOf(rig, 'a').provisioningState).toBe('Succeeded');
    rig.clock.advance(EXTENSIONS_MS);
    expect(await read()).toEqual({
      state: 'Succeeded',
      codes: ['ProvisioningState/succeeded', 'PowerState/running'],
      extension: 'ProvisioningState/succeeded',
    });
  });

  it('one that is named by something else than a number is refused, at the price of a view', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const read = rig.compute.virtualMachineScaleSetVMs.get(RG, rig.set('a'), '0notfound');
    await expect(read).rejects.toMatchObject({ statusCode: 400, code: 'InvalidParameter', details: { error: { target: 'instanceId' } } });
    const refused = await rig.call('GET', `${setPath(rig, 'a')}/virtualMachines/0notfound?${VERSION}`);
    expect(refused.json['error']).toEqual({
      code: 'InvalidParameter',
      message: 'Virtual Machine Scale Set VM instanceId must be a number.',
      target: 'instanceId',
    });
    expect(refused.headers[CHARGE]).toBe('1');
    expect((await rig.call('GET', `${setPath(rig, 'a')}/virtualMachines/99?${VERSION}`)).status).toBe(404);
  });

  it('those of a Flexible set are listed by name alone, under the set, with a null for a zone', async () => {
    const rig = await startRig(aWorld([aPool('flex', { kind: 'vmss-flexible', zones: ['1', '2'] })]));
    const list = await rig.call('GET', `${setPath(rig, 'flex')}/virtualMachines?${VERSION}`);
    const [vm] = stateOf(rig, 'flex').instances;
    const name = vm?.name ?? '';
    const item = {
      name,
      id: `${setPath(rig, 'flex')}/virtualMachines/${name}`,
      type: 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines',
      location: 'Westeurope',
      instanceId: name,
      zones: [null],
    };
    expect(list.json).toEqual({ value: [item, expect.anything()] });
    expect([list.headers[CHARGE], tokens(list).at(-1)]).toEqual(['2', 'VMScaleSetVMViewsSubscriptionMaximum;29998']);
    const one = await rig.call('GET', `${setPath(rig, 'flex')}/virtualMachines/${name}?${VERSION}`);
    expect([one.json, one.headers['etag'], one.headers[CHARGE]]).toEqual([item, undefined, '1']);
    const listed: string[] = [];
    for await (const each of rig.compute.virtualMachineScaleSetVMs.list(RG, rig.set('flex'))) listed.push(each.instanceId ?? '');
    expect(listed).toEqual(stateOf(rig, 'flex').instances.map((each) => each.name));
  });
});

describe('documents, as recorded', () => {
  const compute = (rest: string): string => `/subscriptions/${SUBSCRIPTION}/providers/Microsoft.Compute/${rest}?${VERSION}`;

  it('the document of an operation is laid out over lines', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const put = await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    const { text, json } = await operationOf(rig, put);
    expect(text).toBe(JSON.stringify(json, null, 2).replaceAll('\n', '\r\n'));
    expect(Object.keys(json)).toEqual(['startTime', 'endTime', 'status', 'name']);
  });

  // Recorded by the SDK for Go, February 2023.
  it('sizes are one page without rate limits of Compute; what they have in some zones names these with a capital letter', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { pageSize: 2 } });
    const { json, headers } = await rig.call('GET', compute('skus'));
    expect([json['nextLink'], headers[TOKENS]]).toEqual([undefined, undefined]);
    expect(json['value']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'Standard_B2s', locationInfo: [expect.objectContaining({ zoneDetails: [] })] }),
        expect.objectContaining({
          name: 'Standard_D4s_v5',
          locationInfo: [
            expect.objectContaining({
              zoneDetails: [{ Name: ['3', '2', '1'], capabilities: [{ name: 'UltraSSDAvailable', value: 'True' }] }],
            }),
          ],
        }),
      ]),
    );
  });

  // Recorded by azure-powershell, 2023.
  it('usages have their names and texts, and families without any quota', async () => {
    const rig = await startRig(aWorld([aPool('a')]), { knobs: { pageSize: 2 } });
    const { json } = await rig.call('GET', compute('locations/westeurope/usages'));
    expect(json['nextLink']).toBeUndefined();
    const row = (value: string, localizedValue: string, currentValue: number, limit: number) => ({
      unit: 'Count',
      name: { value, localizedValue },
      currentValue,
      limit,
    });
    expect(json['value']).toEqual(
      expect.arrayContaining([
        row('cores', 'Total Regional vCPUs', 8, 100_000),
        row('lowPriorityCores', 'Total Regional Low-priority vCPUs', 0, 100_000),
        row('virtualMachines', 'Virtual Machines', 2, 100_000),
        row('virtualMachineScaleSets', 'Virtual Machine Scale Sets', 1, 100_000),
        row('standardDSv5Family', 'Standard DSv5 Family vCPUs', 8, 100_000),
        row('standardNDSFamily', 'Standard NDS Family vCPUs', 0, 0),
      ]),
    );
  });

  // Recorded by Azure's CLI, August 2024.
  it('a set says of each size how many instances it may have', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const { json, text } = await rig.call('GET', `${setPath(rig, 'a')}/skus?${VERSION}`);
    expect(Object.keys(json)).toEqual(['value']);
    const ofSize = (name: string) => ({
      resourceType: 'Microsoft.Compute/virtualMachineScaleSets',
      sku: { name, tier: 'Standard' },
      capacity: { minimum: 0, maximum: 1_000, defaultCapacity: 1, scaleType: 'Automatic' },
    });
    expect(itemsOf({ text })).toEqual(expect.arrayContaining([ofSize('Standard_B2s'), ofSize('Standard_D4s_v5')]));
  });

  // Recorded of three clusters by azure-powershell and in AKS's own log, November and December 2025.
  it('the number in the name of a set is that of its pool, and the suffix in its tags that of its cluster', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('b')], {}));
    const sets = await Promise.all(['a', 'b'].map(async (pool) => (await rig.call('GET', `${setPath(rig, pool)}?${VERSION}`)).json));
    const numbers = sets.map(({ name }) => /^aks-[ab]-(\d{8})-vmss$/.exec(String(name))?.[1]);
    const suffixes = sets.map((set) => pickObject(set, 'tags')['aks-managed-resourceNameSuffix']);
    expect(new Set([...numbers, ...suffixes]).size).toBe(3);
    expect(suffixes[0]).toBe(suffixes[1]);
  });

  it('a set has tags without values, the extensions of AKS with their time, and what newer versions of Compute add', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('flex', { kind: 'vmss-flexible' })]));
    const read = async (pool: string, version: string) => (await rig.call('GET', `${setPath(rig, pool)}?${version}`)).json;
    const uniform = await read('a', VERSION);
    expect(uniform).toMatchObject({
      tags: { 'aks-managed-bootstrap-profile-acr-name': '', 'compute.aks.billing': 'true' },
      properties: {
        virtualMachineProfile: {
          osProfile: { secrets: [] },
          extensionProfile: {
            extensionsTimeBudget: 'PT16M',
            extensions: [{ name: 'vmssCSE' }, { name: `${rig.set('a')}-AKSLinuxBilling` }],
          },
          networkProfile: {
            networkInterfaceConfigurations: [{ properties: { disableTcpStateTracking: false, dnsSettings: { dnsServers: [] } } }],
          },
        },
      },
    });
    // Nobody has set them, and no regular VM shows its priority: recorded by Azure's CLI, August 2024, of a set of AKS, and in January 2026.
    for (const policy of ['highSpeedInterconnectPlacement', 'scaleInPolicy', 'automaticRepairsPolicy', 'resiliencyPolicy', 'zoneBalance'])
      expect(uniform['properties']).not.toHaveProperty(policy);
    expect(pickObject(uniform['properties'], 'virtualMachineProfile')).not.toHaveProperty('priority');
    expect(await read('flex', VERSION)).toMatchObject({ properties: { highSpeedInterconnectPlacement: 'None' } });
    expect((await read('flex', 'api-version=2024-11-01'))['properties']).not.toHaveProperty('highSpeedInterconnectPlacement');
    const instance = await rig.call('GET', `${setPath(rig, 'a')}${BY_ID}`);
    const { name } = (await rig.compute.virtualMachineScaleSetVMs.get(RG, rig.set('a'), '0')).storageProfile?.osDisk ?? {};
    const disk = setPath(rig, 'a').replace(/virtualMachineScaleSets.*$/, `disks/${name}`);
    expect(instance.json).toMatchObject({
      properties: {
        osProfile: { secrets: [], allowExtensionOperations: true },
        storageProfile: { osDisk: { managedDisk: { storageAccountType: 'Premium_LRS', id: disk } }, dataDisks: [] },
      },
    });
    expect((await rig.call('GET', `${disk}?api-version=2024-03-02`)).status).toBe(200);
    expect(instance.json['properties']).not.toHaveProperty('protectionPolicy');
  });

  // Recorded by Azure's CLI, August 2024, of an instance of AKS.
  it('extensions of an instance have the id of a VM by its name, and a VM with its view has its tag in the body alone', async () => {
    const rig = await startRig(
      aWorld([aPool('a', { count: 1 }), aPool('spot', { priority: 'Spot', count: 1 }), aPool('f', { kind: 'vmss-flexible', count: 1 })]),
    );
    const vms = setPath(rig, 'a').replace(/virtualMachineScaleSets.*$/, 'virtualMachines');
    const instance = (await rig.call('GET', `${setPath(rig, 'a')}${BY_ID}`)).json;
    expect(instance['resources']).toEqual([
      expect.objectContaining({
        id: `${vms}/${String(instance['name'])}/extensions/vmssCSE`,
        type: 'Microsoft.Compute/virtualMachines/extensions',
      }),
      expect.objectContaining({ name: `${rig.set('a')}-AKSLinuxBilling`, location: 'westeurope' }),
    ]);
    expect(instance['properties']).not.toHaveProperty('priority');
    expect((await rig.call('GET', `${setPath(rig, 'spot')}${BY_ID}`)).json).toMatchObject({
      properties: { priority: 'Spot', evictionPolicy: 'Delete' },
    });
    const [vm] = itemsOf(await rig.call('GET', `${vms}?${VERSION}`));
    const read = async (expand: string) => rig.call('GET', `${vms}/${pickText(vm, 'name')}?${VERSION}${expand}`);
    const [plain, withView] = [await read(''), await read('&$expand=instanceView')];
    expect([plain.headers['etag'], withView.headers['etag'], withView.json['etag']]).toEqual([
      plain.json['etag'],
      undefined,
      plain.json['etag'],
    ]);
  });
});

describe('stock that is missing, as recorded', () => {
  // Recorded in cluster autoscaler PR 5548 (2023): the instance shows it within some twenty seconds.
  it('half of the instances that cannot be allocated say so within twenty seconds, while the operation goes on', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 0, min: 0, max: 100, zones: ['1'] })], { stock: { 'Standard_D4s_v5/1': 0 } }));
    const put = await scale(rig, 'a', 40);
    rig.clock.advance(20_000);
    const failed = stateOf(rig, 'a').instances.filter(({ error }) => error === 'ZonalAllocationFailed');
    expect(failed.length).toBeGreaterThanOrEqual(20);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'InProgress' });
  });

  // Recorded in jenkins-infra/helpdesk 3584 (2023) and in a pull request of jenkins-infra/azure (2025).
  it('constraints that nothing meets fail the operation within a minute', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const code = 'OverconstrainedZonalAllocationRequest';
    rig.arm.control.addFault({ id: 'no', match: { pool: 'a' }, effect: { kind: 'birth', how: 'refused', code } });
    const put = await scale(rig, 'a', 3);
    rig.clock.advance(MINUTE);
    expect((await operationOf(rig, put)).json).toMatchObject({
      status: 'Failed',
      error: { code, details: [{ code, target: '2' }] },
    });
    expect(stateOf(rig, 'a').instances.at(-1)).toMatchObject({ id: '2', provisioningState: 'Failed', error: code });
  });
});
