/** Limits and pauses of schedules, by the real clients: what plans see, and what is obeyed once more after the reads that a write waits for. */
import { describe, expect, it } from 'vitest';
import { instanceKey, nodeGroupId } from '../../src/domain/ids.ts';
import { defined } from '../../src/lib/defined.ts';
import { localTimeAt, timeText } from '../../src/domain/schedules/local-time.ts';
import { NODE_GROUP, SUBSCRIPTION } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';
import { START_MS } from '../support/builders.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { schedulesOf } from '../support/schedules.ts';

const MINUTE = 60_000;
/** A time of day so many minutes after the start of the test. */
const after = (minutes: number): string => `"${timeText(localTimeAt(START_MS + minutes * MINUTE, 'UTC').minute)}"`;

async function started(rules: string, size = 5): Promise<Rig> {
  const r = await rig({ schedules: schedulesOf(`rules: [${rules}]`) });
  r.arm.addSet(USER_POOL, size, { tags: { 'aks-managed-poolName': 'user1' } });
  await r.azure.start(r.signal);
  return r;
}

const remove = (r: Rig, objections?: () => Promise<ReadonlyMap<never, string>>) => {
  const instances = [instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|${USER_POOL}|1`.toLowerCase())];
  return r.azure.deleteInstances(
    { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances, allowBelowMin: false, ...defined({ objections }) },
    r.signal,
  );
};
const sent = ({ arm }: Rig): number => arm.requests.filter(({ method, path }) => method !== 'GET' && !path.includes('oauth2')).length;
const SELECTION = { nodeGroups: [{ name: USER_POOL, min: 1, max: 10 }], discovery: [] };
/** Other rules, as a rule that begins at that moment would be. */
const change = (r: Rig, rule: string): void => r.azure.regroup({ ...SELECTION, schedules: schedulesOf(`rules: [${rule}]`) });
/** Changes the rules when the next request of this kind is under way. */
function changeDuring(r: Rig, kind: 'GET' | 'PUT', rule: string): void {
  r.arm.intercept = ({ method }) => {
    if (method === kind) change(r, rule);
    return undefined;
  };
}

describe('a scheduled group', () => {
  it('has the limits of its rules while they hold, and those of the pool before and after', async () => {
    const r = await started(`{pools: [user1], from: ${after(10)}, to: ${after(40)}, min: 3, max: 7}`);
    const limits = () => [r.group(USER_POOL).minSize, r.group(USER_POOL).maxSize];
    expect(limits()).toEqual([1, 10]);
    await r.pass(5 * MINUTE);
    // Prepared for the five minutes that a node is assumed to need.
    expect(limits()).toEqual([3, 10]);
    await r.pass(5 * MINUTE);
    expect(limits()).toEqual([3, 7]);
    expect(r.group(USER_POOL).schedule).toMatchObject({
      min: { value: 3, rule: 1 },
      max: { value: 7 },
      pool: { names: [USER_POOL, USER_POOL, 'user1'], min: 1, max: 10 },
    });
    await r.pass(30 * MINUTE);
    expect([...limits(), r.group(USER_POOL).schedule]).toEqual([1, 10, { pool: expect.anything() }]);
  });

  it('is prepared as long before as its own nodes took', async () => {
    const r = await started(`{from: ${after(60)}, to: ${after(90)}, min: 3}`);
    r.azure.noteStartTimes(new Map([[nodeGroupId(USER_POOL), [20 * MINUTE, 30 * MINUTE]]]));
    await r.pass(29 * MINUTE);
    expect(r.group(USER_POOL).minSize).toBe(1);
    await r.pass(MINUTE);
    expect(r.group(USER_POOL).minSize).toBe(3);
  });

  it('has the headroom of its rules, and no repacking where they say so', async () => {
    const r = await started('{headroom: {nodes: 1}, repack: off}, {from: "00:00", to: "00:30", repack: on}');
    expect(r.group(USER_POOL).options).toEqual({ headroom: [{ kind: 'nodes', nodes: 1 }] });
    await r.pass(31 * MINUTE);
    expect(r.group(USER_POOL).options).toEqual({ headroom: [{ kind: 'nodes', nodes: 1 }], repack: false });
  });

  it('takes changed rules without a restart', async () => {
    const r = await started('{min: 3}');
    expect(r.group(USER_POOL).minSize).toBe(3);
    change(r, '{min: 4}');
    expect(r.group(USER_POOL).minSize).toBe(4);
    r.azure.regroup(SELECTION);
    expect(r.group(USER_POOL).minSize).toBe(1);
  });

  it('names rules without a group and rules that a pool does not let hold', async () => {
    const r = await started('{pools: [user2], min: 3}, {min: 12}, {min: 0, max: 5}');
    expect(r.view().scheduleFindings).toEqual([
      'Schedule rule 1 is about no node group.',
      `Schedule rule 2: min 12 is above the maximum of node group ${USER_POOL}; its maximum of 10 holds.`,
      `Schedule rule 3: min 0 is below the minimum of node group ${USER_POOL}; its minimum of 1 holds.`,
    ]);
  });

  it('whose maximum falls before the write is not increased above it', async () => {
    const r = await started(`{from: ${after(1)}, to: ${after(40)}, max: 5}`);
    const group = r.group(USER_POOL);
    await r.pass(MINUTE);
    expect(await r.increase(USER_POOL, 6, group)).toMatchObject({ kind: 'refused', reason: '6 is above its maximum of 5' });
    expect(sent(r)).toBe(0);
  });

  it('whose minimum rises before a deletion keeps its nodes', async () => {
    const r = await started(`{from: ${after(6)}, to: ${after(40)}, min: 5}`);
    r.view();
    await r.pass(MINUTE);
    expect(await remove(r)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('minimum') });
    expect(sent(r)).toBe(0);
  });

  it.each([
    ['scaleDown: off', 'accepted', 'refused'],
    ['scaleDown: only', 'accepted', 'accepted'],
    ['pause: true', 'refused', 'refused'],
  ] as const)('with %s: an increase is %s, a deletion %s', async (says, increased, deleted) => {
    const reason = expect.stringMatching(/paused until .* by schedule rule 1/);
    for (const [write, kind] of [
      [(r: Rig) => r.increase(USER_POOL, 6), increased],
      [remove, deleted],
    ] as const) {
      const r = await started(`{from: ${after(-10)}, to: ${after(40)}, ${says}}`);
      r.view();
      expect(await write(r)).toMatchObject(kind === 'refused' ? { kind, reason } : { kind });
      expect(sent(r)).toBe(kind === 'refused' ? 0 : 1);
    }
  });

  it('whose removals end while a deletion reads Azure loses nothing', async () => {
    const r = await started('{max: 9}');
    r.view();
    changeDuring(r, 'GET', '{scaleDown: off}');
    expect(await remove(r)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('by schedule rule 1') });
    expect(sent(r)).toBe(0);
  });

  it('whose minimum rises while a deletion takes its last look loses nothing', async () => {
    const r = await started('{max: 9}');
    r.view();
    const rises = () => {
      change(r, '{min: 5}');
      return Promise.resolve(new Map<never, string>());
    };
    expect(await remove(r, rises)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('the minimum of its node group is 5 now'),
    });
    expect(sent(r)).toBe(0);
  });

  it('whose maximum falls while an increase waits for another write is not increased above it', async () => {
    const r = await started('{max: 9}');
    const group = r.group(USER_POOL);
    changeDuring(r, 'PUT', '{max: 6}');
    const [first, second] = await Promise.all([r.increase(USER_POOL, 6, group), r.increase(USER_POOL, 7, group)]);
    expect([first.kind, second.kind]).toEqual(['accepted', 'conflict']);
    expect(await r.increase(USER_POOL, 7)).toMatchObject({ kind: 'refused', reason: '7 is above its maximum of 6' });
    expect(sent(r)).toBe(1);
  });
});
