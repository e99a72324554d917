/** A refused capacity write backs off its group, and the pods go to the next one. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

interface Answer {
  readonly status: number;
  readonly code: string;
  /** The policy that a 429 names. */
  readonly target?: string;
  readonly retryAfterSeconds?: number;
}

/** Every capacity write of the pools whose names begin so is answered like this. */
function refuse(world: VirtualRun, pools: string, { status, code, target, ...rest }: Answer): void {
  const body = { error: { code, message: `${code}: Azure says why.`, target } };
  world.world.arm.control.addFault({
    id: `refused ${pools}`,
    match: { method: 'PUT', pathGlob: `**/virtualMachineScaleSets/aks-${pools}*` },
    effect: { kind: 'answer', status, body, ...rest },
  });
}

function start(names: readonly string[]): Promise<VirtualRun> {
  return startedWorld({ spec: worldOf(names.map((name) => aPool({ name, count: 0 }))), flags: ['--scale-down-enabled=false'] });
}

const putsOf = (world: VirtualRun, pools: string): readonly number[] =>
  world
    .writes()
    .filter(({ method, path }) => method === 'PUT' && path.toLowerCase().includes(`/aks-${pools}`))
    .map(({ at }) => at);

const UNAVAILABLE = { status: 503, code: 'ServerBusy' };

describe('a refused capacity write', () => {
  it('for good: the other pool is asked in the same or the next loop, whatever Azure answered', async () => {
    const rows = [
      UNAVAILABLE,
      { status: 500, code: 'InternalServerError' },
      { status: 409, code: 'OperationNotAllowed' },
      { status: 400, code: 'InvalidParameter' },
      { status: 403, code: 'AuthorizationFailed' },
      { status: 404, code: 'ResourceNotFound' },
      { status: 429, code: 'TooManyRequests', target: 'CreateVMScaleSetResource', retryAfterSeconds: 600 },
    ].map((answer: Answer) => ({ answer, one: `one${answer.status}`, two: `two${answer.status}`, app: `web-${answer.status}` }));
    const pools = rows.flatMap(({ one, two, app }) => [one, two].map((name) => aPool({ name, count: 0, labels: { app } })));
    const world = await startedWorld({ spec: worldOf(pools), flags: ['--scale-down-enabled=false'] });
    for (const { one, answer, app } of rows) {
      refuse(world, one, answer);
      world.world.cluster.apply(deployment({ name: app, replicas: 3, cpu: '3', spec: { nodeSelector: { app } } }));
    }
    await world.until('the first writes', () => rows.every(({ one }) => putsOf(world, one).length > 0), MINUTE);
    await world.until('all bound', () => rows.every(({ app }) => bound(world, app) === 3), 8 * MINUTE);
    for (const { answer, one, two } of rows) {
      const [[first = 0], [other = Infinity]] = [putsOf(world, one), putsOf(world, two)];
      expect(other - first, `${answer.status}`).toBeLessThanOrEqual(11 * SECOND);
      expect([capacity(world, one), capacity(world, two)], `${answer.status}`).toEqual([0, 3]);
    }
    expect(world.world.violations()).toEqual([]);
  });

  it('of ten pools that all answer the same: at most 20 writes in 12 minutes, and the first that recovers is found', async () => {
    const rows = [UNAVAILABLE, { status: 409, code: 'OperationNotAllowed' }, { status: 400, code: 'InvalidParameter' }].map((answer) => ({
      answer,
      prefix: `p${answer.status}`,
      app: `web-${answer.status}`,
    }));
    const pools = rows.flatMap(({ prefix, app }) =>
      Array.from({ length: 10 }, (_, at) => aPool({ name: `${prefix}${at}`, count: 0, labels: { app } })),
    );
    const world = await startedWorld({ spec: worldOf(pools), flags: ['--scale-down-enabled=false'] });
    for (const { answer, prefix, app } of rows) {
      refuse(world, prefix, answer);
      world.world.cluster.apply(deployment({ name: app, replicas: 3, cpu: '3', spec: { nodeSelector: { app } } }));
    }
    await world.advance(12 * MINUTE);
    for (const { prefix } of rows) expect(putsOf(world, prefix).length, prefix).toBeLessThanOrEqual(20);
    expect(new Set(world.writes().map(({ path }) => path)).size).toBe(pools.length);
    for (const { prefix } of rows) world.world.arm.control.removeFault(`refused ${prefix}`);
    await world.until('all bound', () => rows.every(({ app }) => bound(world, app) === 3), 8 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it.each([
    ['had no effect: the other pool is asked in the same loop', { afterEffect: false, reads: true }, [0, 3]],
    ['had its effect: nothing is requested elsewhere', { afterEffect: true, reads: true }, [3, 0]],
    ['had its effect, and no read succeeds for two minutes: nothing is requested elsewhere', { afterEffect: true, reads: false }, [3, 0]],
  ] as const)('a lost answer to a write that %s', async (_name, { afterEffect, reads }, expected) => {
    const world = await start(['one', 'two']);
    const match = { method: 'PUT' as const, pathGlob: '**/virtualMachineScaleSets/aks-one*' };
    await world.advance(15 * SECOND);
    const { control } = world.world.arm;
    control.addFault({ id: 'reset', match: { ...match, ...(afterEffect ? { nth: 1 } : {}) }, effect: { kind: 'reset', afterEffect } });
    if (!reads) control.addFault({ id: 'reads', match: { method: 'GET' }, effect: { kind: 'answer', status: 503, body: {} } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.advance(reads ? 0 : 2 * MINUTE);
    control.removeFault('reads');
    const outcomes = world.reports.flatMap(({ rounds }) => rounds.flatMap(({ increases }) => increases.map(({ outcome }) => outcome)));
    const error: unknown = expect.objectContaining({ detail: { kind: 'unavailable', effect: 'unknown' } });
    if (!reads) expect(outcomes).toContainEqual(expect.objectContaining({ kind: 'failed', error }));
    await world.until('all bound', () => bound(world, 'web') === 3, 8 * MINUTE);
    expect([capacity(world, 'one'), capacity(world, 'two')]).toEqual(expected);
    expect(world.world.violations()).toEqual([]);
  });

  it("shows Azure's own sentence with its correlation id on the pod and in the status", async () => {
    const world = await start(['one']);
    refuse(world, 'one', UNAVAILABLE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.advance(2 * MINUTE);
    const named = /\(correlation id [\w-]{36}\): Azure refused putScaleSet \S+: ServerBusy: Azure says why\./;
    expect(events(world, 'NotTriggerScaleUp').join()).toMatch(named);
    const [failed = ''] = events(world, 'FailedToScaleUpGroup');
    expect(failed).toMatch(/correlation id [\w-]{36}.*ServerBusy: Azure says why/);
    const status = world.world.cluster.store.list('configmaps').find(({ metadata }) => metadata.name === 'cluster-autoscaler-status');
    expect(JSON.stringify(status)).toMatch(/ServerBusy, correlation id [\w-]{36}\); the group backs off.*Azure says why/);
  });

  it('a 429 of the whole subscription is one try of one pool: the others are held, and none counts as failed', async () => {
    const world = await start(['one', 'two', 'three']);
    refuse(world, '', { status: 429, code: 'TooManyRequests', target: 'CreateVMScaleSetSubscriptionMaximum', retryAfterSeconds: 130 });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.advance(2 * MINUTE);
    expect(world.writes()).toHaveLength(1);
    expect(events(world, 'FailedToScaleUpGroup')).toHaveLength(1);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('Azure throttles its writes until');
    world.world.arm.control.removeFault('refused ');
    await world.until('all bound', () => bound(world, 'web') === 3, 5 * MINUTE);
    expect(world.writes()).toHaveLength(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('a pool alone is asked again after 30 s, then 60, 120, 240 and 300 s', async () => {
    const world = await start(['one']);
    refuse(world, 'one', UNAVAILABLE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.advance(15 * MINUTE);
    const tries = putsOf(world, 'one');
    const waits = tries.slice(1).map((at, index) => Math.floor((at - (tries[index] ?? at)) / (30 * SECOND)));
    expect(waits).toEqual([1, 2, 4, 8, 10]);
  });

  it('is not repeated before its Retry-After', async () => {
    const world = await start(['one']);
    refuse(world, 'one', { ...UNAVAILABLE, retryAfterSeconds: 400 });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.advance(10 * MINUTE);
    const [first = 0, second = 0, ...more] = putsOf(world, 'one');
    expect([(second - first) / SECOND >= 400, (second - first) / SECOND < 412, more]).toEqual([true, true, []]);
  });
});

describe('POST /debug/refresh', () => {
  /** Pools that back off since Azure answered each of them like this, and the group of each. */
  async function refused(answers: readonly Answer[]) {
    const rows = answers.map((answer, at) => ({ row: `${answer.status} ${answer.code}`, pool: `one${at}`, answer }));
    const world = await start(rows.map(({ pool }) => pool));
    for (const { pool, answer } of rows) {
      refuse(world, pool, answer);
      world.world.cluster.apply(deployment({ name: pool, replicas: 1, cpu: '3', spec: { nodeSelector: { agentpool: pool } } }));
    }
    await world.until('the refusals', () => rows.every(({ pool }) => putsOf(world, pool).length > 0), MINUTE);
    await world.advance(15 * SECOND);
    const groups = world.reports.at(-1)?.observation?.cloud.groups ?? [];
    const refresh = async (pool?: string): Promise<number> => {
      const query = pool === undefined ? '' : `?group=${groups.find(({ id }) => id.includes(pool))?.id ?? ''}`;
      return (await fetch(`${world.daemon.url ?? ''}/debug/refresh${query}`, { method: 'POST' })).status;
    };
    const counts = () => rows.map(({ row, pool }) => [row, putsOf(world, pool).length] as const);
    return { world, refresh, counts };
  }

  it('lets every group that backs off try once: a further refusal makes it back off again', async () => {
    const { world, refresh, counts } = await refused([
      UNAVAILABLE,
      { status: 409, code: 'AllocationFailed' },
      { status: 403, code: 'AuthorizationFailed' },
      { status: 429, code: 'TooManyRequests', target: 'CreateVMScaleSetResource', retryAfterSeconds: 600 },
    ]);
    const oneMore = counts().map(([row, count]) => [row, count + 1]);
    expect(await refresh()).toBe(202);
    await world.advance(3 * SECOND);
    expect(counts()).toEqual(oneMore);
    await world.advance(22 * SECOND);
    expect(counts()).toEqual(oneMore);
  });

  it('for one group lets this one try, and for a group that does not back off none', async () => {
    const { world, refresh, counts } = await refused([UNAVAILABLE, { status: 403, code: 'ScopeLocked' }]);
    for (const [pool, more] of [
      ['one0', [1, 0]],
      ['one1', [0, 1]],
      ['system', [0, 0]],
    ] as const) {
      const before = counts();
      expect(await refresh(pool)).toBe(202);
      await world.advance(12 * SECOND);
      expect(counts(), pool).toEqual(before.map(([row, count], at) => [row, count + (more[at] ?? 0)]));
    }
  });
});
