/** Managed disks through the real client: as resources, in the slots of VMs, and what Azure refuses. */
import type { Disk } from '@azure/arm-compute';
import { describe, expect, it } from 'vitest';
import { MINUTE, RG, VERSION, aPool, aWorld, setPath, sharedRig } from '../simulator/arm/harness.ts';

const rig = sharedRig(
  aWorld([
    aPool('zonal', { zones: ['1'], vmSize: 'Standard_D2s_v5' }),
    aPool('plain', { vmSize: 'Standard_D2s_v5' }),
    aPool('vms', { kind: 'vms-pool', vmSize: 'Standard_D2s_v5' }),
  ]),
  { knobs: { throttling: false } },
);

const idOf = (name: string): string =>
  `/subscriptions/${rig().spec.subscriptionId}/resourceGroups/${RG}/providers/Microsoft.Compute/disks/${name}`;
const slot = (lun: number, name: string) => ({ lun, createOption: 'Attach', managedDisk: { id: idOf(name) } });
const draft = (more: Partial<Disk> = {}): Disk => ({
  location: 'westeurope',
  sku: { name: 'StandardSSD_LRS' },
  creationData: { createOption: 'Empty' },
  diskSizeGB: 8,
  ...more,
});

async function make(name: string, more: Partial<Disk> = {}): Promise<Disk> {
  const poller = rig().compute.disks.createOrUpdate(RG, name, draft(more));
  await poller.submitted();
  rig().clock.advance(MINUTE);
  return poller.pollUntilDone();
}

const disk = (name: string) => rig().compute.disks.get(RG, name);
const vm = (pool: string, instance = '0') => rig().compute.virtualMachineScaleSetVMs.get(RG, rig().set(pool), instance);
const put = (pool: string, instance: string, dataDisks: readonly unknown[]) =>
  rig().call('PUT', `${setPath(rig(), pool)}/virtualMachines/${instance}?${VERSION}`, {
    body: { properties: { storageProfile: { dataDisks } } },
  });

async function attach(pool: string, instance: string, ...names: readonly string[]): Promise<void> {
  expect(
    (
      await put(
        pool,
        instance,
        names.map((name, lun) => slot(lun, name)),
      )
    ).status,
  ).toBe(200);
  rig().clock.advance(MINUTE);
}

describe('a managed disk', () => {
  it('is created in an operation of its own, and has the tier, state and times of Azure', async () => {
    const poller = rig().compute.disks.createOrUpdate(RG, 'data', draft({ sku: { name: 'Premium_LRS' }, diskSizeGB: 100, zones: ['1'] }));
    await poller.submitted();
    expect(await disk('data')).toMatchObject({ provisioningState: 'Updating', diskState: 'Unattached' });
    rig().clock.advance(MINUTE);
    expect(await poller.pollUntilDone()).toMatchObject({
      id: idOf('data'),
      zones: ['1'],
      sku: { name: 'Premium_LRS', tier: 'Premium' },
      tier: 'P10',
      diskSizeGB: 100,
      diskIopsReadWrite: 500,
      provisioningState: 'Succeeded',
      diskState: 'Unattached',
      encryption: { type: 'EncryptionAtRestWithPlatformKey' },
    });
    expect((await disk('data')).managedBy).toBeUndefined();
  });

  it('is listed beside the disks of operating systems, which their VMs own', async () => {
    await make('listed');
    const listed = new Map<string, Disk>();
    for await (const each of rig().compute.disks.listByResourceGroup(RG)) listed.set(each.name ?? '', each);
    const os = [...listed.values()].filter(({ osType }) => osType === 'Linux');
    expect(listed.get('listed')).toMatchObject({ diskState: 'Unattached', sku: { name: 'StandardSSD_LRS' } });
    expect([os.length, os[0]?.diskState]).toEqual([6, 'Attached']);
    expect(os[0]?.managedBy).toBe(`${setPath(rig(), 'zonal')}/virtualMachines/${rig().set('zonal')}_0`);
    await expect(rig().compute.disks.delete(RG, os[0]?.name ?? '')).rejects.toMatchObject({ statusCode: 409, code: 'OperationNotAllowed' });
  });

  it('grows and changes tags, and does not shrink or change its zone', async () => {
    await make('sized', { tags: { team: 'a' } });
    const poller = rig().compute.disks.update(RG, 'sized', { diskSizeGB: 16, tags: { team: 'b' } });
    await poller.submitted();
    rig().clock.advance(MINUTE);
    expect(await poller.pollUntilDone()).toMatchObject({ diskSizeGB: 16, tags: { team: 'b' } });
    await expect(rig().compute.disks.update(RG, 'sized', { diskSizeGB: 4 })).rejects.toThrow('cannot be resized down');
    await expect(rig().compute.disks.createOrUpdate(RG, 'sized', draft({ diskSizeGB: 16, zones: ['2'] }))).rejects.toMatchObject({
      code: 'PropertyChangeNotAllowed',
    });
  });

  it.each([
    { what: 'no size', more: { diskSizeGB: undefined }, code: 'InvalidParameter' },
    { what: 'a size that is too large', more: { diskSizeGB: 40_000 }, code: 'InvalidParameter' },
    { what: 'no creation data', more: { creationData: undefined }, code: 'InvalidParameter' },
    { what: 'a zone-redundant SKU in one zone', more: { sku: { name: 'Premium_ZRS' }, zones: ['1'] }, code: 'OperationNotAllowed' },
    { what: 'a region that the group does not have', more: { location: 'mars' }, code: 'LocationNotAvailableForResourceType' },
    { what: 'a copy, which is not emulated', more: { creationData: { createOption: 'Copy' } }, code: 'NotSupported' },
  ])('is refused with $what', async ({ more, code }) => {
    await expect(rig().compute.disks.createOrUpdate(RG, 'wrong', { ...draft(), ...(more as Partial<Disk>) })).rejects.toMatchObject({
      code,
    });
    await expect(disk('wrong')).rejects.toMatchObject({ statusCode: 404, code: 'ResourceNotFound' });
  });

  it('is deleted in an operation; the deletion of none succeeds', async () => {
    await make('old');
    const poller = rig().compute.disks.delete(RG, 'old');
    await poller.submitted();
    rig().clock.advance(MINUTE);
    await poller.pollUntilDone();
    await expect(disk('old')).rejects.toMatchObject({ statusCode: 404 });
    await rig().compute.disks.delete(RG, 'old');
  });
});

describe('the slots of a VM', () => {
  it('take a disk after a while, show it with its slot, and give it back', async () => {
    await make('a');
    expect((await put('plain', '0', [{ ...slot(3, 'a'), caching: 'ReadOnly' }])).status).toBe(200);
    const during = await vm('plain');
    expect([during.provisioningState, during.storageProfile?.dataDisks?.length]).toEqual(['Updating', 1]);
    expect((await disk('a')).diskState).toBe('Unattached');
    rig().clock.advance(MINUTE);
    const after = await vm('plain');
    expect(after.storageProfile?.dataDisks).toMatchObject([{ lun: 3, name: 'a', caching: 'ReadOnly', diskSizeGB: 8, toBeDetached: false }]);
    expect([after.provisioningState, (await disk('a')).diskState]).toEqual(['Succeeded', 'Attached']);
    expect((await disk('a')).managedBy).toBe(`${setPath(rig(), 'plain')}/virtualMachines/${rig().set('plain')}_0`);
    await expect(rig().compute.disks.delete(RG, 'a')).rejects.toThrow('Disk a is attached to VM');
    const leaving = await put('plain', '0', [{ ...slot(3, 'a'), toBeDetached: true }]);
    expect((await vm('plain')).storageProfile?.dataDisks).toMatchObject([{ name: 'a', toBeDetached: true }]);
    expect([leaving.status, (await put('plain', '0', [slot(3, 'a')])).json]).toMatchObject([
      200,
      { error: { code: 'AttachDiskWhileBeingDetached' } },
    ]);
    rig().clock.advance(MINUTE);
    expect([(await vm('plain')).storageProfile?.dataDisks, (await disk('a')).diskState]).toEqual([[], 'Unattached']);
  });

  it('are as many as the size has, and none twice', async () => {
    const names = ['m0', 'm1', 'm2', 'm3', 'm4'];
    for (const name of names) await make(name);
    const most = await put(
      'plain',
      '1',
      names.map((name, lun) => slot(lun, name)),
    );
    expect([most.status, most.json]).toMatchObject([
      409,
      {
        error: {
          code: 'OperationNotAllowed',
          message: 'The maximum number of data disks allowed to be attached to a VM of this size is 4.',
          target: 'dataDisks',
        },
      },
    ]);
    const twice = await put('plain', '1', [slot(2, 'm0'), slot(2, 'm1')]);
    expect([twice.status, twice.json]).toMatchObject([
      400,
      { error: { code: 'InvalidParameter', message: 'A disk at LUN 2 already exists.' } },
    ]);
    expect((await vm('plain', '1')).storageProfile?.dataDisks).toEqual([]);
  });

  it('refuse a disk of another VM, of another zone, of none, and one that does not exist', async () => {
    await make('shared');
    await make('two', { zones: ['2'] });
    await make('redundant', { sku: { name: 'StandardSSD_ZRS' } });
    await attach('plain', '0', 'shared');
    expect(await put('plain', '1', [slot(0, 'shared')])).toMatchObject({
      status: 409,
      json: { error: { code: 'ConflictingUserInput', target: idOf('shared') } },
    });
    const zone = await put('zonal', '0', [slot(0, 'two')]);
    const message = `Disk ${idOf('two')} cannot be attached to the VM because it is not in the same zone as the VM. VM zone: '1'. Disk zone: '2'.`;
    expect([zone.status, zone.json]).toMatchObject([400, { error: { code: 'BadRequest', message } }]);
    await make('regional');
    const regional = await put('zonal', '0', [slot(0, 'regional')]);
    expect(regional.json).toMatchObject({
      error: { message: `Disk ${idOf('regional')} cannot be attached to the VM because it is not in zone '1'.` },
    });
    expect((await put('zonal', '0', [slot(0, 'none')])).status).toBe(404);
    await attach('zonal', '0', 'redundant');
    expect((await disk('redundant')).diskState).toBe('Attached');
    await put('plain', '0', []);
    rig().clock.advance(MINUTE);
  });

  it('also change by the call that names disks only, of an instance and of a VM', async () => {
    await make('b0');
    await make('b1');
    const { compute } = rig();
    const set = rig().set('plain');
    const first = compute.virtualMachineScaleSetVMs.attachDetachDataDisks(RG, set, '0', { dataDisksToAttach: [{ diskId: idOf('b0') }] });
    await first.submitted();
    rig().clock.advance(MINUTE);
    expect((await first.pollUntilDone()).dataDisks).toMatchObject([{ name: 'b0', lun: 0 }]);
    const parameters = { dataDisksToAttach: [{ diskId: idOf('b1') }], dataDisksToDetach: [{ diskId: idOf('b0') }] };
    await compute.virtualMachineScaleSetVMs.attachDetachDataDisks(RG, set, '0', parameters).submitted();
    rig().clock.advance(MINUTE);
    expect((await vm('plain')).storageProfile?.dataDisks).toMatchObject([{ name: 'b1', lun: 1 }]);
    const standalone: string[] = [];
    for await (const each of compute.virtualMachines.list(RG)) standalone.push(each.name ?? '');
    await compute.virtualMachines
      .attachDetachDataDisks(RG, standalone[0] ?? '', { dataDisksToAttach: [{ diskId: idOf('b0') }] })
      .submitted();
    rig().clock.advance(MINUTE);
    expect((await disk('b0')).managedBy).toMatch(/\/virtualMachines\/aks-vms-/);
  });

  it('lose nothing when the VM goes: its disks stay, unattached; a stopped VM reserves them', async () => {
    await make('kept');
    await make('gone');
    await put('plain', '1', [slot(0, 'kept'), { ...slot(1, 'gone'), deleteOption: 'Delete' }]);
    rig().clock.advance(MINUTE);
    await rig().compute.virtualMachineScaleSetVMs.deallocate(RG, rig().set('plain'), '1').submitted();
    rig().clock.advance(5 * MINUTE);
    expect((await disk('kept')).diskState).toBe('Reserved');
    await rig()
      .compute.virtualMachineScaleSets.deleteInstances(RG, rig().set('plain'), { instanceIds: ['1'] })
      .submitted();
    expect((await disk('kept')).managedBy).toContain('/virtualMachines/');
    rig().clock.advance(10 * MINUTE);
    expect(await disk('kept')).toMatchObject({ diskState: 'Unattached', provisioningState: 'Succeeded' });
    expect((await disk('kept')).managedBy).toBeUndefined();
    await expect(disk('gone')).rejects.toMatchObject({ statusCode: 404 });
  });
});
