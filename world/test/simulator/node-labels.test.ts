/** The labels that a client gives a pool, on the nodes that are there and on those that come. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLIENT } from '../../lab/client-files.ts';
import { VirtualSimClock } from '../../simulator/base/sim-clock.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import { startWorld } from '../../simulator/world.ts';
import { START_MS } from '../../../test/support/builders.ts';
import { MINUTE } from './arm/harness.ts';
import { aksClientOf, PROMPT } from './signed-in.ts';

describe('a write of the labels of a pool', () => {
  it.each(['vmss-uniform', 'vms-pool'] as const)('replaces them on the nodes of a pool of kind %s, and on later ones', async (kind) => {
    const clock = new VirtualSimClock(START_MS);
    const pool = { name: 'general', kind, vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 6, labels: { team: 'a', old: 'yes' } };
    const world = await startWorld({ spec: { ...smallWorld(1), pools: [pool] }, clock, client: CLIENT, token: 'x', knobs: PROMPT });
    onTestFinished(() => world.stop());
    const { clusterResourceGroup: group, clusterName: cluster } = world.spec;
    const aks = aksClientOf(world);
    const labels = () =>
      world.cluster.store.nodes().map(({ metadata }) => ['team', 'old', 'disk', 'agentpool'].map((key) => metadata.labels?.[key]));
    clock.advance(MINUTE);
    expect(labels()).toEqual([['a', 'yes', undefined, 'general']]);
    const read = await aks.agentPools.get(group, cluster, 'general');
    await aks.agentPools.createOrUpdate(group, cluster, 'general', { ...read, nodeLabels: { team: 'b', disk: 'ssd' } }).submitted();
    clock.advance(10 * MINUTE);
    expect(labels()).toEqual([['b', undefined, 'ssd', 'general']]);
    expect(world.arm.control.raise({ foreignScale: { pool: 'general', to: 2 } })).toBeUndefined();
    clock.advance(10 * MINUTE);
    expect(labels()).toEqual(Array.from({ length: 2 }, () => ['b', undefined, 'ssd', 'general']));
  });
});
