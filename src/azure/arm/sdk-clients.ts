/** Makes the SDK clients: one explicit credential, no retries of their own, our policy in the pipeline. No I/O here. */
import { ComputeManagementClient } from '@azure/arm-compute';
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
import { createRawClient } from './agent-pool-api.ts';
import type { ArmCalls } from './arm-client.ts';
import type { AzureOptions } from './options.ts';
import { defined } from '../../lib/defined.ts';

export interface ArmClients {
  readonly compute: ComputeManagementClient;
  /** The same pipeline without a model: bodies as they are. */
  readonly raw: Client;
  /** A GET of an absolute ARM URL through the same pipeline; the body untouched. */
  getRaw(url: string): Promise<PipelineResponse>;
}

export function createClients(options: AzureOptions, credential: TokenCredential, calls: ArmCalls): ArmClients {
  const endpoint = options.armEndpoint.replace(/\/+$/, '');
  const clientOptions = {
    endpoint,
    retryOptions: { maxRetries: 0 },
    credentials: { scopes: options.scopes.length === 0 ? [`${endpoint}/.default`] : [...options.scopes] },
    userAgentOptions: { userAgentPrefix: `aks-autoscaler${options.userAgentSuffix}` },
    additionalPolicies: [{ position: 'perRetry' as const, policy: calls.policy }],
    ...tls(options),
  };
  const compute = new ComputeManagementClient(credential, options.subscriptionId, clientOptions);
  const httpClient: HttpClient = createDefaultHttpClient();
  return {
    compute,
    raw: createRawClient(endpoint, credential, clientOptions),
    getRaw: async (url) => {
      const answer = await compute.pipeline.sendRequest(
        httpClient,
        createPipelineRequest({ url: onEndpoint(url, endpoint), method: 'GET' }),
      );
      // Every other refusal was thrown by our policy already.
      if (answer.status === 401) throw new AutoscalerError({ kind: 'auth' }, 'Azure refused the token while an operation was read.');
      return answer;
    },
  };
}

/**
 * The token goes with the request: an answer must not be able to send it elsewhere.
 * @throws AutoscalerError of kind `bug` when the URL is not of the configured endpoint.
 */
function onEndpoint(url: string, endpoint: string): string {
  const target = new URL(url, endpoint);
  if (target.origin === new URL(endpoint).origin) return target.href;
  throw new AutoscalerError({ kind: 'bug' }, `Azure named an operation on another host: ${target.origin}`);
}

/** Hosts that Microsoft's instance discovery knows; asking it about any other fails. */
const PUBLIC_AUTHORITIES = [
  'login.microsoftonline.com',
  'login.windows.net',
  'login.microsoftonline.us',
  'login.chinacloudapi.cn',
  'login.partner.microsoftonline.cn',
];

/** @throws AutoscalerError of kind `config` when the method needs a tenant and there is none. */
export function createCredential(options: AzureOptions): TokenCredential {
  const { credential } = options;
  const shared = authority(options);
  switch (credential.method) {
    case 'client-secret':
      return new ClientSecretCredential(tenantOf(options), credential.clientId, credential.clientSecret, shared);
    case 'workload-identity':
      return new WorkloadIdentityCredential({
        tenantId: tenantOf(options),
        clientId: credential.clientId,
        tokenFilePath: credential.tokenFile,
        ...shared,
      });
    case 'managed-identity':
      return managedIdentity(credential.clientId);
    case 'client-certificate':
      return new ClientCertificateCredential(
        tenantOf(options),
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

/** `id` is a client id, the ARM id of a user-assigned identity, or nothing for the machine's own. */
function managedIdentity(id: string | undefined): TokenCredential {
  if (id === undefined) return new ManagedIdentityCredential();
  return id.startsWith('/') ? new ManagedIdentityCredential({ resourceId: id }) : new ManagedIdentityCredential({ clientId: id });
}

function authority(options: AzureOptions) {
  const host = new URL(options.authorityHost).hostname.toLowerCase();
  return { authorityHost: options.authorityHost, disableInstanceDiscovery: !PUBLIC_AUTHORITIES.includes(host), ...tls(options) };
}

function tls(options: AzureOptions) {
  return options.caPem === undefined ? {} : { tlsOptions: { ca: options.caPem } };
}

function tenantOf(options: AzureOptions): string {
  if (options.tenantId !== undefined) return options.tenantId;
  throw new AutoscalerError({ kind: 'config' }, `The credential method ${options.credential.method} needs tenantId; it is not set.`);
}
