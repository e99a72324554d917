/**
 * Reads and writes agent pools as raw JSON. The typed client drops fields that it does not know from a GET. A pool written
 * back from it would lose the settings of newer versions and other tools. The requests use the same credential, policies and
 * rate limits as every other call, without retries.
 */
import { getClient, type Client, type PathUncheckedResponse, type ResourceMethods, type StreamableMethod } from '@azure-rest/core-client';
import type { TokenCredential } from '@azure/core-auth';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { isRecord } from './error-bodies.ts';
import type { ArmCalls } from './arm-client.ts';
import { retryAfterMs } from './errors.ts';
import type { ArmOperation } from './call-list.ts';
import type { AzureOptions } from './options.ts';

/** A document must be written in the version it was read in, so the version is pinned. */
const API_VERSION = '2026-06-01';
export const AGENT_POOLS_PATH =
  '/subscriptions/{sub}/resourceGroups/{rg}/providers/Microsoft.ContainerService/managedClusters/{cluster}/agentPools';
/** Query parameters of every request about pools. */
export const API_VERSION_QUERY = { queryParameters: { 'api-version': API_VERSION } };

/** Makes a client for raw requests with the same options as the typed clients. */
export function createRawClient(endpoint: string, credential: TokenCredential, options: Parameters<typeof getClient>[2]): Client {
  return getClient(endpoint, credential, options ?? {});
}

export interface AgentPoolApiDeps {
  readonly options: Pick<AzureOptions, 'subscriptionId' | 'clusterName' | 'clusterResourceGroup'>;
  readonly clients: { readonly raw: Client };
  readonly calls: ArmCalls;
  readonly clock: Pick<Clock, 'now'>;
}

/** The first response to a write of a pool. */
export interface AgentPoolResponse {
  readonly body: unknown;
  /** The pool's entity tag after the write, if the response has it. */
  readonly etag: string | undefined;
  readonly operationUrl: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/** @throws AutoscalerError; `not-found` when there is no such pool. */
export async function getAgentPool(deps: AgentPoolApiDeps, pool: string, signal: AbortSignal): Promise<unknown> {
  const response = await sendPoolRequest(deps, { operation: 'getAgentPool', pool, signal }, (path) => path.get(API_VERSION_QUERY));
  return response.body;
}

/** Replaces the pool's document if its entity tag is still `etag`. @throws AutoscalerError; `conflict` if the tag has changed. */
export async function putAgentPool(
  deps: AgentPoolApiDeps,
  pool: string,
  write: { readonly body: unknown; readonly etag: string },
  signal: AbortSignal,
): Promise<AgentPoolResponse> {
  const response = await sendPoolRequest(deps, { operation: 'putAgentPool', pool, signal }, (path) =>
    path.put({ ...API_VERSION_QUERY, headers: { 'if-match': write.etag }, contentType: 'application/json', body: write.body }),
  );
  return readPoolResponse(deps, response);
}

/** Asks AKS to remove these machines. The call takes no condition, so read the pool first. */
export async function postDeleteMachines(
  deps: AgentPoolApiDeps,
  pool: string,
  machineNames: readonly string[],
  signal: AbortSignal,
): Promise<AgentPoolResponse> {
  const target = { operation: 'deleteMachines', pool, signal, rest: '/deleteMachines' } as const;
  const response = await sendPoolRequest(deps, target, (path) =>
    path.post({ ...API_VERSION_QUERY, contentType: 'application/json', body: { machineNames: [...machineNames] } }),
  );
  return readPoolResponse(deps, response);
}

interface AgentPoolRequest {
  readonly operation: ArmOperation;
  readonly pool: string;
  readonly signal: AbortSignal;
  /** Appended to the pool's own path. */
  readonly rest?: '' | '/deleteMachines';
}

async function sendPoolRequest(
  { options, clients, calls }: AgentPoolApiDeps,
  { operation, pool, signal, rest = '' }: AgentPoolRequest,
  send: (path: ResourceMethods<StreamableMethod>) => PromiseLike<PathUncheckedResponse>,
): Promise<PathUncheckedResponse> {
  const { subscriptionId, clusterResourceGroup, clusterName } = options;
  if (clusterResourceGroup === undefined || clusterName === undefined) {
    throw new AutoscalerError(
      { kind: 'config' },
      'azure.clusterName or azure.clusterResourceGroup is not set; both are needed to write agent pools.',
    );
  }
  const path = clients.raw.pathUnchecked(`${AGENT_POOLS_PATH}/{pool}${rest}`, subscriptionId, clusterResourceGroup, clusterName, pool);
  const response = await calls.run({ operation, resource: pool }, signal, async () => await send(path));
  // The pipeline policy has already thrown every other refusal.
  if (Number(response.status) === 401) throw new AutoscalerError({ kind: 'auth' }, `Azure rejected the token for agent pool ${pool}.`);
  return response;
}

function readPoolResponse({ clock }: AgentPoolApiDeps, { body, headers }: PathUncheckedResponse): AgentPoolResponse {
  const properties = isRecord(body) && isRecord(body['properties']) ? body['properties'] : {};
  const header = (name: string): string | undefined => headers[name];
  return {
    body,
    etag: typeof properties['eTag'] === 'string' ? properties['eTag'] : undefined,
    operationUrl: header('azure-asyncoperation') ?? header('location'),
    retryAfterMs: retryAfterMs(header, clock.now()),
  };
}
