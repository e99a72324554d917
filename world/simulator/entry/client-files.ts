/** What clients of a world read, in the formats of real clusters. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorldSpec } from '../base/world-spec.ts';

export interface ClientSource {
  readonly spec: WorldSpec;
  readonly caPem: string;
  readonly azureUrl: string;
  /** The metadata endpoint of a VM, on plain HTTP. */
  readonly metadataUrl: string;
  readonly kubeconfig: string;
  readonly client: { readonly clientId: string; readonly clientSecret: string };
}

/** Paths. */
export interface ClientFiles {
  readonly kubeconfig: string;
  /** The cloud provider configuration of AKS. */
  readonly azure: string;
  /** The same for a Cluster Autoscaler, with a managed identity and the endpoints of this world. */
  readonly clusterAutoscaler: string;
  /** Endpoints as of an Azure Stack, for AZURE_ENVIRONMENT_FILEPATH and the cloud `AzureStackCloud`. */
  readonly environment: string;
  readonly ca: string;
  /** A shell script that exports the variables. */
  readonly env: string;
}

function filesIn(dir: string): ClientFiles {
  return {
    kubeconfig: join(dir, 'kubeconfig'),
    azure: join(dir, 'azure.json'),
    clusterAutoscaler: join(dir, 'cluster-autoscaler.json'),
    environment: join(dir, 'azure-environment.json'),
    ca: join(dir, 'ca.pem'),
    env: join(dir, 'env'),
  };
}

/** The folder must exist. Only the owner can read the secrets. */
export async function writeClientFiles(dir: string, source: ClientSource): Promise<ClientFiles> {
  const files = filesIn(dir);
  const lines = Object.entries(clientVariables(dir, source)).map(([name, value]) => `export ${name}=${inQuotes(value)}\n`);
  await Promise.all([
    writeFile(files.kubeconfig, source.kubeconfig, { mode: 0o600 }),
    writeFile(files.azure, asJson(cloudConfig(source)), { mode: 0o600 }),
    writeFile(files.clusterAutoscaler, asJson(clusterAutoscalerConfig(source)), { mode: 0o600 }),
    writeFile(files.environment, asJson(endpoints(source))),
    writeFile(files.ca, source.caPem),
    writeFile(files.env, lines.join('')),
  ]);
  return files;
}

/** The variables that name the files, the endpoints and the identity. */
export function clientVariables(dir: string, { azureUrl, metadataUrl }: ClientSource): Readonly<Record<string, string>> {
  const files = filesIn(dir);
  return {
    KUBECONFIG: files.kubeconfig,
    AZURE_RESOURCE_MANAGER_ENDPOINT: azureUrl,
    AZURE_AUTHORITY_HOST: azureUrl,
    AZURE_CA_FILE: files.ca,
    NODE_EXTRA_CA_CERTS: files.ca,
    SSL_CERT_FILE: files.ca,
    AZURE_ENVIRONMENT_FILEPATH: files.environment,
    // A client secret would make azidentity ask the public login host about an authority that it does not know.
    IDENTITY_ENDPOINT: `${metadataUrl}/msi/token`,
    IDENTITY_HEADER: 'only-known-to-this-simulation',
    // The Azure CLI. Its folder is one of this world, because signing in changes which cloud is active.
    AZURE_CONFIG_DIR: join(dir, 'azure-cli'),
    REQUESTS_CA_BUNDLE: files.ca,
    AZURE_CORE_INSTANCE_DISCOVERY: 'false',
    AZURE_CORE_COLLECT_TELEMETRY: 'false',
  };
}

function asJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function cloudConfig({ spec, client }: ClientSource): object {
  return { ...clusterFacts(spec), aadClientId: client.clientId, aadClientSecret: client.clientSecret };
}

/**
 * The public cloud with other endpoints. With the cloud `AzureStackCloud` the Cluster Autoscaler 1.36 sends api-versions of 2017 and
 * 2019, and ends at its start, because scale sets have no `orchestrationMode` in them (github.com/Azure/azure-cli/issues/18855).
 */
function clusterAutoscalerConfig({ spec, azureUrl }: ClientSource): object {
  const endpoint = { hostedResourceProxyURL: azureUrl, armBaseURLForAPClient: azureUrl };
  return { ...clusterFacts(spec), useManagedIdentityExtension: true, ...endpoint };
}

function clusterFacts(spec: WorldSpec): object {
  return {
    cloud: 'AzurePublicCloud',
    tenantId: spec.tenantId,
    subscriptionId: spec.subscriptionId,
    resourceGroup: spec.nodeResourceGroup,
    location: spec.location,
    clusterName: spec.clusterName,
    clusterResourceGroup: spec.clusterResourceGroup,
    vmType: 'vmss',
  };
}

/** The file of go-autorest's `Environment`. Fields that no autoscaler reads are left out. */
function endpoints({ azureUrl }: ClientSource): object {
  const url = `${azureUrl}/`;
  return {
    name: 'AzureStackCloud',
    managementPortalURL: url,
    serviceManagementEndpoint: url,
    resourceManagerEndpoint: url,
    activeDirectoryEndpoint: url,
    graphEndpoint: url,
    tokenAudience: url,
    resourceManagerVMDNSSuffix: 'cloudapp.azure.com',
    resourceIdentifiers: { graph: url, keyVault: url, datalake: url, batch: url, operationalInsights: url, storage: url },
  };
}

/** Always in quotes: programs that are no shell read this form, too. */
function inQuotes(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}
