/** The API server of a daemon goes away. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { scenarios } from './scenario.ts';
import { always, until } from './until.ts';
import { deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';
import type { Node } from './seen-objects.ts';

const TO_BE_DELETED = 'ToBeDeletedByClusterAutoscaler';

const { begin, plane } = scenarios();
let world: E2eWorld;

function isMarked({ spec }: Node): boolean {
  return (spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED);
}

describe('disturbances on a real control plane', () => {
  it('outlives an API server that is killed: nothing is removed meanwhile, and the watches recover', async () => {
    world = await begin({ pools: [aPool({ name: 'general', count: 2, min: 0 })] });
    await world.apply(deployment({ name: 'web', replicas: 4, cpu: '1500m' }));
    await world.untilRunning('web', 4);
    const daemon = await world.soleDaemon();
    // One node is about to become unneeded when the API server goes.
    await world.scale('web', 1);
    await until('pods end', async () => (await world.pods('web')).length === 1);
    await plane().withoutApiServer(async () => {
      await always('nothing is written to Azure', () => world.writers().length === 0, 10_000);
    });
    daemon.mustRun();
    await world.scale('web', 8);
    await world.untilRunning('web', 8, 120_000);
    await until('nothing is marked', async () => !(await world.nodes()).some(isMarked));
    expect(world.violations).toEqual([]);
    expect(world.capacity('general'), await world.picture()).toBe(4);
  });
});
