/** A scale set is not written more often than Azure allows, whatever the demand. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { rig, USER_POOL } from '../azure/rig.ts';

describe('the rate of writes', () => {
  it('a demand that grows by the second: ten writes, then growth waits and the next one carries all of it', async () => {
    const r = await rig({ nodeGroups: [{ name: USER_POOL, min: 0, max: 100 }] });
    const set = r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    const said = new Set<string | undefined>();
    for (let second = 0; second < 60; second++) {
      const group = r.group(USER_POOL);
      said.add(group.growthHeld);
      if (group.growthHeld === undefined) await r.increase(USER_POOL, second + 2, group);
      await r.pass(1_000);
    }
    const puts = r.arm.sent('PUT', USER_POOL);
    expect(puts.length).toBeLessThanOrEqual(10 + 4);
    expect([...said]).toEqual([undefined, expect.stringContaining('it has used up its writes')]);
    await r.pass(15_000);
    const group = r.group(USER_POOL);
    expect(group.growthHeld).toBeUndefined();
    expect(await r.increase(USER_POOL, 61, group)).toMatchObject({ kind: 'accepted', target: 61 });
    expect(set.capacity).toBe(61);
  });

  it('a plan that was made before the limit was reached is refused, and no failure', async () => {
    const r = await rig({ nodeGroups: [{ name: USER_POOL, min: 0, max: 100 }] });
    r.arm.addSet(USER_POOL, 1);
    await r.azure.start(r.signal);
    for (let to = 2; to <= 11; to++) expect(await r.increase(USER_POOL, to)).toMatchObject({ kind: 'accepted' });
    expect(await r.increase(USER_POOL, 12)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('it has used up its writes'),
    });
  });

  it('removals get their turn all the same, and wait if no token is left', async () => {
    const r = await rig({ nodeGroups: [{ name: USER_POOL, min: 0, max: 100 }] });
    r.arm.addSet(USER_POOL, 9);
    await r.azure.start(r.signal);
    const keys = (r.group(USER_POOL).instances ?? []).map(({ key }) => key);
    for (let to = 10; to <= 19; to++) await r.increase(USER_POOL, to);
    // Only while nothing is in flight may machines be removed.
    for (const operation of r.arm.operations.values()) operation.status = 'Succeeded';
    for (const [, one] of r.arm.sets) one.state = 'Succeeded';
    const remove = (place: number) => {
      if (r === undefined) throw new Error('no rig');
      const instances = keys.slice(place, place + 1);
      return r.azure.deleteInstances({ ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances, allowBelowMin: true }, r.signal);
    };
    await r.pass(12_000);
    const removals = [remove(0), remove(1), remove(2)];
    await r.quiet();
    const posts = (): number => r.arm.sent('POST', '/delete').length;
    expect(posts()).toBe(2);
    await r.pass(15_000);
    expect(posts()).toBe(3);
    expect((await Promise.all(removals)).map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted']);
  });
});
