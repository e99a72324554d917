/** Makes the SDK clients with one explicit credential, no retries of their own, and our policy in the pipeline. No I/O here. */
import { ComputeManagementClient } from '@azure/arm-compute';
import { ContainerServiceClient } from '@azure/arm-containerservice';
import type { Client } from '@azure-rest/core-client';
import type { TokenCredential } from '@azure/core-auth';
import { createDefaultHttpClient, createPipelineRequest, type HttpClient, type PipelineResponse } from '@azure/core-rest-pipeline';
import {
  AzureCliCredential,
  ClientCertificateCredential,
  ClientSecretCredential,
  ManagedIdentityCredential,
  WorkloadIdentityCredential,
} from '@azure/identity';
import { AutoscalerError } from '../../lib/errors.ts';
import { AKS_API_VERSION, createRawClient } from './agent-pool-api.ts';
import type { ArmCalls } from './arm-client.ts';
import { jsonOf } from './error-bodies.ts';
import type { AzureOptions } from './options.ts';
import { parseAddress } from './request-addresses.ts';
import { defined } from '../../lib/defined.ts';
import { isRecord } from '../../lib/json.ts';

export interface ArmClients {
  readonly compute: ComputeManagementClient;
  readonly containers: ContainerServiceClient;
  /** Raw requests with the same options; bodies are not modelled. */
  readonly raw: Client;
  /** A GET of an absolute ARM URL through the same pipeline. The body is raw. */
  getRaw(url: string): Promise<PipelineResponse>;
}

export function createClients(options: AzureOptions, credential: TokenCredential, calls: ArmCalls): ArmClients {
  const endpoint = options.armEndpoint.replace(/\/+$/, '');
  const clientOptions = {
    endpoint,
    retryOptions: { maxRetries: 0 },
    credentials: { scopes: options.scopes.length === 0 ? [`${endpoint}/.default`] : [...options.scopes] },
    userAgentOptions: { userAgentPrefix: `aks-autoscaler${options.userAgentSuffix}` },
    additionalPolicies: [
      { position: 'perCall' as const, policy: calls.redirectPolicy },
      { position: 'perRetry' as const, policy: calls.policy },
    ],
    ...tlsOptions(options),
  };
  const compute = new ComputeManagementClient(credential, options.subscriptionId, clientOptions);
  const httpClient: HttpClient = createDefaultHttpClient();
  return {
    compute,
    containers: new ContainerServiceClient(credential, options.subscriptionId, { ...clientOptions, apiVersion: AKS_API_VERSION }),
    raw: createRawClient(endpoint, credential, clientOptions),
    getRaw: async (url) => {
      const response = await compute.pipeline.sendRequest(
        httpClient,
        createPipelineRequest({ url: parseAddress(url, endpoint, 'A read').href, method: 'GET' }),
      );
      // The pipeline policy has already thrown every other refusal.
      if (response.status === 401) throw new AutoscalerError({ kind: 'auth' }, 'Azure rejected the token while an operation was read.');
      return response;
    },
  };
}

/** Hosts that Microsoft's instance discovery knows. Discovery fails for any other host. */
const PUBLIC_AUTHORITIES = [
  'login.microsoftonline.com',
  'login.windows.net',
  'login.microsoftonline.us',
  'login.chinacloudapi.cn',
  'login.partner.microsoftonline.cn',
];

/** @throws AutoscalerError of kind `config` if the method needs a tenant and none is set. */
export function createCredential(options: AzureOptions): TokenCredential {
  const { credential } = options;
  const shared = authorityOptions(options);
  switch (credential.method) {
    case 'client-secret':
      return new ClientSecretCredential(requiredTenant(options), credential.clientId, credential.clientSecret, shared);
    case 'workload-identity':
      return new WorkloadIdentityCredential({
        tenantId: requiredTenant(options),
        clientId: credential.clientId,
        tokenFilePath: credential.tokenFile,
        ...shared,
      });
    case 'managed-identity':
      return managedIdentity(credential.clientId);
    case 'client-certificate':
      return new ClientCertificateCredential(
        requiredTenant(options),
        credential.clientId,
        {
          certificatePath: credential.certificatePath,
          ...defined({ certificatePassword: credential.certificatePassword }),
        },
        shared,
      );
    case 'azure-cli':
      return new AzureCliCredential(options.tenantId === undefined ? {} : { tenantId: options.tenantId });
  }
}

/** `id` is a client id or the ARM id of a user-assigned identity. If absent, the VM's system-assigned identity is used. */
function managedIdentity(id: string | undefined): TokenCredential {
  if (id === undefined) return new ManagedIdentityCredential();
  return id.startsWith('/') ? new ManagedIdentityCredential({ resourceId: id }) : new ManagedIdentityCredential({ clientId: id });
}

/** As the sign-in library retries by default. */
const SIGN_IN_RETRIES = 3;

function authorityOptions(options: AzureOptions) {
  const host = new URL(options.authorityHost).hostname.toLowerCase();
  const { authorityHost, signInRetryDelayMs: retryDelayInMs } = options;
  const retries = retryDelayInMs === undefined ? {} : { retryOptions: { maxRetries: SIGN_IN_RETRIES, retryDelayInMs } };
  return { authorityHost, disableInstanceDiscovery: !PUBLIC_AUTHORITIES.includes(host), ...retries, ...tlsOptions(options) };
}

function tlsOptions(options: AzureOptions) {
  return options.caPem === undefined ? {} : { tlsOptions: { ca: options.caPem } };
}

function requiredTenant(options: AzureOptions): string {
  if (options.tenantId !== undefined) return options.tenantId;
  throw new AutoscalerError({ kind: 'config' }, `azure.tenantId is not set; the credential method ${options.credential.method} needs it.`);
}

/** The claims of the access token of ARM. The signature is not verified: Azure does that. Rejects as the credential does. */
export async function claimsOfToken(
  credential: TokenCredential,
  { armEndpoint, scopes }: Pick<AzureOptions, 'armEndpoint' | 'scopes'>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const wanted = scopes.length === 0 ? [`${armEndpoint.replace(/\/+$/, '')}/.default`] : [...scopes];
  const token = (await credential.getToken(wanted, { abortSignal: signal }))?.token ?? '';
  const claims = jsonOf(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  return isRecord(claims) ? claims : {};
}
