/** The imitation of AKS's own autoscaler follows the limits that a person writes. */
import { expect, it, onTestFinished } from 'vitest';
import { CLIENT } from '../../../lab/client-files.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { startWorld } from '../../../simulator/world.ts';
import { aPool, deployment, MINUTE, worldOf } from '../../../../test/scenarios/support.ts';
import { START_MS } from '../../../../test/support/builders.ts';
import { aksClientOf, PROMPT } from '../signed-in.ts';

it('grows a pool to a maximum that was raised after its start', async () => {
  const clock = new VirtualSimClock(START_MS);
  const spec = worldOf([aPool({ name: 'general', max: 1, managedAutoscaler: true })]);
  const world = await startWorld({ spec, clock, client: CLIENT, token: 't', managedAutoscaler: true, knobs: PROMPT });
  onTestFinished(() => world.stop());
  const capacity = () => world.arm.control.state().sets.find(({ pool }) => pool === 'general')?.capacity;
  clock.advance(2 * MINUTE);
  world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '1' }));
  clock.advance(5 * MINUTE);
  expect(capacity()).toBe(1);
  const { agentPools } = aksClientOf(world);
  const names = [spec.clusterResourceGroup, spec.clusterName, 'general'] as const;
  await agentPools.createOrUpdate(...names, { ...(await agentPools.get(...names)), minCount: 1, maxCount: 3 }).submitted();
  clock.advance(5 * MINUTE);
  expect(capacity()).toBe(3);
});
