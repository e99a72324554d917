/** A daemon whose subscription and region nobody configured. */
import { expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from './support.ts';

it('asks its machine for the subscription and the region, and scales there', async () => {
  const env: Record<string, string> = {};
  const world = await startedWorld({ spec: worldOf([aPool({ name: 'web', count: 0 })]), env });
  world.killDaemon();
  env['ARM_SUBSCRIPTION_ID'] = '';
  env['LOCATION'] = '';
  env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] = await world.world.arm.startMetadata();
  await world.startDaemon();
  world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '1' }));
  await world.until('the pods to run', () => bound(world, 'web') === 2, 10 * MINUTE);
  expect(world.world.violations()).toEqual([]);
});
