/**
 * Compute as two recordings have it: azure-powershell's of November 2025 (a Flexible set in eastus2euap) and cloud-provider-azure's of
 * January 2026 (a Uniform set in eastus2), both with api-version 2025-04-01.
 */
import { describe, expect, it } from 'vitest';
import { EXTENSIONS_MS } from '../../simulator/arm/compute/instance-document.ts';
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

const TOKENS = 'x-ms-ratelimit-remaining-resource';
const CHARGE = 'x-ms-request-charge';
const BY_ID = `/virtualMachines/0?${VERSION}`;

function tokens(answer: Answer): readonly string[] {
  return String(answer.headers[TOKENS])
    .split(',')
    .map((part) => part.replace('Microsoft.Compute/', ''));
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

  it('reads of sets cost no view and say nothing of charges', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    for (const path of [setPath(rig, 'a'), setPath(rig, 'a').replace(/\/[^/]+$/, ''), `${setPath(rig, 'a')}/instanceView`]) {
      const read = await rig.call('GET', `${path}?${VERSION}`);
      expect([read.status, read.headers[CHARGE], tokens(read).length]).toEqual([200, undefined, 2]);
    }
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
    expect((await rig.call('DELETE', `${setPath(rig, 'a')}?${VERSION}`)).headers[CHARGE]).toBe('5');
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
