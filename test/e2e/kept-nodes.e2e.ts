/** Nodes that must not go, as long as they must not. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { placeOn } from './placing.ts';
import { scenarios } from './scenario.ts';
import { always } from './until.ts';
import { barePod, budget, deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';

const TO_BE_DELETED = 'ToBeDeletedByClusterAutoscaler';
const SAFE = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
/** Longer than it takes a node to be found unneeded and to be marked. */
const LONG_ENOUGH_MS = 12_000;

const { begin } = scenarios();
let world: E2eWorld;

describe('nodes that stay, on a real control plane', () => {
  it('leaves a node alone whose pod may not be moved, and takes it when it may', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 1, min: 0 })] });
    await world.apply(deployment({ name: 'pinned', cpu: '100m', annotations: { [SAFE]: 'false' } }));
    const [pod] = await world.untilRunning('pinned', 1);
    const node = pod?.spec.nodeName ?? '';
    await world.soleDaemon();
    const isUntouched = async (): Promise<boolean> => {
      const found = (await world.nodes()).find(({ metadata }) => metadata.name === node);
      return found !== undefined && !(found.spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED);
    };
    await always('the node is there and not marked', isUntouched, LONG_ENOUGH_MS);
    await world.scale('pinned', 0);
    await world.untilGone(node);
    expect(world.capacity('general')).toBe(0);
  });

  it('leaves a node alone that holds a bare pod, or whose budget allows nothing', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 0 })] });
    await placeOn(world, 0, async () => {
      await world.apply(barePod({ name: 'bare', cpu: '100m' }));
      await world.untilRunning('bare', 1);
    });
    await placeOn(world, 1, async () => {
      await world.apply(deployment({ name: 'guarded', cpu: '100m' }));
      await world.apply(budget('guarded', { maxUnavailable: 0 }));
      await world.untilRunning('guarded', 1);
    });
    await world.soleDaemon();
    await always('both nodes are there', async () => (await world.nodes('general')).length === 2, LONG_ENOUGH_MS);
    expect(world.capacity('general')).toBe(2);
    expect(await world.events('ScaleDown')).toEqual([]);
  });
});
