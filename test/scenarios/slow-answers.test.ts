/** AKS answers a write after 7 to 11 s, as its own client recorded from 2025 to July 2026. No other pool waits for that. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, events, MINUTE, pending, SECOND, worldOf } from './support.ts';

const ANSWER_MS = 8 * SECOND;
const KNOBS = { aksAnswerLatency: { p50: ANSWER_MS, p95: ANSWER_MS } };
const MIXED = aPool({ name: 'mixed', kind: 'vms-pool', count: 1, labels: { place: 'mixed' } });
const GENERAL = aPool({ name: 'general', labels: { place: 'general' } });
const FLAGS = ['--scale-down-enabled=false', '--scan-interval=30s'];

const slowWorld = (env: Readonly<Record<string, string>> = {}, pools = [MIXED, GENERAL], quota = {}): Promise<VirtualRun> =>
  startedWorld({ spec: worldOf(pools, { quota }), knobs: KNOBS, flags: FLAGS, env });

/** Pods that need a node each. */
const pods = (name: string, place: string | undefined, replicas = 3) =>
  deployment({ name, replicas, cpu: '3', spec: place === undefined ? {} : { nodeSelector: { place } } });

const putsOf = (world: VirtualRun, pool: string) => world.writes().filter((write) => write.pool === pool && write.method === 'PUT');

const sizes = (world: VirtualRun): number =>
  world.world.cluster.store.list('nodes').filter(({ metadata }) => metadata.labels?.['agentpool'] === 'mixed').length;

/** The next write of the pool through AKS is answered like this. */
function refuseOnce(world: VirtualRun, status: number, code: string): void {
  world.world.arm.control.addFault({
    id: 'refused',
    match: { method: 'PUT', pathGlob: '**/agentPools/mixed', times: 1 },
    effect: { kind: 'answer', status, body: { code, message: 'AKS says why.' } },
  });
}

describe('a write that AKS answers after 8 s', () => {
  it.each([
    ['to a pool of virtual machines', {}, MIXED],
    ['to a scale set through its agent pool', { AZURE_WRITE_PATH: 'agentPool' }, aPool({ name: 'mixed', labels: { place: 'mixed' } })],
  ])(
    '%s: pods of another pool get their nodes in the next loop, and more pods of the same pool wait for its next turn',
    async (_where, env, slow) => {
      const world = await slowWorld(env, [slow, GENERAL]);
      world.world.cluster.apply(pods('slow', 'mixed'));
      await world.until('a write through AKS', () => putsOf(world, 'mixed').length === 1, MINUTE);
      world.world.cluster.apply(pods('more', 'mixed', 2));
      await world.advance(3 * SECOND);
      const beganMs = world.clock.now();
      world.world.cluster.apply(pods('quick', 'general'));
      await world.until('a write of the other pool', () => putsOf(world, 'general').length === 1, 20 * SECOND);
      expect(world.clock.now() - beganMs).toBeLessThanOrEqual(2 * SECOND);
      await world.until(
        'all bound',
        () => ['slow', 'more', 'quick'].every((name) => pending(world) === 0 && bound(world, name) > 1),
        15 * MINUTE,
      );
      expect([sizes(world), putsOf(world, 'mixed').length, putsOf(world, 'general').length]).toEqual([5, 2, 1]);
      expect(events(world, 'TriggeredScaleUp')).toHaveLength(6);
      expect(putsOf(world, 'mixed')[0]?.route).toContain('agentPools');
      expect(world.world.violations()).toEqual([]);
    },
  );

  it('and then refuses since another writer came first: planned again at once, and nothing is written twice', async () => {
    const world = await slowWorld();
    refuseOnce(world, 412, 'PreconditionFailed');
    world.world.cluster.apply(pods('slow', 'mixed'));
    await world.until('two writes', () => putsOf(world, 'mixed').length === 2, 2 * MINUTE);
    const [first, second] = putsOf(world, 'mixed').map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeLessThanOrEqual(ANSWER_MS + 11 * SECOND);
    await world.until('all bound', () => bound(world, 'slow') === 3, 10 * MINUTE);
    await world.advance(5 * MINUTE);
    expect(sizes(world)).toBe(3);
    expect([events(world, 'TriggeredScaleUp').length, events(world, 'FailedToScaleUpGroup').length]).toEqual([2, 0]);
    expect(world.world.violations()).toEqual([]);
  });

  it('and then refuses for good: another pool takes the pods at once, and the events say each thing once', async () => {
    const spare = aPool({ name: 'spare', vmSize: 'Standard_D8s_v5', labels: { place: 'mixed' } });
    const world = await slowWorld({}, [MIXED, spare]);
    refuseOnce(world, 400, 'InvalidParameter');
    world.world.cluster.apply(pods('slow', 'mixed', 6));
    await world.until('a write through AKS', () => putsOf(world, 'mixed').length === 1, MINUTE);
    expect(events(world, 'TriggeredScaleUp')).toHaveLength(0);
    await world.until('a write of the other pool', () => putsOf(world, 'spare').length === 1, ANSWER_MS + SECOND);
    await world.until('all bound', () => bound(world, 'slow') === 6, 10 * MINUTE);
    expect(events(world, 'FailedToScaleUpGroup')).toHaveLength(1);
    expect(sizes(world)).toBe(1);
    expect(world.world.violations()).toEqual([]);
  });

  it('and nine more pools like it: the writes and reads of another pool find a way past them', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `mixed${at}`);
    const many = names.map((name) => aPool({ name, kind: 'vms-pool', count: 1, labels: { place: name } }));
    const world = await slowWorld({}, [...many, GENERAL]);
    for (const name of names) world.world.cluster.apply(pods(name, name, 2));
    await world.until('writes through AKS', () => names.some((name) => putsOf(world, name).length === 1), MINUTE);
    await world.advance(2 * SECOND);
    const beganMs = world.clock.now();
    world.world.cluster.apply(pods('quick', 'general'));
    await world.until('a write of the other pool', () => putsOf(world, 'general').length === 1, 40 * SECOND);
    expect(world.clock.now() - beganMs).toBeLessThanOrEqual(2 * SECOND);
    await world.until(
      'all bound',
      () => [...names.map((name) => bound(world, name) === 2), bound(world, 'quick') === 3].every(Boolean),
      15 * MINUTE,
    );
    expect(names.map((name) => putsOf(world, name).length)).toEqual(names.map(() => 1));
    expect(world.world.violations()).toEqual([]);
  });

  it('and refuses for ten minutes since it does something else: few writes, and nodes soon after', async () => {
    const minutes = 10;
    const world = await slowWorld();
    const toMs = world.clock.now() + minutes * MINUTE;
    const body = { code: 'OperationNotAllowed', message: 'Another operation (Updating) is in progress' };
    const match = { method: 'PUT', pathGlob: '**/agentPools/mixed', toMs };
    world.world.arm.control.addFault({ id: 'busy', match, effect: { kind: 'answer', status: 409, body } });
    world.world.cluster.apply(pods('slow', 'mixed'));
    await world.advance(minutes * MINUTE);
    const refused = putsOf(world, 'mixed').length;
    expect(refused).toBeGreaterThan(1);
    expect(refused).toBeLessThanOrEqual(14);
    await world.until('a write that is accepted', () => putsOf(world, 'mixed').length === refused + 1, 80 * SECOND);
    await world.until('all bound', () => bound(world, 'slow') === 3, 10 * MINUTE);
    expect([sizes(world), events(world, 'FailedToScaleUpGroup').length]).toEqual([3, 0]);
  });

  it('uses its quota up meanwhile: no other pool asks for the same cores', async () => {
    // System, mixed and general have a node of 4 each; the slow pods need two more.
    const world = await slowWorld({}, [MIXED, GENERAL], { standardDSv5Family: 20 });
    world.world.cluster.apply(pods('slow', 'mixed'));
    await world.until('a write through AKS', () => putsOf(world, 'mixed').length === 1, MINUTE);
    await world.advance(2 * SECOND);
    world.world.cluster.apply(pods('quick', 'general', 2));
    await world.advance(20 * MINUTE);
    expect([bound(world, 'slow'), bound(world, 'quick')]).toEqual([3, 1]);
    expect(world.writes().map(({ status }) => status)).toEqual([200]);
  });

  it('and a process that ends meanwhile: the next one buys nothing twice', async () => {
    const world = await slowWorld();
    world.world.cluster.apply(pods('slow', 'mixed'));
    await world.until('a write through AKS', () => putsOf(world, 'mixed').length === 1, MINUTE);
    await world.advance(3 * SECOND);
    world.killDaemon();
    await world.startDaemon();
    await world.until('all bound', () => bound(world, 'slow') === 3, 10 * MINUTE);
    await world.advance(5 * MINUTE);
    expect([sizes(world), putsOf(world, 'mixed').length]).toEqual([3, 1]);
    expect(world.world.violations()).toEqual([]);
  });

  it('and a process that is asked to stop meanwhile waits for the answer and says what became of it', async () => {
    const world = await slowWorld();
    world.world.cluster.apply(pods('slow', 'mixed'));
    await world.until('a write through AKS', () => putsOf(world, 'mixed').length === 1, MINUTE);
    await world.advance(3 * SECOND);
    await world.stopDaemon();
    expect(events(world, 'TriggeredScaleUp')).toHaveLength(2);
  });
});
