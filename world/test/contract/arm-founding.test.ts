/** Scale sets and pools that appear and disappear, and clients that stay blind to what a fault hid. */
import { describe, expect, it } from 'vitest';
import { MINUTE, RG, VERSION, aPool, aWorld, scale, setPath, startRig, stateOf } from '../simulator/arm/harness.ts';

describe('founding and removal', () => {
  it('founds a set by PUT with 201, once, and removes it with everything in it', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const path = setPath(rig, 'a').replace(/[^/]+$/, 'mine');
    const body = { location: 'westeurope', sku: { name: 'Standard_E4s_v5', capacity: 2 }, tags: { poolName: 'mine', min: '0', max: '3' } };
    const headers = { 'if-none-match': '*' };
    const created = await rig.call('PUT', `${path}?${VERSION}`, { body, headers });
    expect(created).toMatchObject({ status: 201, headers: { etag: '"1"' }, json: { properties: { provisioningState: 'Creating' } } });
    expect((await rig.call('PUT', `${path}?${VERSION}`, { body, headers })).status).toBe(412);
    rig.clock.advance(10 * MINUTE);
    expect(stateOf(rig, 'mine')).toMatchObject({ capacity: 2, max: 3, provisioningState: 'Succeeded' });
    const deletion = rig.compute.virtualMachineScaleSets.delete(RG, 'mine');
    await deletion.submitted();
    rig.clock.advance(10 * MINUTE);
    await deletion;
    expect((await rig.call('GET', `${path}?${VERSION}`)).status).toBe(404);
    expect((await rig.call('DELETE', `${path}?${VERSION}`)).status).toBe(204);
    expect(rig.arm.machines.list()).toHaveLength(2);
  });

  it('pools come and go while the world runs', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    expect(rig.arm.control.raise({ addPool: aPool('late', { count: 1 }) })).toBeUndefined();
    expect(stateOf(rig, 'late').instances).toHaveLength(1);
    expect(rig.arm.control.raise({ addPool: aPool('late') })).toContain('already');
    const sizes = [{ vmSize: 'STANDARD_D4S_V5', count: 1 }];
    expect(rig.arm.control.raise({ addPool: aPool('twice', { kind: 'vms-pool', sizes }) })).toContain('twice');
    expect(rig.arm.control.raise({ removePool: { pool: 'a' } })).toBeUndefined();
    expect((await scale(rig, 'late', 2)).status).toBe(200);
    expect(rig.arm.machines.list().map((machine) => machine.pool)).toEqual(['late', 'late']);
  });

  it('refuses to start a world that makes no sense', async () => {
    await expect(startRig(aWorld([aPool('a', { vmSize: 'Standard_Nothing' })]))).rejects.toThrow('Standard_Nothing');
  });

  it.each([
    { what: 'a negative capacity', body: { location: 'westeurope', sku: { capacity: -1 } }, status: 400, code: 'InvalidParameter' },
    { what: 'a capacity over a thousand', body: { location: 'westeurope', sku: { capacity: 1_001 } }, status: 400, code: 'BadRequest' },
    { what: 'another region', body: { location: 'mars', sku: { capacity: 3 } }, status: 409, code: 'InvalidResourceLocation' },
    { what: 'no location', body: { sku: { capacity: 3 } }, status: 400, code: 'LocationRequired' },
    {
      what: 'another orchestration mode',
      body: { location: 'westeurope', properties: { orchestrationMode: 'Flexible' } },
      status: 409,
      code: 'PropertyChangeNotAllowed',
    },
    { what: 'broken JSON', body: '{"location":', status: 400, code: 'InvalidRequestContent' },
  ])('$what is refused and changes nothing', async ({ body, status, code }) => {
    const rig = await startRig(aWorld([aPool('a')]));
    expect(await rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, { body })).toMatchObject({ status, json: { error: { code } } });
    expect(stateOf(rig, 'a')).toMatchObject({ capacity: 2, etag: '"1"' });
  });

  describe('the capacity falls some time after an accepted delete', () => {
    const laggingRig = async () => {
      const rig = await startRig(aWorld([aPool('a', { count: 3, max: 9 })]), { knobs: { capacityLagAfterDeleteMs: 30_000 } });
      await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['0'] } });
      const read = async (): Promise<unknown> => {
        const { sku, etag } = await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'));
        return [sku?.capacity, etag];
      };
      const put = (capacity: number, etag: string) =>
        rig.call('PUT', `${setPath(rig, 'a')}?${VERSION}`, {
          headers: { 'if-match': etag },
          body: { location: 'westeurope', sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity } },
        });
      const staying = () => stateOf(rig, 'a').instances.filter(({ provisioningState }) => provisioningState !== 'Deleting').length;
      return { rig, read, put, staying };
    };

    it('with the tag, and not before: equal tags mean equal capacities', async () => {
      const { rig, read } = await laggingRig();
      expect(await read()).toEqual([3, '"1"']);
      rig.clock.advance(30_000);
      expect(await read()).toEqual([2, '"2"']);
    });

    it('at the latest when the delete ends, and once', async () => {
      const rig = await startRig(aWorld([aPool('a', { count: 3 })]), { knobs: { capacityLagAfterDeleteMs: 3_600_000 } });
      await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['0'] } });
      for (const ms of [600_000, 3_600_000]) {
        rig.clock.advance(ms);
        expect(stateOf(rig, 'a')).toMatchObject({ capacity: 2, provisioningState: 'Succeeded' });
      }
    });

    it('a write under the old tag adds to the old number, and the delete is subtracted from the result', async () => {
      const { rig, read, put, staying } = await laggingRig();
      expect(await put(4, '"1"')).toMatchObject({ status: 200 });
      expect([await read(), staying()]).toEqual([[4, '"2"'], 3]);
      rig.clock.advance(30_000);
      expect([await read(), staying()]).toEqual([[3, '"3"'], 3]);
    });

    it('a write below the old number removes an instance that the client never named', async () => {
      const { rig, put, staying } = await laggingRig();
      await put(2, '"1"');
      expect(staying()).toBe(1);
      expect(rig.violations.list().map(({ rule }) => rule)).toContain('capacity-lowered-by-put');
    });

    it('a write under a tag from before the fall is refused after it', async () => {
      const { rig, put } = await laggingRig();
      rig.clock.advance(30_000);
      expect(await put(4, '"1"')).toMatchObject({ status: 412 });
    });
  });
});
