/** The emulator's scale sets and instances as the real Compute client meets them. Numbers are conformance checks. */
import { describe, expect, it } from 'vitest';
import {
  MINUTE,
  RG,
  VERSION,
  aPool,
  aWorld,
  collect,
  operationOf,
  scale,
  setPath,
  sharedRig,
  startRig,
  stateOf,
} from '../simulator/arm/harness.ts';

describe('scale sets, read', () => {
  const rig = sharedRig(aWorld(['a', 'b', 'c', 'd', 'e'].map((name) => aPool(name))), { knobs: { pageSize: 2 } });

  it('an unknown set is a RestError 404 with ResourceNotFound', async () => {
    const getting = rig().compute.virtualMachineScaleSets.get(RG, 'nobody');
    await expect(getting).rejects.toMatchObject({ name: 'RestError', statusCode: 404, code: 'ResourceNotFound' });
  });

  it('a list over three pages yields every set once', async () => {
    const pages = [];
    for await (const page of rig().compute.virtualMachineScaleSets.list(RG).byPage()) pages.push(page);
    const ids = pages.flat().map((set) => set.id);
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(new Set(ids).size).toBe(5);
    const first = await rig().call('GET', `${setPath(rig(), 'a').replace(/\/[^/]+$/, '')}?${VERSION}`);
    expect(String(first.json['nextLink'])).toContain('$skiptoken=');
  });

  it('names and tags a set as AKS does, limits included', async () => {
    const set = await rig().compute.virtualMachineScaleSets.get(RG, rig().set('a'));
    expect(set.name).toMatch(/^aks-a-\d{8}-vmss$/);
    expect(set.tags).toMatchObject({
      'aks-managed-poolName': 'a',
      poolName: 'a',
      min: '1',
      max: '10',
      'cluster-autoscaler-enabled': 'true',
    });
    expect(set).toMatchObject({ etag: '"1"', orchestrationMode: 'Uniform', provisioningState: 'Succeeded', sku: { capacity: 2 } });
  });

  it.each([
    ['Merge', { max: '7' }, { min: '1', max: '7' }],
    ['Delete', { max: '7', min: '9' }, { min: '1', max: undefined }],
    ['Replace', { max: '3' }, { min: undefined, max: '3' }],
  ])('az tag update --operation %s changes the tags of the set', async (operation, tags, expected) => {
    const path = `${setPath(rig(), 'e')}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01`;
    const reply = await rig().call('PATCH', path, { body: { operation, properties: { tags } } });
    expect(reply.status).toBe(200);
    const set = await rig().compute.virtualMachineScaleSets.get(RG, rig().set('e'));
    expect({ min: set.tags?.['min'], max: set.tags?.['max'] }).toEqual(expected);
    expect((await rig().call('PATCH', path, { body: { operation: 'Add', properties: { tags } } })).status).toBe(400);
  });

  it('matches paths in any case and answers 304 to the current etag', async () => {
    const path = setPath(rig(), 'a')
      .replace('resourceGroups', 'RESOURCEGROUPS')
      .replace('virtualMachineScaleSets', 'virtualmachinescalesets');
    expect((await rig().call('GET', `${path}?${VERSION}`)).status).toBe(200);
    expect((await rig().call('GET', `${path}?${VERSION}`, { headers: { 'if-none-match': '"1"' } })).status).toBe(304);
  });

  it('a running instance has both statuses when expanded, and no view otherwise', async () => {
    const { compute } = rig();
    const plain = await collect(compute.virtualMachineScaleSetVMs.list(RG, rig().set('a')));
    const viewed = await collect(compute.virtualMachineScaleSetVMs.list(RG, rig().set('a'), { expand: 'instanceView' }));
    expect(plain.map((vm) => vm.instanceView)).toEqual([undefined, undefined]);
    const codes = viewed[0]?.instanceView?.statuses?.map((status) => status.code);
    expect(codes).toEqual(['ProvisioningState/succeeded', 'PowerState/running']);
  });

  it('the list of the subscription spells the group in upper case', async () => {
    const sets = await collect(rig().compute.virtualMachineScaleSets.listAll());
    expect(sets.every((set) => set.id?.includes(`/resourceGroups/${RG.toUpperCase()}/`))).toBe(true);
  });

  it('lists SKUs and usages that agree with what runs', async () => {
    const skus = await collect(rig().compute.resourceSkus.list({ filter: "location eq 'westeurope'" }));
    const sku = skus.find((entry) => entry.name === 'Standard_D4s_v5');
    expect(sku?.capabilities?.find((capability) => capability.name === 'vCPUs')?.value).toBe('4');
    expect(skus.filter((entry) => entry.resourceType === 'virtualMachines').length).toBeGreaterThanOrEqual(25);
    const usage = await collect(rig().compute.usage.list('westeurope'));
    expect(usage.find((row) => row.name?.value === 'cores')?.currentValue).toBe(40);
    expect(usage.find((row) => row.name?.value === 'standardDSv5Family')?.currentValue).toBe(40);
  });
});

describe('scale sets, written', () => {
  it('scales by a sparse PUT, keeps unknown fields and moves the etag once', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const body = { location: 'westeurope', properties: { futureField: { deep: 1 } }, sku: { capacity: 4 } };
    const put = await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body, headers: { 'if-match': '"1"' } });
    expect(put).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(put.json).toMatchObject({
      etag: '"2"',
      sku: { capacity: 4, name: 'Standard_D4s_v5' },
      properties: { futureField: { deep: 1 }, orchestrationMode: 'Uniform', provisioningState: 'Updating' },
    });
    expect(put.headers['location']).toBeUndefined();
    const again = await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body });
    expect(again.headers['etag']).toBe('"2"');
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'InProgress' });
    rig.clock.advance(10 * MINUTE);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Succeeded' });
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 4, provisioningState: 'Succeeded' });
    expect(stateOf(rig, 'a').instances.map((vm) => vm.power)).toEqual(['running', 'running', 'running', 'running']);
  });

  it('host names count in base 36', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 37, max: 40 })]));
    const vms = await collect(rig.compute.virtualMachineScaleSetVMs.list(RG, rig.set('a')));
    expect(vms.find((vm) => vm.instanceId === '35')?.osProfile?.computerName).toMatch(/vmss00000z$/);
    expect(vms.find((vm) => vm.instanceId === '36')?.osProfile?.computerName).toMatch(/vmss000010$/);
  });

  it('a stale If-Match is refused with 412 and changes nothing', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    rig.arm.control.raise({ foreignScale: { pool: 'a', delta: 1, when: 'before-next-write' } });
    const put = rig.compute.virtualMachineScaleSets.createOrUpdate(
      RG,
      rig.set('a'),
      { location: 'westeurope', sku: { capacity: 5 } },
      { ifMatch: '"1"' },
    );
    await expect(put.submitted()).rejects.toMatchObject({ statusCode: 412, code: 'PreconditionFailed' });
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 3, etag: '"2"' });
    expect(rig.violations.list()).toEqual([]);
  });

  it('a delete of two ids ends, its monitor answers 200 empty, the capacity is two less', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 4 })]));
    const deletion = rig.compute.virtualMachineScaleSets.deleteInstances(
      RG,
      rig.set('a'),
      { instanceIds: ['1', '2'] },
      { forceDeletion: true },
    );
    await deletion.submitted();
    expect(stateOf(rig, 'a').capacity).toBe(2);
    rig.clock.advance(10 * MINUTE);
    await deletion;
    expect(stateOf(rig, 'a').instances.map((vm) => vm.id)).toEqual(['0', '3']);
    const journal = rig.arm.control.journal();
    expect(journal.find((entry) => entry.route === 'POST virtualMachineScaleSets/{name}/delete')).toMatchObject({
      status: 202,
      capacityBefore: 4,
      capacityAfter: 2,
      charge: 2,
      machines: ['1', '2'],
      forced: true,
      principal: 'aaaaaaaa-0000-0000-0000-000000000001',
      pool: 'a',
    });
    expect(rig.violations.list()).toEqual([]);
  });

  it.each([
    { name: 'one unknown id of three', ids: ['0', '1', '99'], target: 'instanceIds' },
    { name: 'an id that is no number', ids: ['x'], target: 'instanceId' },
  ])('$name refuses the whole batch', async ({ ids, target }) => {
    const rig = await startRig(aWorld([aPool('a')]));
    const deleting = rig.compute.virtualMachineScaleSets.deleteInstances(RG, rig.set('a'), { instanceIds: ids }).submitted();
    await expect(deleting).rejects.toMatchObject({ name: 'RestError', statusCode: 400, code: 'InvalidParameter' });
    const refused = await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ids } });
    expect(refused).toMatchObject({ status: 400, json: { error: { code: 'InvalidParameter', target } } });
    const left = await collect(rig.compute.virtualMachineScaleSetVMs.list(RG, rig.set('a')));
    expect(left.map(({ provisioningState }) => provisioningState)).toEqual(['Succeeded', 'Succeeded']);
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 2, etag: '"1"' });
  });

  it('a machine in creation appears in the list and does not run yet', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 0 })]), { knobs: { instanceVisible: { p50: 3_000, p95: 3_000 } } });
    await scale(rig, 'a', 1);
    const list = () => collect(rig.compute.virtualMachineScaleSetVMs.list(RG, rig.set('a'), { expand: 'instanceView' }));
    expect(await list()).toEqual([]);
    rig.clock.advance(3_000);
    const [vm] = await list();
    expect(vm?.provisioningState).toBe('Creating');
    expect(vm?.instanceView?.statuses?.map((status) => status.code)).not.toContain('PowerState/running');
  });

  it('without stock the PUT passes, the operation fails with the code, the capacity stays', async () => {
    const rig = await startRig(aWorld([aPool('a')], { stock: { 'Standard_D4s_v5/0': 0 } }));
    const poller = rig.compute.virtualMachineScaleSets.createOrUpdate(RG, rig.set('a'), { location: 'westeurope', sku: { capacity: 3 } });
    await poller.submitted();
    rig.clock.advance(10 * MINUTE);
    await expect(poller.pollUntilDone()).rejects.toThrow('AllocationFailed');
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 3, provisioningState: 'Failed' });
    expect(stateOf(rig, 'a').instances.at(-1)).toMatchObject({ provisioningState: 'Failed', power: 'none', error: 'AllocationFailed' });
  });

  it('partial fulfilment keeps what fits, and names each failure', async () => {
    const rig = await startRig(aWorld([aPool('a', { zones: ['1', '2'], count: 0 })], { stock: { 'Standard_D4s_v5/2': 1 } }));
    const put = await scale(rig, 'a', 6);
    rig.clock.advance(10 * MINUTE);
    const { json } = await operationOf(rig, put);
    expect(json).toMatchObject({ status: 'Failed', error: { code: 'ZonalAllocationFailed' } });
    const { details } = json['error'] as unknown as { readonly details: readonly { readonly target: string }[] };
    const failed = stateOf(rig, 'a').instances.filter((vm) => vm.provisioningState === 'Failed');
    expect(details.map((detail) => detail.target).sort()).toEqual(failed.map((vm) => vm.id).sort());
    expect(failed).toHaveLength(2);
    expect(failed.every((vm) => vm.zone === '2')).toBe(true);
    expect(rig.arm.control.state().stock).toEqual({ 'standard_d4s_v5/2': 0 });
  });

  it('deallocated machines count in the capacity, keep their ids and start again', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 3 })]));
    const body = { instanceIds: ['0', '1'] };
    expect((await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body })).status).toBe(202);
    rig.clock.advance(10 * MINUTE);
    const view = await rig.call('GET', `${setPath(rig, 'a', '/virtualMachines/0/instanceView')}?${VERSION}`);
    expect(view.text).toContain('PowerState/deallocated');
    expect(stateOf(rig, 'a').capacity).toBe(3);
    expect((await rig.call('POST', `${setPath(rig, 'a', '/start')}?${VERSION}`, { body })).status).toBe(202);
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'a').instances.map((vm) => `${vm.id} ${vm.power}`)).toEqual(['0 running', '1 running', '2 running']);
  });

  it('a newer goal preempts the running one and keeps its machines', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const first = await scale(rig, 'a', 3);
    const second = await scale(rig, 'a', 5);
    expect((await operationOf(rig, first)).json).toMatchObject({ status: 'Canceled', error: { code: 'OperationPreempted' } });
    rig.clock.advance(10 * MINUTE);
    expect((await operationOf(rig, second)).json).toMatchObject({ status: 'Succeeded' });
    expect(stateOf(rig, 'a').instances).toHaveLength(5);
  });

  it('lists the VMs of a Flexible set by its filter', async () => {
    const rig = await startRig(aWorld([aPool('flex', { kind: 'vmss-flexible' }), aPool('uni')]));
    const set = await rig.compute.virtualMachineScaleSets.get(RG, rig.set('flex'));
    expect(set.orchestrationMode).toBe('Flexible');
    const vms = await collect(
      rig.compute.virtualMachines.list(RG, { filter: `'virtualMachineScaleSet/id' eq '${set.id}'`, expand: 'instanceView' }),
    );
    expect(vms).toHaveLength(2);
    expect(vms[0]?.instanceView?.statuses?.map((status) => status.code)).toContain('PowerState/running');
  });

  it.each([
    { strict: true, ask: 6, born: 0, why: 'strictly balanced, nothing comes when a zone cannot keep up' },
    { strict: true, ask: 3, born: 2, why: 'strictly balanced, what the zones can give evenly comes' },
    { strict: false, ask: 6, born: 4, why: 'at best effort the other zones get theirs' },
  ])('zones: $why', async ({ strict, ask, born }) => {
    const stock = { 'Standard_D4s_v5/3': 0 };
    const rig = await startRig(aWorld([aPool('z', { count: 0, min: 0, zones: ['1', '2', '3'] })], { stock }));
    const body = { location: 'westeurope', sku: { capacity: ask }, properties: { zoneBalance: strict } };
    const put = await rig.call('PUT', `${setPath(rig, 'z')}?${VERSION}`, { body });
    expect(put).toMatchObject({ status: 200, json: { properties: { zoneBalance: strict } } });
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'z').instances.filter(({ provisioningState }) => provisioningState === 'Succeeded')).toHaveLength(born);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Failed', error: { code: 'ZonalAllocationFailed' } });
  });

  it.each([
    { what: 'an isolated size', vmSize: 'Standard_E104is_v5', hostGroup: undefined, status: 409 },
    { what: 'an isolated size without the letter', vmSize: 'Standard_F72s_v2', hostGroup: undefined, status: 409 },
    { what: 'a dedicated host', vmSize: 'Standard_D4s_v5', hostGroup: { id: '/subscriptions/x/hostGroups/h' }, status: 409 },
    { what: 'any other machine', vmSize: 'Standard_D4s_v5', hostGroup: undefined, status: 202 },
  ])('a forced delete of $what: $status; without force it is taken', async ({ vmSize, hostGroup, status }) => {
    const rig = await startRig(aWorld([aPool('a', { vmSize, count: 3 })]));
    if (hostGroup !== undefined)
      await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body: { location: 'westeurope', properties: { hostGroup } } });
    const remove = (id: string, forceDeletion: boolean) =>
      rig.compute.virtualMachineScaleSets.deleteInstances(RG, rig.set('a'), { instanceIds: [id] }, { forceDeletion }).submitted();
    const forced = await remove('0', true).then(
      () => 202,
      (error: { readonly statusCode: number; readonly code: string }) => (error.code === 'OperationNotAllowed' ? error.statusCode : 0),
    );
    expect(forced).toBe(status);
    expect(stateOf(rig, 'a').capacity).toBe(status === 202 ? 2 : 3);
    const one = await rig.call('DELETE', `${setPath(rig, 'a', '/virtualMachines/1')}?forceDeletion=True&${VERSION}`);
    expect(one.status).toBe(status);
    await remove('2', false);
    expect(stateOf(rig, 'a').capacity).toBe(status === 202 ? 0 : 2);
  });
});
