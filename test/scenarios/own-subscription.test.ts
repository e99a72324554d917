/** A daemon whose subscription and region nobody configured. */
import { afterEach, expect, it } from 'vitest';
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from './support.ts';

let run: VirtualRun | undefined;
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

it('asks its machine for the subscription and the region, and scales there', async () => {
  const env: Record<string, string> = {};
  run = await VirtualRun.start({ spec: worldOf([aPool({ name: 'web', count: 0 })]), env });
  const world = run;
  world.killDaemon();
  env['ARM_SUBSCRIPTION_ID'] = '';
  env['LOCATION'] = '';
  env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] = await world.world.arm.startMetadata();
  await world.startDaemon();
  world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '1' }));
  await world.until('the pods to run', () => bound(world, 'web') === 2, 10 * MINUTE);
  expect(world.world.violations()).toEqual([]);
});
