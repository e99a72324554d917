/** Stock that is returned, and a world that runs faster than real time. */
import { describe, expect, it } from 'vitest';
import { stockKey } from '../../../simulator/arm/state/stock-and-quota.ts';
import { Throttle } from '../../../simulator/arm/http/throttling.ts';
import type { SimClock } from '../../../simulator/base/sim-clock.ts';
import { MINUTE, VERSION, aPool, aWorld, operationOf, scale, setPath, startRig, stateOf } from './harness.ts';

describe('stock', () => {
  it('a machine gives its place back when it goes, and when it is deallocated', async () => {
    const rig = await startRig(aWorld([aPool('a')], { stock: { 'Standard_D4s_v5/0': 1 } }));
    const left = (): number | undefined => rig.arm.control.state().stock[stockKey('Standard_D4s_v5', undefined)];
    await scale(rig, 'a', 3);
    expect(left()).toBe(0);
    await rig.call('POST', `${setPath(rig, 'a', '/delete')}?${VERSION}`, { body: { instanceIds: ['2'] } });
    expect(left()).toBe(0);
    rig.clock.advance(10 * MINUTE);
    expect(left()).toBe(1);
    await rig.call('POST', `${setPath(rig, 'a', '/deallocate')}?${VERSION}`, { body: { instanceIds: ['1'] } });
    rig.clock.advance(10 * MINUTE);
    expect(left()).toBe(2);
    rig.arm.control.setStock('Standard_D4s_v5', '0', 0);
    const started = await rig.call('POST', `${setPath(rig, 'a', '/start')}?${VERSION}`, { body: { instanceIds: ['1'] } });
    rig.clock.advance(10 * MINUTE);
    expect((await operationOf(rig, started)).json).toMatchObject({ status: 'Failed', error: { code: 'AllocationFailed' } });
    expect(stateOf(rig, 'a').instances[1]).toMatchObject({ power: 'deallocated' });
  });

  // azure-wire 478: allocation of Spot VMs fails where regular ones are still given.
  it('of Spot machines may be empty while regular ones of the size are left', async () => {
    const rig = await startRig(aWorld([aPool('a'), aPool('s', { priority: 'Spot' })]));
    rig.arm.control.setStock('Standard_D4s_v5', '0', 0, 'Spot');
    rig.arm.control.setStock('Standard_D4s_v5', '0', 9);
    const [regular, spot] = [await scale(rig, 'a', 4), await scale(rig, 's', 4)];
    rig.clock.advance(10 * MINUTE);
    expect((await operationOf(rig, regular)).json).toMatchObject({ status: 'Succeeded' });
    expect((await operationOf(rig, spot)).json).toMatchObject({ status: 'Failed', error: { code: 'AllocationFailed' } });
    expect(rig.arm.control.state().stock).toEqual({ 'standard_d4s_v5/0': 7, 'standard_d4s_v5/0/spot': 0 });
  });

  it.each([
    { what: 'unlisted and the capacity kept', knobs: { listFailedInstances: false }, capacity: 3 },
    { what: 'unlisted and the capacity rolled back', knobs: { rollbackOnFail: true }, capacity: 2 },
  ])('failed machines are $what when the knob says so', async ({ knobs, capacity }) => {
    const rig = await startRig(aWorld([aPool('a')], { stock: { 'Standard_D4s_v5/0': 0 } }), { knobs });
    const put = await scale(rig, 'a', 3);
    rig.clock.advance(10 * MINUTE);
    expect((await operationOf(rig, put)).json).toMatchObject({ status: 'Failed' });
    expect(stateOf(rig, 'a').instances).toHaveLength(2);
    expect(stateOf(rig, 'a').capacity).toBe(capacity);
  });
});

describe('speed', () => {
  it.each([
    { speed: 1, retryAfter: '15' },
    { speed: 5, retryAfter: '3' },
    { speed: 100, retryAfter: '1' },
  ])('at $speed times, budgets refill faster and Retry-After is shorter, never under a second', ({ speed, retryAfter }) => {
    let now = 0;
    const clock: SimClock = { now: () => now, speed, after: () => () => undefined };
    const throttle = new Throttle(clock);
    const put = () =>
      throttle.charge({ method: 'PUT', clientId: 'c', subscription: 's', compute: 'CreateVMScaleSet', resource: 'a' }).refusal;
    for (let count = 0; count < 12; count++) expect(put()).toBeUndefined();
    expect(put()?.headers).toMatchObject({ 'retry-after': retryAfter });
    now += Number(retryAfter) * 1000;
    expect(put()).toBeUndefined();
  });
});

describe('machines that fail by themselves', () => {
  it.each([
    { knob: 'bootstrapFailureRate', code: 'VMExtensionProvisioningError' },
    { knob: 'osTimeoutRate', code: 'OSProvisioningTimedOut' },
  ])('at a $knob of 1, $code', async ({ knob, code }) => {
    const rig = await startRig(aWorld([aPool('a', { count: 1 })]), { knobs: { [knob]: 1 } });
    await scale(rig, 'a', 2);
    rig.clock.advance(30 * MINUTE);
    expect(stateOf(rig, 'a').instances.map(({ provisioningState, error }) => [provisioningState, error])).toEqual([
      ['Succeeded', undefined],
      ['Failed', code],
    ]);
  });
});
