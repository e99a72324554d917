/** AKS's own count is brought in step with a scale set at rest, and nothing is lost on the way (`azure.syncAgentPoolCount`). */
import { describe, expect, it } from 'vitest';
import type { NodeGroupId } from '../../src/domain/ids.ts';
import { schedulesOf } from '../support/schedules.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { LOOP_MS, meet, SPEC, type Meeting, type MeetingPlace } from '../azure/meeting.ts';

const MINUTE = 60_000;
const ON = { syncAgentPoolCount: true };
/** An operation of AKS without new machines takes this long, and sets the capacity once more at its end. */
const slowAks = (ms: number): MeetingPlace => ({ knobs: { aksModelUpdate: { p50: ms, p95: ms }, aksRestoresAtEnd: true } });

const NONE: ReadonlySet<NodeGroupId> = new Set();

/** Lets time pass, observed as by the loop, with a turn of the synchronisation every ten seconds, or every minute in long waits. */
async function live(m: Meeting, ms: number, busy: ReadonlySet<NodeGroupId> = NONE): Promise<void> {
  const stepMs = ms < 5 * MINUTE ? LOOP_MS : 6 * LOOP_MS;
  for (let passed = 0; passed < ms; passed += stepMs) {
    await m.pass(stepMs, stepMs);
    await m.drive(m.azure.syncCounts(busy, m.signal));
  }
}

const counts = (m: Meeting) => {
  const { sets, agentPools } = m.arm.control.state();
  return [agentPools.find(({ name }) => name === 'general')?.size, sets.find(({ pool }) => pool === 'general')?.capacity];
};

const writes = (m: Meeting) =>
  m.arm.control
    .journal()
    .filter(({ method, path, pool }) => pool === 'general' && ['PUT', 'POST'].includes(method) && !path.includes('oauth2'))
    .map(({ route, status, etagIn }) => `${route.replace(/^.*\//, '')} ${status}${etagIn === undefined ? '' : ' if-match'}`);

/** Grown from 1 to 4 through the scale set: AKS counts 1. */
async function grown(rest: object = ON, place: MeetingPlace = {}): Promise<Meeting> {
  const m = await meet(rest, SPEC, place);
  await m.increase(m.group('general'), 3);
  await live(m, 5 * MINUTE);
  expect(counts(m)).toEqual([1, 4]);
  return m;
}

describe("AKS's count of a pool whose scale set was written", () => {
  it('is not touched by default', async () => {
    const m = await grown({});
    await live(m, 30 * MINUTE);
    expect([counts(m), writes(m)]).toEqual([[1, 4], ['{name} 200 if-match']]);
  });

  it('follows also while a schedule keeps nodes', async () => {
    const m = await grown({ ...ON, schedules: schedulesOf('rules: [{scaleDown: off}]') });
    await live(m, 14 * MINUTE);
    expect(counts(m)).toEqual([4, 4]);
  });

  it('follows after ten minutes at rest, under its tag, in one write; then an operation of AKS keeps every node', async () => {
    const m = await grown();
    await live(m, 4 * MINUTE);
    expect(counts(m)).toEqual([1, 4]);
    await live(m, 10 * MINUTE);
    expect([counts(m), writes(m)]).toEqual([
      [4, 4],
      ['{name} 200 if-match', '{pool} 200 if-match'],
    ]);
    await live(m, 5 * MINUTE);
    m.arm.control.raise({ rpReconcile: { pool: 'general' } });
    await live(m, 10 * MINUTE);
    expect(counts(m)).toEqual([4, 4]);
    expect(m.group('general')).toMatchObject({ target: { value: 4, confirmed: true }, frozen: undefined });
    expect(m.violations.list()).toEqual([]);
  });

  it('follows downwards too, never below the capacity', async () => {
    const m = await grown();
    await live(m, 15 * MINUTE);
    const group = m.group('general');
    const keys = (group.instances ?? []).slice(0, 2).map(({ key }) => key);
    await m.drive(m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: keys, allowBelowMin: false }, m.signal));
    await live(m, 20 * MINUTE);
    expect(counts(m)).toEqual([2, 2]);
    expect(m.violations.list()).toEqual([]);
  });

  it('waits while a group is busy, and while AKS runs its own autoscaler', async () => {
    const busy = await grown();
    await live(busy, 20 * MINUTE, new Set([busy.group('general').id]));
    expect(counts(busy)).toEqual([1, 4]);
    const pools = SPEC.pools.map((pool) => (pool.name === 'general' ? { ...pool, managedAutoscaler: true } : pool));
    const managed = await meet(ON, { ...SPEC, pools });
    managed.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    await live(managed, 30 * MINUTE);
    expect(writes(managed)).toEqual([]);
  });

  it.each([
    ['the scale set at the read before it', 'GET', '**/virtualMachineScaleSets/*general*', [1, 6], []],
    ["AKS's count at the read before it", 'GET', '**/agentPools/general', [3, 3], []],
    ["AKS's count right before it", 'PUT', '**/agentPools/general', [3, 3], ['{pool} 412 if-match']],
  ])('does not follow if another writer changes %s', async (_what, method, pathGlob, afterwards, tried) => {
    const m = await grown();
    await live(m, 4 * MINUTE);
    m.arm.control.addFault({ id: 'race', match: { method, pathGlob, nth: 1 }, effect: { kind: 'racing-writer', delta: 2 } });
    for (let step = 0; step < 60 && String(counts(m)) === '1,4'; step++) await live(m, 10_000);
    await live(m, MINUTE);
    expect([counts(m), writes(m)]).toEqual([afterwards, ['{name} 200 if-match', ...tried]]);
    m.arm.control.removeFault('race');
    await live(m, 25 * MINUTE);
    expect(new Set(counts(m))).toEqual(new Set([afterwards[1]]));
    expect(m.violations.list()).toEqual([]);
  });
});

describe('while AKS brings its count in step', () => {
  const during = async (): Promise<Meeting> => {
    const m = await grown(ON, slowAks(10 * MINUTE));
    for (let step = 0; step < 120 && !writes(m).includes('{pool} 200 if-match'); step++) await live(m, 10_000);
    await live(m, MINUTE);
    return m;
  };

  /** The next turn writes the count. */
  const atOnce = async (): Promise<Meeting> => {
    const m = await grown(ON, slowAks(10 * MINUTE));
    await live(m, 15 * MINUTE, new Set([m.group('general').id]));
    return m;
  };

  it('no write goes to the scale set; growth is held with a reason, and goes through AKS afterwards', async () => {
    const m = await during();
    const group = m.group('general');
    expect(group).toMatchObject({ frozen: undefined, growthHeld: expect.stringContaining('earlier operation of ours') as unknown });
    expect(await m.increase(group, 2)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('earlier operation of ours') as unknown,
    });
    for (let step = 0; step < 90 && m.group('general').growthHeld !== undefined; step++) await live(m, 10_000);
    expect(await m.increase(m.group('general'), 2)).toMatchObject({ kind: 'accepted', target: 6 });
    await live(m, 10 * MINUTE);
    expect([counts(m), writes(m)]).toEqual([
      [6, 6],
      ['{name} 200 if-match', '{pool} 200 if-match', '{pool} 200 if-match'],
    ]);
    expect(m.violations.list()).toEqual([]);
  });

  it('an increase that was already on its way to the scale set is not sent', async () => {
    const m = await atOnce();
    const [, increased] = await m.drive(Promise.all([m.azure.syncCounts(NONE, m.signal), m.increase(m.group('general'), 2)]));
    expect(increased).toMatchObject({ kind: 'refused', reason: 'it is written through AKS now' });
    expect(writes(m)).toEqual(['{name} 200 if-match', '{pool} 200 if-match']);
  });

  it('a removal that was already on its way to the scale set waits for its end', async () => {
    const m = await atOnce();
    const group = m.group('general');
    const keys = (group.instances ?? []).slice(0, 1).map(({ key }) => key);
    const sync = m.azure.syncCounts(NONE, m.signal);
    const removal = m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: keys, allowBelowMin: false }, m.signal);
    await m.drive(Promise.resolve(sync));
    await m.pass(5 * MINUTE);
    expect(writes(m)).toEqual(['{name} 200 if-match', '{pool} 200 if-match']);
    expect(await m.drive(removal)).toMatchObject({ kind: 'accepted' });
    await live(m, 20 * MINUTE);
    expect(counts(m)).toEqual([3, 3]);
  });

  it('a removal waits for its end, and is not undone by it', async () => {
    const m = await during();
    const group = m.group('general');
    const [key] = (group.instances ?? []).map((each) => each.key);
    if (key === undefined) throw new Error('no instance');
    const removal = m.azure.deleteInstances({ ...PLAIN_DELETE, group: group.id, instances: [key], allowBelowMin: false }, m.signal);
    await m.pass(2 * MINUTE);
    expect(writes(m).filter((write) => write.startsWith('delete'))).toEqual([]);
    expect(await m.drive(removal)).toMatchObject({ kind: 'accepted' });
    await live(m, 20 * MINUTE);
    expect(counts(m)).toEqual([3, 3]);
    expect(m.violations.list()).toEqual([]);
  });

  it('a foreign write to the scale set is undone by AKS; the group follows, and nothing of ours goes on top', async () => {
    const m = await during();
    m.arm.control.raise({ foreignScale: { pool: 'general', to: 6 } });
    await live(m, 30 * MINUTE);
    expect(counts(m)).toEqual([4, 4]);
    expect(m.group('general').target).toMatchObject({ value: 4, confirmed: true });
    expect(m.violations.list()).toEqual([]);
  });
});

describe('a count that AKS does not take', () => {
  it.each([
    [412, { code: 'PreConditionFailed', message: 'x' }],
    [409, { code: 'OperationNotAllowed', message: 'Another agentpool operation is in progress' }],
    [503, { code: 'ServiceUnavailable', message: 'x' }],
  ])('%i: the scale set is written as before, and the count again after ten more minutes', async (status, error) => {
    const m = await grown();
    m.arm.control.addFault({
      id: 'f',
      match: { method: 'PUT', pathGlob: '**/agentPools/*' },
      effect: { kind: 'answer', status, body: { error } },
    });
    await live(m, 12 * MINUTE);
    expect([counts(m), writes(m)]).toEqual([
      [1, 4],
      ['{name} 200 if-match', `{pool} ${status} if-match`],
    ]);
    m.arm.control.removeFault('f');
    await live(m, 2 * MINUTE);
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 5 });
    expect(writes(m).at(-1)).toBe('{name} 200 if-match');
    await live(m, 20 * MINUTE);
    expect(counts(m)).toEqual([5, 5]);
    expect(m.violations.list()).toEqual([]);
  });

  it('and whose answer is lost is followed by the state of the pool', async () => {
    const m = await grown(ON, slowAks(5 * MINUTE));
    m.arm.control.addFault({
      id: 'f',
      match: { method: 'PUT', pathGlob: '**/agentPools/*' },
      effect: { kind: 'reset', afterEffect: true },
    });
    for (let step = 0; step < 120 && counts(m)[0] === 1; step++) await live(m, 10_000);
    m.arm.control.removeFault('f');
    await live(m, 30_000);
    expect(m.group('general').frozen).toContain('Scaling');
    await live(m, 15 * MINUTE);
    expect([counts(m), m.group('general').frozen]).toEqual([[4, 4], undefined]);
    expect(m.violations.list()).toEqual([]);
  });
});
