/** Nodes that go, and where their pods end up, judged by what the real API server holds. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { kubectl } from './kubectl.ts';
import { placeOn } from './placing.ts';
import { scenarios } from './scenario.ts';
import { until } from './until.ts';
import { budget, deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';

const SAFE = 'cluster-autoscaler.kubernetes.io/safe-to-evict';

const { begin, plane } = scenarios();
let world: E2eWorld;

describe('scale-down on a real control plane', () => {
  it('drains an underused node, moves its pods and deletes the machine', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 1 })] });
    const kept = await placeOn(world, 0, async () => {
      await world.apply(deployment({ name: 'stays', replicas: 1, cpu: '2500m', annotations: { [SAFE]: 'false' } }));
      await world.untilRunning('stays', 1);
    });
    const left = await placeOn(world, 1, async () => {
      await world.apply(deployment({ name: 'moves', replicas: 2, cpu: '300m' }));
      await world.untilRunning('moves', 2);
    });
    await world.soleDaemon();
    await world.untilGone(left);
    const pods = await world.untilRunning('moves', 2);
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set([kept]));
    expect(world.capacity('general')).toBe(1);
    const told = await until('it is reported', async () => {
      const events = await world.events('ScaleDown');
      return events.some(({ involvedObject }) => involvedObject.kind === 'Node') ? events : undefined;
    });
    expect(told.some(({ message }) => /pods to move: .*moves-/.test(message))).toBe(true);
    expect(world.daemons[0]?.complaints()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('keeps to a budget: never more than one pod away at a time', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 1 })] });
    await placeOn(world, 0, async () => {
      await world.apply(deployment({ name: 'stays', replicas: 1, cpu: '2000m', annotations: { [SAFE]: 'false' } }));
      await world.untilRunning('stays', 1);
    });
    const left = await placeOn(world, 1, async () => {
      await world.apply(deployment({ name: 'api', replicas: 3, cpu: '200m' }));
      await world.apply(budget('api', { maxUnavailable: 1 }));
      await world.untilRunning('api', 3);
    });
    await world.soleDaemon();
    let least = 3;
    await until(
      'the node is gone',
      async () => {
        least = Math.min(least, (await world.running('api')).length);
        return !(await world.isThere(left));
      },
      90_000,
      () => world.picture(),
    );
    expect(least).toBeGreaterThanOrEqual(2);
    await world.untilRunning('api', 3);
    expect(world.violations).toEqual([]);
  });

  it('moves the only pod of a Deployment when there is room for it elsewhere', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 1 })] });
    await placeOn(world, 0, async () => {
      await world.apply(deployment({ name: 'stays', replicas: 1, cpu: '2500m', annotations: { [SAFE]: 'false' } }));
      await world.untilRunning('stays', 1);
    });
    const left = await placeOn(world, 1, async () => {
      await world.apply(deployment({ name: 'single', replicas: 1, cpu: '300m' }));
      await world.untilRunning('single', 1);
    });
    await world.soleDaemon();
    await world.untilGone(left);
    await world.untilRunning('single', 1);
  });

  it('gets along with a person who drains a node at the same time', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 3, min: 1 })] });
    const drained = await placeOn(world, 0, async () => {
      await world.apply(deployment({ name: 'web', replicas: 3, cpu: '300m' }));
      await world.apply(budget('web', { maxUnavailable: 1 }));
      await world.untilRunning('web', 3);
    });
    await world.soleDaemon();
    const output = await kubectl(plane(), 'drain', drained, '--ignore-daemonsets', '--timeout=90s');
    expect(output).toContain(`node/${drained} drained`);
    await world.untilRunning('web', 3);
    const pods = await world.running('web');
    expect(pods.some(({ spec }) => spec.nodeName === drained)).toBe(false);
    // Three pods of 300m need one node; the drained one and the empty one go.
    await world.untilNodes('general', 1);
    await world.untilRunning('web', 3);
    expect(world.capacity('general')).toBe(1);
    expect(world.violations).toEqual([]);
  });
});
