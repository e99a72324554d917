/** What can be done to instances beside making and deleting them, and what the platform takes when nobody names it. */
import { describe, expect, it } from 'vitest';
import {
  MINUTE,
  RG,
  VERSION,
  aPool,
  aWorld,
  collect,
  operationOf,
  poolPath,
  scale,
  setPath,
  startRig,
  stateOf,
  type Answer,
  type Rig,
} from '../simulator/arm/harness.ts';

function aRig(pool: Parameters<typeof aPool>[1], name = 'a'): Promise<Rig> {
  return startRig(aWorld([aPool(name, pool)]));
}

const ids = (rig: Rig): readonly string[] => stateOf(rig, 'a').instances.map((vm) => vm.id);
const powers = (rig: Rig): readonly string[] => stateOf(rig, 'a').instances.map((vm) => vm.power);

describe('overprovisioning', () => {
  it('begins a fifth more than asked for, counts none of it, and takes it away once enough are well: ids have gaps', async () => {
    const quota = { quota: { cores: 40 } };
    const rig = await startRig(aWorld([aPool('a', { overprovision: true, count: 0, min: 0 })], quota));
    const put = await scale(rig, 'a', 10);
    expect(put).toMatchObject({ status: 200, json: { sku: { capacity: 10 }, properties: { overprovision: true } } });
    expect(ids(rig)).toHaveLength(12);
    const usage = await collect(rig.compute.usage.list('westeurope'));
    expect(usage.find((row) => row.name?.value === 'cores')?.currentValue).toBe(40);
    let wellAtEnd = 0;
    while (wellAtEnd < 10) {
      rig.clock.advance(1_000);
      wellAtEnd = stateOf(rig, 'a').instances.filter((vm) => vm.provisioningState === 'Succeeded').length;
    }
    expect(stateOf(rig, 'a').instances.filter((vm) => vm.provisioningState === 'Deleting')).toHaveLength(2);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Succeeded' });
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'a').capacity).toBe(10);
    expect(ids(rig)).toHaveLength(10);
    expect(ids(rig)).not.toEqual(Array.from({ length: 10 }, (_, index) => String(index)));
    expect(rig.violations.list()).toEqual([]);
  });

  it('makes good a machine that fails; only what is still missing fails the operation', async () => {
    const rig = await aRig({ overprovision: true, count: 0, min: 0 });
    rig.arm.control.addFault({ id: 'bad', match: { times: 1 }, effect: { kind: 'birth', how: 'refused' } });
    const put = await scale(rig, 'a', 5);
    rig.clock.advance(15 * MINUTE);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Succeeded' });
    expect(stateOf(rig, 'a').instances.map((vm) => vm.provisioningState)).toEqual(Array.from({ length: 5 }, () => 'Succeeded'));
    rig.arm.control.addFault({ id: 'worse', match: { times: 2 }, effect: { kind: 'birth', how: 'cse' } });
    const more = await scale(rig, 'a', 7);
    rig.clock.advance(15 * MINUTE);
    const { json } = await operationOf(rig, more);
    expect(json).toMatchObject({ status: 'Failed', error: { code: 'VMExtensionProvisioningError', details: [{}] } });
    expect(ids(rig)).toHaveLength(7);
    expect(stateOf(rig, 'a').capacity).toBe(7);
  });

  it.each([
    { what: 'a deleted one', act: (rig: Rig) => remove(rig, ['0']), capacity: 4 },
    { what: 'a deleted extra one', act: (rig: Rig) => remove(rig, ['5']), capacity: 5 },
    { what: 'a lower capacity', act: (rig: Rig) => scale(rig, 'a', 2), capacity: 2 },
  ])('$what in the meantime: the capacity is what there is in the end', async ({ act, capacity }) => {
    const rig = await aRig({ overprovision: true, count: 0, min: 0 });
    await scale(rig, 'a', 5);
    rig.clock.advance(10_000);
    expect((await act(rig)).status).toBeLessThan(300);
    rig.clock.advance(15 * MINUTE);
    expect(stateOf(rig, 'a').capacity).toBe(capacity);
    expect(ids(rig)).toHaveLength(capacity);
  });

  it('is off where AKS makes the set, and not for Flexible ones', async () => {
    {
      const rig = await aRig({ count: 0, min: 0 });
      await scale(rig, 'a', 5);
      expect(ids(rig)).toHaveLength(5);
    }
    {
      const rig = await aRig({ kind: 'vmss-flexible', overprovision: true, count: 0, min: 0 });
      await scale(rig, 'a', 5);
      expect(ids(rig)).toHaveLength(5);
    }
  });
});

function remove(rig: Rig, instanceIds: readonly string[]): Promise<Answer> {
  return rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds } });
}

describe('scale-in', () => {
  const setRules = async (rig: Rig, rules: readonly string[]): Promise<void> => {
    await rig.call('PATCH', `${setPath(rig, 'a')}?${VERSION}`, { body: { properties: { scaleInPolicy: { rules } } } });
  };

  it.each([
    { rules: ['Default'], left: ['0', '1'] },
    { rules: ['NewestVM'], left: ['0', '1'] },
    { rules: ['OldestVM'], left: ['2', '3'] },
  ])('$rules leaves $left', async ({ rules, left }) => {
    const rig = await aRig({ count: 2, min: 0 });
    rig.clock.advance(1_000);
    await scale(rig, 'a', 4);
    rig.clock.advance(20 * MINUTE);
    await setRules(rig, rules);
    await scale(rig, 'a', 2);
    rig.clock.advance(20 * MINUTE);
    expect(ids(rig)).toEqual(left);
  });

  it('keeps zones balanced before anything else', async () => {
    const rig = await aRig({ count: 5, min: 0, zones: ['1', '2'] });
    await setRules(rig, ['OldestVM']);
    await scale(rig, 'a', 4);
    rig.clock.advance(20 * MINUTE);
    // Zone 1 has ids 0, 2 and 4; zone 2 has 1 and 3.
    expect(ids(rig)).toEqual(['1', '2', '3', '4']);
  });

  it('skips what is protected; with too few others fewer go, the operation fails and the capacity is what there is', async () => {
    const rig = await aRig({ count: 3, min: 0 });
    const { compute } = rig;
    const guard = async (instance: string): Promise<void> => {
      await compute.virtualMachineScaleSetVMs
        .update(RG, rig.set('a'), instance, { location: 'westeurope', protectionPolicy: { protectFromScaleIn: true } })
        .submitted();
    };
    await guard('2');
    await scale(rig, 'a', 2);
    rig.clock.advance(20 * MINUTE);
    expect(ids(rig)).toEqual(['0', '2']);
    await guard('0');
    const put = await scale(rig, 'a', 0);
    rig.clock.advance(20 * MINUTE);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Failed', error: { code: 'OperationNotAllowed' } });
    expect(ids(rig)).toEqual(['0', '2']);
    expect(stateOf(rig, 'a').capacity).toBe(2);
    // Scale-in alone is what it is protected from.
    expect((await remove(rig, ['0'])).status).toBe(202);
  });

  it('protection from set actions blocks explicit deletes, the whole batch, and shows in reads', async () => {
    const rig = await aRig({ count: 3 });
    const etag = stateOf(rig, 'a').etag;
    const path = `${setPath(rig, 'a', '/virtualMachines/1')}?${VERSION}`;
    const body = { properties: { protectionPolicy: { protectFromScaleSetActions: true }, futureField: 1 }, tags: { own: 'yes' } };
    const stale = await rig.call('PUT', path, { body, headers: { 'if-match': '"99"' } });
    expect(stale).toMatchObject({ status: 412, json: { error: { code: 'PreconditionFailed' } } });
    const put = await rig.call('PUT', path, { body, headers: { 'if-match': etag } });
    expect(put).toMatchObject({ status: 200, json: { tags: { own: 'yes' }, properties: { futureField: 1 } } });
    const vm = await rig.compute.virtualMachineScaleSetVMs.get(RG, rig.set('a'), '1');
    expect(vm.protectionPolicy).toMatchObject({ protectFromScaleSetActions: true, protectFromScaleIn: false });
    expect(await remove(rig, ['0', '1'])).toMatchObject({ status: 409, json: { error: { code: 'OperationNotAllowed' } } });
    expect(ids(rig)).toEqual(['0', '1', '2']);
    expect(stateOf(rig, 'a').capacity).toBe(3);
  });
});

describe('actions on instances', () => {
  it.each([
    { action: 'poweroff', after: 'stopped' },
    { action: 'deallocate', after: 'deallocated' },
    { action: 'restart', after: 'running' },
    { action: 'redeploy', after: 'running' },
    { action: 'reimage', after: 'running' },
  ])('$action leaves the instance $after, its id and the capacity as they were', async ({ action, after }) => {
    const rig = await aRig({ count: 2 });
    const batch = await rig.call('POST', `${setPath(rig, 'a', `/${action}`)}?${VERSION}`, { body: { instanceIds: ['0'] } });
    expect(batch).toMatchObject({ status: 202, text: '' });
    expect(batch.headers['location']).toBeDefined();
    expect(batch.headers['content-length']).toBe('0');
    const single = await rig.call('POST', `${setPath(rig, 'a', `/virtualMachines/1/${action}`)}?${VERSION}`);
    expect(single.status).toBe(202);
    expect(stateOf(rig, 'a').instances.map((vm) => vm.provisioningState)).toEqual(['Updating', 'Updating']);
    rig.clock.advance(10 * MINUTE);
    expect(powers(rig)).toEqual([after, after]);
    expect((await operationOf(rig, batch)).json).toMatchObject({ status: 'Succeeded' });
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 2, instances: [{ id: '0' }, { id: '1' }] });
  });

  it('the older path with an asterisk starts all of them', async () => {
    const rig = await aRig({ count: 2 });
    await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`);
    rig.clock.advance(10 * MINUTE);
    expect(powers(rig)).toEqual(['deallocated', 'deallocated']);
    expect((await rig.call('POST', `${setPath(rig, 'a', '/virtualmachines/*/start')}?${VERSION}`)).status).toBe(202);
    rig.clock.advance(10 * MINUTE);
    expect(powers(rig)).toEqual(['running', 'running']);
  });

  it('an ephemeral disk cannot be deallocated', async () => {
    const rig = await aRig({ count: 2 });
    const osDisk = { diffDiskSettings: { option: 'Local' } };
    await rig.call('PATCH', `${setPath(rig, 'a')}?${VERSION}`, {
      body: { properties: { virtualMachineProfile: { storageProfile: { osDisk } } } },
    });
    const refused = await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['0'] } });
    expect(refused).toMatchObject({ status: 409, json: { error: { code: 'OperationNotAllowed' } } });
    expect(refused.text).toContain('ephemeral OS disk');
  });

  it.each(['manualupgrade', 'reapply', 'scaleOut', 'setOrchestrationServiceState'])(
    '%s is refused in words, and loudly in the journal',
    async (action) => {
      const rig = await aRig({ count: 1 });
      const refused = await rig.call('POST', `${setPath(rig, 'a', `/${action}`)}?${VERSION}`, { body: {} });
      expect(refused).toMatchObject({ status: 400, json: { error: { code: 'NotSupported' } } });
      expect(rig.arm.control.journal().at(-1)?.loud).toContain(action);
    },
  );

  it('VMs of a Flexible set: actions, single reads with their tag, eviction, delete, and again', async () => {
    const rig = await aRig({ kind: 'vmss-flexible', priority: 'Spot', count: 2 });
    const [first = '', second = ''] = stateOf(rig, 'a').instances.map((vm) => vm.name);
    const path = (name: string, rest = ''): string =>
      `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/${RG}/providers/Microsoft.Compute/virtualMachines/${name}${rest}?${VERSION}`;
    expect((await rig.call('POST', path(first, '/deallocate'))).status).toBe(202);
    rig.clock.advance(10 * MINUTE);
    const view = await rig.compute.virtualMachines.instanceView(RG, first);
    expect(view.statuses?.map(({ code }) => code)).toEqual(['ProvisioningState/succeeded', 'PowerState/deallocated']);
    expect((await rig.call('GET', path(first))).headers['etag']).toBe('"2"');
    expect((await rig.call('POST', path(second, '/simulateEviction'))).status).toBe(204);
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 1, instances: [{ name: first }] });
    expect((await rig.call('DELETE', path(first))).status).toBe(202);
    rig.clock.advance(10 * MINUTE);
    expect((await rig.call('DELETE', path(first))).status).toBe(204);
    expect(await rig.call('GET', path(first))).toMatchObject({ status: 404, json: { error: { code: 'ResourceNotFound' } } });
    expect(stateOf(rig, 'a').capacity).toBe(0);
  });

  it('a delete of one that is not there is a success without content; one that is named twice is charged once', async () => {
    const rig = await aRig({ count: 1 });
    expect((await rig.call('DELETE', `${setPath(rig, 'a', '/virtualMachines/77')}?${VERSION}`)).status).toBe(204);
    expect(ids(rig)).toEqual(['0']);
    expect((await remove(rig, ['0', '0'])).headers['x-ms-request-charge']).toBe('1');
  });
});

describe('lists and views', () => {
  it('filters instances by power and by model', async () => {
    const rig = await aRig({ count: 2 });
    const list = async (filter: string): Promise<readonly (string | undefined)[]> =>
      (await collect(rig.compute.virtualMachineScaleSetVMs.list(RG, rig.set('a'), { filter }))).map((vm) => vm.instanceId);
    await scale(rig, 'a', 3);
    expect(await list("startswith(instanceView/statuses/code, 'PowerState') eq true")).toEqual(['0', '1']);
    rig.clock.advance(10 * MINUTE);
    expect(await list("startswith(instanceView/statuses/code, 'PowerState/running') eq true")).toEqual(['0', '1', '2']);
    const body = { location: 'westeurope', sku: { name: 'Standard_D8s_v5' } };
    expect((await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body })).status).toBe(200);
    // The upgrade policy is manual: only what is born later is of the new size.
    expect(await list('properties/latestModelApplied eq true')).toEqual([]);
    await rig.call('PATCH', `${setPath(rig, 'a')}?${VERSION}`, { body: { sku: { capacity: 4 } } });
    rig.clock.advance(10 * MINUTE);
    expect(await list('properties/latestModelApplied eq true')).toEqual(['3']);
    await expect(list('name eq 1')).rejects.toMatchObject({ statusCode: 400, code: 'InvalidParameter' });
  });

  it('the view of a set counts its statuses', async () => {
    const rig = await aRig({ count: 3 });
    await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['1'] } });
    rig.clock.advance(10 * MINUTE);
    const view = await rig.compute.virtualMachineScaleSets.getInstanceView(RG, rig.set('a'));
    expect(view.virtualMachine?.statusesSummary).toEqual([
      { code: 'ProvisioningState/succeeded', count: 3 },
      { code: 'PowerState/running', count: 2 },
      { code: 'PowerState/deallocated', count: 1 },
    ]);
    expect(view.extensions).toEqual([{ name: 'vmssCSE', statusesSummary: [{ code: 'ProvisioningState/succeeded', count: 3 }] }]);
    expect(view.statuses).toMatchObject([{ code: 'ProvisioningState/succeeded', level: 'Info', displayStatus: 'Provisioning succeeded' }]);
    expect(view.orchestrationServices).toEqual([{ serviceName: 'AutomaticRepairs', serviceState: 'NotRunning' }]);
  });

  it('a deallocated machine shows no guest; a failed bootstrap shows at its extension, an early one nothing but its making', async () => {
    const rig = await aRig({ count: 1 });
    const view = async (id: string) => rig.compute.virtualMachineScaleSetVMs.getInstanceView(RG, rig.set('a'), id);
    expect(await view('0')).toMatchObject({ osName: 'ubuntu', vmAgent: { statuses: [{ displayStatus: 'Ready' }] } });
    expect((await view('0')).statuses?.[1]?.time).toBeUndefined();
    await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['0'] } });
    rig.clock.advance(10 * MINUTE);
    const stopped = await view('0');
    expect([stopped.vmAgent, stopped.osName, stopped.computerName]).toEqual([undefined, undefined, undefined]);
    rig.arm.control.addFault({ id: 'cse', match: {}, effect: { kind: 'birth', how: 'cse' } });
    await scale(rig, 'a', 2);
    expect((await view('1')).statuses?.map(({ code }) => code)).toEqual(['ProvisioningState/creating']);
    rig.clock.advance(10 * MINUTE);
    const failed = await view('1');
    expect(failed.statuses?.map(({ code }) => code)).toEqual([
      'ProvisioningState/failed/VMExtensionProvisioningError',
      'PowerState/running',
    ]);
    expect(failed.extensions?.[0]?.statuses?.[0]).toMatchObject({ level: 'Error' });
    expect(failed.extensions?.[0]?.statuses?.[0]?.message).toContain('exit status=50');
  });

  it('sets of a location, VMs of the subscription, and nothing in the group of the cluster', async () => {
    const rig = await aRig({ kind: 'vmss-flexible', count: 2 });
    expect(await collect(rig.compute.virtualMachineScaleSets.listByLocation('westeurope'))).toHaveLength(1);
    expect(await collect(rig.compute.virtualMachineScaleSets.listByLocation('northeurope'))).toEqual([]);
    expect(await collect(rig.compute.virtualMachines.listAll())).toHaveLength(2);
    expect(await collect(rig.compute.virtualMachines.list('rg'))).toEqual([]);
    expect(await collect(rig.compute.virtualMachineScaleSets.list('rg'))).toEqual([]);
    expect((await rig.call('GET', poolPath(rig, 'a'))).status).toBe(200);
  });
});
