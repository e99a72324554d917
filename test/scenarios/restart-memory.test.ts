/** What a process remembers is there for the next one: in one ConfigMap, written seldom, and never trusted blindly. */
import { describe, expect, it } from 'vitest';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, capacity, deployment, events, MINUTE, pending, SECOND, worldOf } from './support.ts';

const lines: { readonly level: string; readonly msg: string }[] = [];

function start(spec: WorldSpec, flags: readonly string[] = []): Promise<VirtualRun> {
  lines.length = 0;
  return startedWorld({ spec, flags, onLog: (line) => void lines.push(JSON.parse(line)) });
}

const NAME = 'aks-autoscaler-memory';

interface ConfigMap {
  readonly data: Readonly<Record<string, string>>;
}

function saved(world: VirtualRun): string | undefined {
  return (world.world.cluster.store.get('configmaps', 'kube-system', NAME) as ConfigMap | undefined)?.data['memory.json'];
}

/** When the ConfigMap was replaced, virtual time. */
function savesOf(world: VirtualRun): readonly number[] {
  return world.world.cluster
    .journal()
    .filter(({ verb, resource, name }) => verb === 'update' && resource === 'configmaps' && name === NAME)
    .map(({ atMs }) => atMs);
}

function replaceSaved(world: VirtualRun, text: string): void {
  world.world.cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: NAME, namespace: 'kube-system' },
    data: { 'memory.json': text },
  });
}

const putsOf = (world: VirtualRun, pool: string): readonly number[] =>
  world
    .writes()
    .filter(({ method, path }) => method === 'PUT' && path.toLowerCase().includes(`/aks-${pool}-`))
    .map(({ at }) => at);

const RARE = 'Standard_F8s_v2';

/** One pool, sold out, whose refusal a process has seen before it died. */
async function refusedOnce(flags: readonly string[] = []): Promise<VirtualRun> {
  const spec = worldOf([aPool({ name: 'rare', vmSize: RARE, count: 0 })], { stock: { [`${RARE}/0`]: 0 } });
  const world = await start(spec, flags);
  world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
  await world.until('the stockout', () => world.reports.some(({ state }) => state.stockouts.length > 0), 5 * MINUTE);
  await world.advance(20 * SECOND);
  return world;
}

describe('after a restart', () => {
  it('a pool that was sold out is not asked again before its time', async () => {
    const world = await refusedOnce();
    const before = world.reports.at(-1)?.state;
    const asked = putsOf(world, 'rare').length;
    world.killDaemon();
    await world.startDaemon();
    await world.advance(2 * MINUTE);
    expect(putsOf(world, 'rare')).toHaveLength(asked);
    const after = world.reports.at(-1)?.state;
    expect([after?.stockouts, after?.backoffs]).toEqual([before?.stockouts, before?.backoffs]);
    await world.until('the next try', () => putsOf(world, 'rare').length > asked, 10 * MINUTE);
  });

  it('a refused write keeps its back-off, too', async () => {
    const world = await start(worldOf([aPool({ name: 'one', count: 0 })]));
    const body = { error: { code: 'AuthorizationFailed', message: 'The client may not write.' } };
    const match = { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/aks-one*' };
    world.world.arm.control.addFault({ id: 'no', match, effect: { kind: 'answer', status: 403, body } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '3' }));
    await world.until('the refusal', () => putsOf(world, 'one').length > 0, MINUTE);
    await world.advance(5 * SECOND);
    world.killDaemon();
    await world.startDaemon();
    await world.advance(15 * SECOND);
    expect(putsOf(world, 'one')).toHaveLength(1);
  });

  it.each([
    ['is not JSON', (): string => 'backoffs: none'],
    ['is cut', (text: string): string => text.slice(0, text.length / 2)],
    ['is of a newer version', (text: string): string => text.replace('"version":1', '"version":2')],
    ['is of another program', (text: string): string => text.replace('aks-autoscaler', 'other')],
    ['is huge', (text: string): string => text + ' '.repeat(400_000)],
    ['has a wrong type', (text: string): string => text.replace(/"untilMs":\d+/, '"untilMs":"never"')],
  ])('a memory that %s is refused with a warning, and the loop goes on without', async (_what, change) => {
    const world = await refusedOnce();
    world.killDaemon();
    const asked = putsOf(world, 'rare').length;
    replaceSaved(world, change(saved(world) ?? ''));
    await world.startDaemon();
    await world.advance(30 * SECOND);
    expect(lines.filter(({ level, msg }) => level === 'warn' && /Stored memory not accepted/.test(msg))).toHaveLength(1);
    expect(world.reports.at(-1)?.outcome).toBe('completed');
    expect(putsOf(world, 'rare').length).toBeGreaterThan(asked);
    expect(JSON.parse(saved(world) ?? '')).toMatchObject({
      program: 'aks-autoscaler',
      version: 1,
      stockouts: [{ code: expect.any(String) }],
    });
  });

  it('a dry run saves nothing', async () => {
    const world = await refusedOnce();
    world.killDaemon();
    const before = savesOf(world).length;
    await world.startDaemon(['--dry-run']);
    await world.advance(5 * MINUTE);
    expect(savesOf(world)).toHaveLength(before);
    expect(putsOf(world, 'rare')).toHaveLength(1);
  });
});

describe('idle timers', () => {
  const IDLE = worldOf([aPool({ name: 'general', count: 2, min: 1 })]);
  const deletes = (world: VirtualRun): number => world.writes().filter(({ path }) => path.endsWith('delete')).length;
  const idleForMs = (world: VirtualRun): number => {
    const report = world.reports.at(-1);
    const [sinceMs = Number.NaN] = report?.state.unneededSince.values() ?? [];
    return (report?.observation?.nowMs ?? Number.NaN) - sinceMs;
  };

  it.each([
    { later: '10 s', gapMs: 10 * SECOND, counts: true },
    { later: '100 s', gapMs: 100 * SECOND, counts: false },
    { later: 'an hour', gapMs: 60 * MINUTE, counts: false },
  ])('that were saved within a minute count for the next process, $later later: $counts', async ({ gapMs, counts }) => {
    const world = await start(IDLE, ['--node-deletion-candidate-ttl=1m']);
    await world.advance(5 * MINUTE);
    expect(idleForMs(world)).toBeGreaterThan(4 * MINUTE);
    world.killDaemon();
    await world.advance(gapMs);
    await world.startDaemon();
    await world.until('a loop', () => world.reports.at(-1)?.loopId === 1, MINUTE);
    // Of the last 30 seconds before the death nothing may have been saved, and of the time without a process nothing counts.
    if (counts) expect(idleForMs(world)).toBeGreaterThanOrEqual(4 * MINUTE - 30 * SECOND);
    expect(idleForMs(world)).toBeLessThanOrEqual(counts ? 5 * MINUTE : 0);
    const before = world.clock.now();
    await world.until('the removal', () => deletes(world) > 0, 15 * MINUTE);
    expect(world.clock.now() - before).toBeGreaterThan(counts ? 5 * MINUTE : 9 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('a process that ends in order saves them at its end', async () => {
    const world = await start(IDLE);
    await world.advance(5 * MINUTE + 17 * SECOND);
    const idleMs = idleForMs(world);
    await world.stopDaemon();
    await world.advance(90 * SECOND);
    await world.startDaemon();
    await world.until('a loop', () => world.reports.at(-1)?.loopId === 1, MINUTE);
    expect(idleForMs(world)).toBe(idleMs);
  });

  it('are never restored from soft taints', async () => {
    const world = await start(IDLE, ['--node-deletion-candidate-ttl=0s']);
    await world.advance(5 * MINUTE);
    expect(saved(world)).toBeUndefined();
    world.killDaemon();
    await world.startDaemon();
    await world.until('a loop', () => world.reports.at(-1)?.loopId === 1, MINUTE);
    expect(idleForMs(world)).toBe(0);
  });
});

describe('saving', () => {
  it('happens at most once in ten seconds, and not at all while nothing is remembered', async () => {
    const world = await start(worldOf([aPool({ name: 'general', count: 1, min: 1 })]), ['--scan-interval=2s']);
    await world.advance(2 * MINUTE);
    expect(saved(world)).toBeUndefined();
    for (let round = 1; round <= 20; round++) {
      world.world.cluster.apply(deployment({ name: `web-${round}`, replicas: 1, cpu: '3' }));
      await world.advance(7 * SECOND);
    }
    expect(savesOf(world).length).toBeGreaterThan(5);
    const gaps = savesOf(world).map((at, index, all) => at - (all[index - 1] ?? -Infinity));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(9.5 * SECOND);
    expect(saved(world)).not.toContain('web-');
  });
});

describe('the cooldown of removals', () => {
  it.each([
    ['an increase that brought no node does not start it', { [`${RARE}/0`]: 0 }, false],
    ['an increase that brought a node starts it', {}, true],
  ])('%s', async (_name, stock, starts) => {
    const pools = [aPool({ name: 'idle', count: 2, min: 1 }), aPool({ name: 'rare', vmSize: RARE, count: 0 })];
    const flags = ['--scale-down-delay-after-add=20m', '--scale-down-unneeded-time=5m', '--scan-interval=30s'];
    const world = await start(worldOf(pools, { stock }), flags);
    await world.advance(2 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'wide', replicas: 1, cpu: '6' }));
    await world.advance(12 * MINUTE);
    expect([pending(world), events(world, 'TriggeredScaleUp').length > 0]).toEqual([starts ? 0 : 1, true]);
    expect(capacity(world, 'idle')).toBe(starts ? 2 : 1);
  });
});
