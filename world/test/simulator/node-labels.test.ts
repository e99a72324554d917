/** The labels that a client gives a pool, on the nodes that are there and on those that come. */
import { ContainerServiceClient } from '@azure/arm-containerservice';
import { ClientSecretCredential } from '@azure/identity';
import { describe, expect, it, onTestFinished } from 'vitest';
import { VirtualSimClock } from '../../simulator/base/sim-clock.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import { startWorld } from '../../simulator/world.ts';
import { START_MS } from '../../../test/support/builders.ts';
import { MINUTE } from './arm/harness.ts';

/** An answer that takes its time in the world would never come while the test awaits it. */
const knobs = { aksAnswerLatency: { p50: 0, p95: 0 } };
const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'right' };

describe('a write of the labels of a pool', () => {
  it.each(['vmss-uniform', 'vms-pool'] as const)('replaces them on the nodes of a pool of kind %s, and on later ones', async (kind) => {
    const clock = new VirtualSimClock(START_MS);
    const pool = { name: 'general', kind, vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 6, labels: { team: 'a', old: 'yes' } };
    const world = await startWorld({ spec: { ...smallWorld(1), pools: [pool] }, clock, client: CLIENT, token: 'x', knobs });
    onTestFinished(() => world.stop());
    const { tenantId, subscriptionId, clusterResourceGroup: group, clusterName: cluster } = world.spec;
    const tlsOptions = { ca: world.caPem };
    const authority = { authorityHost: world.arm.url, disableInstanceDiscovery: true, tlsOptions };
    const credential = new ClientSecretCredential(tenantId, CLIENT.clientId, CLIENT.clientSecret, authority);
    const aks = new ContainerServiceClient(credential, subscriptionId, { endpoint: world.arm.url, tlsOptions });
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
