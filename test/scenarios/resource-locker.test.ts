import { describe, expect, it } from 'vitest';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

function start(flags: readonly string[] = []): Promise<VirtualRun> {
  const pool = aPool({ name: 'general', count: 2, max: 5 });
  return startedWorld({
    spec: worldOf([pool]),
    flags: ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m', ...flags],
  });
}

/** As the cloud controller takes and releases it. */
function lock(world: VirtualRun, holderIdentity: string): void {
  world.world.cluster.apply({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'aks-managed-resource-locker', namespace: 'kube-system' },
    spec: { holderIdentity, leaseDurationSeconds: 900, renewTime: new Date(world.clock.now()).toISOString() },
  });
}

describe("AKS's resource lock", () => {
  it('freezes both directions while another holds it, says why, and ends with its release', async () => {
    const world = await start();
    lock(world, 'cloud-controller-manager');
    await world.advance(15 * SECOND);
    // One node would be enough for what runs: the other is unneeded all the time.
    await world.advance(5 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 14, cpu: '700m' }));
    await world.advance(5 * MINUTE);
    expect(world.writes()).toEqual([]);
    expect(capacity(world, 'general')).toBe(2);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('"cloud-controller-manager" holds the Lease');
    expect(world.reports.at(-1)?.scaleDown?.kept.map(({ reason }) => reason)).toContain('GroupFrozen');
    lock(world, '');
    await world.until('all bound', () => bound(world, 'web') === 14, 5 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('runs out when its holder dies with it', async () => {
    const world = await start();
    lock(world, 'aks-rp');
    const takenMs = world.clock.now();
    await world.advance(15 * SECOND);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 14, cpu: '700m' }));
    await world.until('a write', () => world.writes().length > 0, 20 * MINUTE);
    expect(world.clock.now() - takenMs).toBeGreaterThanOrEqual(15 * MINUTE);
    expect(world.clock.now() - takenMs).toBeLessThan(16 * MINUTE);
  });

  it('is not heeded when the configuration says so', async () => {
    const world = await start(['--heed-resource-locker=false']);
    lock(world, 'cloud-controller-manager');
    await world.advance(15 * SECOND);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 14, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 14, 5 * MINUTE);
  });

  it('does not exist for a process that may not watch it', async () => {
    const world = await start();
    lock(world, 'cloud-controller-manager');
    world.world.cluster.control.failNext(1_000, 403, { verb: 'watch', resource: 'leases' });
    world.killDaemon();
    await world.startDaemon();
    world.world.cluster.apply(deployment({ name: 'web', replicas: 14, cpu: '700m' }));
    await world.until('all bound', () => bound(world, 'web') === 14, 5 * MINUTE);
  });
});
