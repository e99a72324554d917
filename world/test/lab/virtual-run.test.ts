/** What a run in virtual time promises: it can be long, it depends on its seed alone, and it stays small. */
import { describe, expect, it } from 'vitest';
import { aPool, deployment, MINUTE, worldOf } from '../../../test/scenarios/support.ts';
import { startedWorld } from '../../../test/support/virtual-world.ts';

const CLIENT_ERRORS = 400;

/** Grows a pool and shrinks it again. */
async function growAndShrink(seed: number): Promise<string> {
  const run = await startedWorld({
    spec: worldOf([aPool({ name: 'a' }), aPool({ name: 'b', kind: 'vmss-flexible' }), aPool({ name: 'c', kind: 'vms-pool' })], { seed }),
    flags: ['--scan-interval=20s', '--scale-down-unneeded-time=40s', '--scale-down-delay-after-add=40s', '--expander=random'],
  });
  for (const replicas of [9, 1]) {
    run.world.cluster.apply(deployment({ name: 'w', replicas, cpu: '2500m' }));
    await run.advance(3 * MINUTE);
  }
  return run.world.hash();
}

describe('a run in virtual time', () => {
  it('signs in again before a token of the world expires', async () => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'a' })]), flags: ['--scan-interval=5m'], reportsKept: 3 });
    const refused: string[] = [];
    run.world.arm.control.onEntry(({ status, route }) => {
      if (status >= CLIENT_ERRORS) refused.push(`${status} ${route}`);
    });
    await run.advance(125 * MINUTE);
    expect(refused).toEqual([]);
    run.world.cluster.apply(deployment({ name: 'w', replicas: 3, cpu: '2500m' }));
    await run.advance(5 * MINUTE);
    expect(run.world.cluster.store.pendingPods()).toEqual([]);
    expect(run.reports).toHaveLength(3);
    expect(run.loops).toBeGreaterThan(25);
  });

  it('has the same hash for the same seed, and another one for another seed', async () => {
    const first = await growAndShrink(5);
    expect(await growAndShrink(5)).toBe(first);
    expect(await growAndShrink(6)).not.toBe(first);
  });

  it('goes on while a daemon that is being composed waits to repeat a call that was cut', async () => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'a' })]) });
    await run.stopDaemon();
    run.world.cluster.control.pause();
    run.clock.after(3_000, () => run.world.cluster.control.resume());
    const beganMs = run.clock.now();
    await run.startDaemon();
    expect(run.isRunning).toBe(true);
    expect(run.clock.now() - beganMs).toBeGreaterThanOrEqual(3_000);
  });
});
