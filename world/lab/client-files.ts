/** Sets up a client of a simulated world: its identity, its files, and the environment that names them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { World } from '../simulator/world.ts';

export const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };

/** Writes `kubeconfig` and `ca.pem` to the paths that the environment names. */
export async function writeClientFiles(dir: string, world: World): Promise<void> {
  await writeFile(join(dir, 'kubeconfig'), world.cluster.kubeconfig());
  await writeFile(join(dir, 'ca.pem'), world.caPem);
}

/** The environment of a process that signs in with a client secret. */
export function clientEnvironment(
  dir: string,
  { spec, arm }: Pick<World, 'spec' | 'arm'>,
  client = CLIENT,
): Readonly<Record<string, string>> {
  return {
    ARM_SUBSCRIPTION_ID: spec.subscriptionId,
    ARM_TENANT_ID: spec.tenantId,
    ARM_RESOURCE_GROUP: spec.nodeResourceGroup,
    ARM_CLUSTER_RESOURCE_GROUP: spec.clusterResourceGroup,
    CLUSTER_NAME: spec.clusterName,
    LOCATION: spec.location,
    ARM_CLIENT_ID: client.clientId,
    ARM_CLIENT_SECRET: client.clientSecret,
    AZURE_RESOURCE_MANAGER_ENDPOINT: arm.url,
    AZURE_AUTHORITY_HOST: arm.url,
    AZURE_CA_FILE: join(dir, 'ca.pem'),
  };
}
