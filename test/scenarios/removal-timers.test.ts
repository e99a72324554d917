/** A removal begins when the time that it waits for ends, and not at the scan after that. */
import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, SECOND, worldOf } from './support.ts';

function start(flags: readonly string[], count: number): Promise<VirtualRun> {
  return startedWorld({ spec: worldOf([aPool({ name: 'general', count })]), flags });
}

const firstUnneededAt = (world: VirtualRun): number =>
  Math.min(...world.reports.flatMap(({ scaleDown }) => [...(scaleDown?.unneeded.values() ?? [])]));
const taintedAt = async (world: VirtualRun): Promise<number> => {
  const isTainted = (): boolean =>
    world.world.cluster.store.nodes().some(({ spec }) => (spec.taints ?? []).some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler'));
  await world.until('a deletion taint', isTainted, 15 * MINUTE);
  return world.clock.now();
};

describe('the first taint of a removal', () => {
  it('comes within a second of the end of the unneeded time', async () => {
    const world = await start(['--scale-down-unneeded-time=63s', '--scale-down-delay-after-add=0s'], 2);
    const atMs = await taintedAt(world);
    expect((atMs - firstUnneededAt(world)) / SECOND).toBeGreaterThan(63);
    expect((atMs - firstUnneededAt(world)) / SECOND).toBeLessThan(64);
    expect(world.reports.some(({ trigger }) => trigger === 'timer')).toBe(true);
  });

  it('comes within a second of the end of the cooldown', async () => {
    const world = await start(['--scale-down-unneeded-time=20s', '--scale-down-delay-after-add=247s'], 0);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
    await world.until('all bound', () => bound(world, 'web') === 2, 8 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 0, cpu: '3' }));
    const increasedAt = Math.max(...world.reports.map(({ state }) => state.lastScaleUpMs));
    const atMs = await taintedAt(world);
    expect((atMs - increasedAt) / SECOND).toBeGreaterThanOrEqual(247);
    expect((atMs - increasedAt) / SECOND).toBeLessThan(248);
  });

  it('comes within a second of the end of a remembered check', async () => {
    const world = await start(
      ['--scale-down-unneeded-time=20s', '--scale-down-delay-after-add=0s', '--unremovable-node-recheck-timeout=123s'],
      1,
    );
    // No controller would create it again, so it blocks its node.
    world.world.cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'alone', namespace: 'default' },
      spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '1' } } }] },
    });
    await world.advance(MINUTE);
    const checkAt = world.reports.at(-1)?.scaleDown?.kept.find(({ reason }) => reason === 'RecentlyUnremovable')?.recheckAtMs ?? Number.NaN;
    world.world.cluster.remove({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'alone', namespace: 'default' } });
    await world.until('a loop after the check', () => world.reports.some(({ startedAtMs }) => startedAtMs >= checkAt), 5 * MINUTE);
    const loop = world.reports.find(({ startedAtMs }) => startedAtMs >= checkAt);
    expect(loop?.trigger).toBe('timer');
    expect((loop?.startedAtMs ?? 0) - checkAt).toBeLessThan(SECOND);
  });
});
