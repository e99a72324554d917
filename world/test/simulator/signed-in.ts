/** The Azure of a whole world, for a client that is signed in as the world's own. */
import { ContainerServiceClient } from '@azure/arm-containerservice';
import { ClientSecretCredential } from '@azure/identity';
import { Agent, request } from 'undici';
import { CLIENT } from '../../lab/client-files.ts';
import type { World } from '../../simulator/world.ts';

/** No time of the world passes while a test waits for an answer. */
export const PROMPT = { aksAnswerLatency: { p50: 0, p95: 0 } };

function credentialOf({ spec, arm, caPem }: World): ClientSecretCredential {
  const options = { authorityHost: arm.url, disableInstanceDiscovery: true, tlsOptions: { ca: caPem } };
  return new ClientSecretCredential(spec.tenantId, CLIENT.clientId, CLIENT.clientSecret, options);
}

export function aksClientOf(world: World): ContainerServiceClient {
  const options = { endpoint: world.arm.url, tlsOptions: { ca: world.caPem } };
  return new ContainerServiceClient(credentialOf(world), world.spec.subscriptionId, options);
}

/** Calls the managed cluster, or what is below it: `rest` begins with a slash. */
export async function callCluster(world: World, method: 'GET' | 'POST' | 'PUT', rest = '', sent?: unknown) {
  const { subscriptionId, clusterResourceGroup, clusterName } = world.spec;
  const { token } = await credentialOf(world).getToken('https://management.azure.com/.default');
  const cluster = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`;
  const dispatcher = new Agent({ connect: { ca: world.caPem } });
  const { statusCode, body } = await request(`${world.arm.url}${cluster}${rest}?api-version=2025-05-01`, {
    dispatcher,
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  });
  const text = await body.text();
  await dispatcher.destroy();
  return { status: statusCode, text };
}
