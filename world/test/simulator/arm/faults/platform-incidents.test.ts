/** Actions of the platform, raised by a test: repairs and zone outages; and the speed of a world in real time. */
import { describe, expect, it } from 'vitest';
import { realSimClock } from '../../../../simulator/base/sim-clock.ts';
import { MINUTE, aPool, aWorld, startRig, type Rig } from '../harness.ts';

async function inRig(pool: Parameters<typeof aPool>[1], story: (rig: Rig) => Promise<void> | void): Promise<void> {
  const rig = await startRig(aWorld([aPool('a', pool)]));
  await story(rig);
  expect(rig.violations.list()).toEqual([]);
}

const instances = (rig: Rig) => rig.arm.control.state().sets[0]?.instances ?? [];

describe('platform incidents', () => {
  it('a repair replaces an instance under another id, and the capacity stays', () =>
    inRig({ count: 2 }, (rig) => {
      expect(rig.arm.control.raise({ repair: { pool: 'a', instanceId: '0' } })).toBeUndefined();
      rig.clock.advance(10 * MINUTE);
      expect(instances(rig).map(({ id, power }) => [id, power])).toEqual([
        ['1', 'running'],
        ['2', 'running'],
      ]);
      expect(rig.arm.control.state().sets[0]?.capacity).toBe(2);
    }));

  it('a repair of an instance that is not there is refused in words', () =>
    inRig({}, (rig) =>
      expect(rig.arm.control.raise({ repair: { pool: 'a', instanceId: '77' } })).toContain('the instance to repair does not exist'),
    ));

  it('a dark zone has machines of unknown power and gives none; afterwards they run again', () =>
    inRig({ count: 2, zones: ['1', '2'] }, (rig) => {
      const stopped: string[] = [];
      rig.arm.machines.subscribe((change) => {
        if (change.kind === 'stopped') stopped.push(change.machine.zone ?? '');
      });
      expect(rig.arm.control.raise({ zoneDown: { zone: '1', forMs: 5 * MINUTE } })).toBeUndefined();
      expect(instances(rig).map(({ zone, power }) => [zone, power])).toEqual([
        ['1', 'unknown'],
        ['2', 'running'],
      ]);
      expect(stopped).toEqual(['1']);
      expect(rig.arm.control.state().stock).toMatchObject({ 'standard_d4s_v5/1': 0 });
      rig.clock.advance(6 * MINUTE);
      expect(instances(rig).map(({ power }) => power)).toEqual(['running', 'running']);
      expect(rig.arm.control.state().stock).toEqual({});
    }));

  it('a hung VM runs for Azure, and its kubelet is silent until it wakes', () =>
    inRig({ count: 2 }, (rig) => {
      const seen: string[] = [];
      rig.arm.machines.subscribe(({ kind, machine }) => seen.push(`${kind} ${machine.hostName.slice(-1)}`));
      const { control } = rig.arm;
      expect(control.raise({ hang: { pool: 'a', forMs: 5 * MINUTE } })).toBeUndefined();
      expect(control.raise({ hang: { pool: 'a', forMs: 1 * MINUTE } })).toBeUndefined();
      expect(control.raise({ hang: { pool: 'a' } })).toBe('pool "a" has 0 running VMs, and 1 must hang');
      expect(instances(rig).map(({ power }) => power)).toEqual(['running', 'running']);
      rig.clock.advance(6 * MINUTE);
      expect(seen).toEqual(['stopped 0', 'stopped 1', 'running 1', 'running 0']);
    }));

  it('a zone that no pool is in is refused in words', () =>
    inRig({}, (rig) => expect(rig.arm.control.raise({ zoneDown: { zone: '9' } })).toBe('no pool is in zone "9"')));

  it('are set over HTTP, and nonsense is answered with 400', () =>
    inRig({ count: 2, zones: ['1', '2'] }, async (rig) => {
      expect((await rig.call('POST', '/_emu/events', { body: { repair: { pool: 'a' } } })).status).toBe(200);
      expect((await rig.call('POST', '/_emu/events', { body: { zoneDown: { zone: '2' } } })).status).toBe(200);
      expect((await rig.call('POST', '/_emu/events', { body: { zoneDown: {} } })).status).toBe(400);
      expect((await rig.call('POST', '/_emu/clock', { body: { scale: 5 } })).status).toBe(400);
      const asForm = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
      expect((await rig.call('POST', '/_emu/events', { ...asForm, body: { repair: { pool: 'a' } } })).status).toBe(200);
    }));
});

describe('the speed of a world on real time', () => {
  it('can be changed while it runs', () => {
    const clock = realSimClock(10);
    clock.setSpeed(40);
    expect(clock.speed).toBe(40);
  });
});
