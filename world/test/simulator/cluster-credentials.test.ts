/** The credentials of the managed cluster through the SDK: a client of the API server gets in with them. */
import type { ContainerServiceClient } from '@azure/arm-containerservice';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT } from '../../lab/client-files.ts';
import { VirtualSimClock } from '../../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../simulator/world.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import { START_MS } from '../../../test/support/builders.ts';
import { aPool, aWorld, startRig } from './arm/harness.ts';
import { aksClientOf } from './signed-in.ts';

let world: World;
let aks: ContainerServiceClient;

beforeAll(async () => {
  world = await startWorld({ spec: smallWorld(1), clock: new VirtualSimClock(START_MS), client: CLIENT, token: 'a-token' });
  aks = aksClientOf(world);
});
afterAll(() => world.stop());

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } }[];
  readonly users: readonly { readonly name: string; readonly user: { readonly token: string } }[];
  readonly 'current-context': string;
}

type Action = 'listClusterUserCredentials' | 'listClusterAdminCredentials' | 'listClusterMonitoringUserCredentials';

describe('credentials of the managed cluster', () => {
  it.each<readonly [Action, string, string]>([
    ['listClusterUserCredentials', 'clusterUser', ''],
    ['listClusterAdminCredentials', 'clusterAdmin', '-admin'],
    ['listClusterMonitoringUserCredentials', 'clusterMonitoringUser', ''],
  ])('%s: the file %s signs in at the API server', async (action, name, suffix) => {
    const { clusterResourceGroup, clusterName } = world.spec;
    const { kubeconfigs = [] } = await aks.managedClusters[action](clusterResourceGroup, clusterName);
    expect(kubeconfigs.map((file) => file.name)).toEqual([name]);
    const config = JSON.parse(Buffer.from(kubeconfigs[0]?.value ?? []).toString()) as Kubeconfig;
    expect([config['current-context'], config.users[0]?.name]).toEqual([
      `${clusterName}${suffix}`,
      `${name}_${clusterResourceGroup}_${clusterName}`,
    ]);
    const { server, 'certificate-authority-data': ca } = config.clusters[0]?.cluster ?? { server: '', 'certificate-authority-data': '' };
    const dispatcher = new Agent({ connect: { ca: Buffer.from(ca, 'base64').toString() } });
    const headers = { authorization: `Bearer ${config.users[0]?.user.token}` };
    const { statusCode, body } = await request(`${server}/api/v1/nodes`, { dispatcher, headers });
    await body.dump();
    await dispatcher.destroy();
    expect(statusCode).toBe(200);
  });

  it('of another cluster: there are none', async () => {
    await expect(aks.managedClusters.listClusterUserCredentials(world.spec.clusterResourceGroup, 'other')).rejects.toMatchObject({
      statusCode: 404,
    });
  });

  it('a role without the action may not list them', async () => {
    const rig = await startRig(aWorld([aPool('a')], { roleActions: ['Microsoft.ContainerService/managedClusters/read'] }));
    const path = `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks`;
    const refused = await rig.call('POST', `${path}/listClusterUserCredential?api-version=2025-05-01`);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("'Microsoft.ContainerService/managedClusters/listClusterUserCredential/action'");
  });
});
