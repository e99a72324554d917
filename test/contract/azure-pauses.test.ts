/** Writes into a pause, by the real clients: refused before a call, and once more after the reads that a write waits for. */
import { describe, expect, it } from 'vitest';
import { instanceKey, nodeGroupId } from '../../src/domain/ids.ts';
import { NO_PAUSES, type PauseDirection, type Pauses } from '../../src/domain/ports/pauses.ts';
import { NODE_GROUP, SUBSCRIPTION, type ScriptedSet } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { START_MS } from '../support/builders.ts';

const HOUR = 3_600_000;
const pausing = (direction: PauseDirection, pool: string | undefined = 'user1'): Pauses => ({
  pauses: [{ pool, direction, untilMs: START_MS + HOUR, by: 'ann', reason: 'upgrade', problem: undefined }],
  unreadable: [],
});

async function started(): Promise<{ readonly r: Rig; readonly set: ScriptedSet; readonly pause: (pauses: Pauses) => void }> {
  let current = NO_PAUSES;
  const r = await rig({}, { pauses: { current: () => current } });
  const set = r.arm.addSet(USER_POOL, 5, { tags: { 'aks-managed-poolName': 'user1' } });
  await r.azure.start(r.signal);
  return {
    r,
    set,
    pause: (pauses) => {
      current = pauses;
    },
  };
}

const remove = (r: Rig) => {
  const instances = [instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|${USER_POOL}|1`.toLowerCase())];
  return r.azure.deleteInstances({ ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances, allowBelowMin: false }, r.signal);
};
const sent = ({ arm }: Rig): number => arm.requests.filter(({ method, path }) => method !== 'GET' && !path.includes('oauth2')).length;
const reason = expect.stringMatching(/paused until .* by ann: upgrade/);

describe('a paused group', () => {
  it.each([
    ['both', { frozen: reason, growthHeld: undefined, removalsHeld: undefined }],
    ['scale-up', { frozen: undefined, growthHeld: reason, removalsHeld: undefined }],
    ['scale-down', { frozen: undefined, growthHeld: undefined, removalsHeld: reason }],
  ] as const)('is shown so, until the pause is over: %s', async (direction, texts) => {
    const { r, pause } = await started();
    pause(pausing(direction));
    expect(r.group(USER_POOL)).toMatchObject(texts);
    await r.pass(HOUR);
    expect(r.group(USER_POOL)).toMatchObject({ growthHeld: undefined, removalsHeld: undefined });
    expect(r.group(USER_POOL).blocks.change?.code).not.toBe('paused');
  });

  it.each([
    ['both', 'refused', 'refused'],
    ['scale-up', 'refused', 'accepted'],
    ['scale-down', 'accepted', 'refused'],
  ] as const)('of the direction %s: an increase is %s, a deletion %s', async (direction, increased, deleted) => {
    for (const [write, kind] of [
      [(r: Rig) => r.increase(USER_POOL, 6), increased],
      [remove, deleted],
    ] as const) {
      const { r, pause } = await started();
      pause(pausing(direction));
      r.view();
      const calls = r.arm.requests.length;
      expect(await write(r)).toMatchObject(kind === 'refused' ? { kind, reason } : { kind });
      expect(sent(r)).toBe(kind === 'refused' ? 0 : 1);
      if (kind === 'refused') expect(r.arm.requests).toHaveLength(calls);
    }
  });

  it('that is paused while a deletion reads Azure loses nothing', async () => {
    const { r, pause } = await started();
    r.arm.intercept = ({ method }) => {
      if (method === 'GET') pause(pausing('both', undefined));
      return undefined;
    };
    expect(await remove(r)).toMatchObject({ kind: 'refused', reason });
    expect(sent(r)).toBe(0);
  });

  it('that is paused while an increase waits for another write is not written', async () => {
    const { r, pause } = await started();
    const group = r.group(USER_POOL);
    r.arm.intercept = ({ method }) => {
      if (method === 'PUT') pause(pausing('scale-up'));
      return undefined;
    };
    const [first, second] = await Promise.all([r.increase(USER_POOL, 6, group), r.increase(USER_POOL, 7, group)]);
    expect(first).toMatchObject({ kind: 'accepted' });
    expect(second).toMatchObject({ kind: 'refused', busy: true, reason });
    expect(sent(r)).toBe(1);
  });
});

it('a pause that names no group blocks nothing and is found', async () => {
  const { r, pause } = await started();
  pause(pausing('both', 'user2'));
  expect(r.view().pausesWithoutGroup).toEqual(['user2']);
  expect(r.group(USER_POOL).frozen).toBeUndefined();
  pause(pausing('both', undefined));
  expect([r.view().pausesWithoutGroup, r.group(USER_POOL).blocks.change?.code]).toEqual([[], 'paused']);
});
