/**
 * Reads agent pools and deletes their machines with AKS's typed client, and keeps the untouched body of each response: the typed
 * model drops fields that its version does not know. A pool written back from the model would lose the settings of newer versions
 * and other tools, so the PUT alone sends raw JSON. All requests share one credential, pipeline and set of rate limits.
 */
import type { ContainerServiceClient } from '@azure/arm-containerservice';
import { getClient, type Client } from '@azure-rest/core-client';
import type { TokenCredential } from '@azure/core-auth';
import type { PipelineResponse } from '@azure/core-rest-pipeline';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { jsonOf } from './error-bodies.ts';
import type { ArmCalls } from './arm-client.ts';
import { acceptedOperation, type AcceptedOperation } from './errors.ts';
import type { AzureOptions } from './options.ts';
import { isRecord } from '../../lib/json.ts';

/** A document must be written in the version it was read in, so the version is pinned for the typed client and for the PUT. */
export const AKS_API_VERSION = '2026-06-01';
const POOL_PATH =
  '/subscriptions/{sub}/resourceGroups/{rg}/providers/Microsoft.ContainerService/managedClusters/{cluster}/agentPools/{pool}';

/** The ARM id of an agent pool. undefined: the cluster is not configured. */
export function agentPoolId(
  { subscriptionId, clusterResourceGroup, clusterName }: Pick<AzureOptions, 'subscriptionId' | 'clusterName' | 'clusterResourceGroup'>,
  pool: string,
): string | undefined {
  if (clusterResourceGroup === undefined || clusterName === undefined) return undefined;
  const cluster = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`;
  return `${cluster}/agentPools/${pool}`;
}

/** Makes a client for raw requests with the same options as the typed clients. */
export function createRawClient(endpoint: string, credential: TokenCredential, options: Parameters<typeof getClient>[2]): Client {
  return getClient(endpoint, credential, options ?? {});
}

export interface AgentPoolApiDeps {
  readonly options: Pick<AzureOptions, 'subscriptionId' | 'clusterName' | 'clusterResourceGroup'>;
  readonly clients: { readonly containers: ContainerServiceClient; readonly raw: Client };
  readonly calls: ArmCalls;
  readonly clock: Pick<Clock, 'now'>;
}

/** The first response to a write of a pool. */
export interface AgentPoolResponse extends AcceptedOperation {
  readonly body: unknown;
  /** The pool's entity tag after the write, if the response has it. */
  readonly etag: string | undefined;
}

type SendTyped = (onResponse: (raw: PipelineResponse) => void) => Promise<unknown>;

/**
 * Sends a request of the typed client and returns the response as it came. A body that the typed model cannot hold does not
 * matter: who reads it decides field by field. @throws whatever kept the response from coming.
 */
export async function untouchedResponse(send: SendTyped): Promise<PipelineResponse> {
  const seen: PipelineResponse[] = [];
  try {
    await send((raw) => void seen.push(raw));
  } catch (thrown) {
    if (!(thrown instanceof TypeError) || seen[0] === undefined) throw thrown;
  }
  const [first] = seen;
  if (first === undefined) throw new AutoscalerError({ kind: 'bug' }, 'The client of AKS returned no response.');
  return first;
}

/** The pool's untouched JSON. @throws AutoscalerError; `not-found` when there is no such pool. */
export async function getAgentPool(deps: AgentPoolApiDeps, pool: string, signal: AbortSignal): Promise<unknown> {
  const { resourceGroup, name } = clusterOf(deps);
  const { agentPools } = deps.clients.containers;
  const response = await deps.calls.run({ operation: 'getAgentPool', resource: pool }, signal, () =>
    untouchedResponse((onResponse) => agentPools.get(resourceGroup, name, pool, { onResponse })),
  );
  return jsonOf(response.bodyAsText);
}

/** The machines to remove. */
export interface MachineDeletion {
  readonly machineNames: readonly string[];
  /** Called right before the request is sent. If it throws, nothing is sent. */
  readonly beforeSend: () => Promise<void>;
}

/** Asks AKS to remove these machines. The call takes no condition, so read the pool first. @throws AutoscalerError */
export async function postDeleteMachines(
  deps: AgentPoolApiDeps,
  pool: string,
  { machineNames, beforeSend }: MachineDeletion,
  signal: AbortSignal,
): Promise<AgentPoolResponse> {
  const { resourceGroup, name } = clusterOf(deps);
  const { agentPools } = deps.clients.containers;
  const response = await deps.calls.run({ operation: 'deleteMachines', resource: pool, beforeSend }, signal, () =>
    untouchedResponse((onResponse) =>
      agentPools.deleteMachines(resourceGroup, name, pool, { machineNames: [...machineNames] }, { onResponse }).submitted(),
    ),
  );
  return poolResponse((header) => response.headers.get(header), jsonOf(response.bodyAsText), deps.clock.now());
}

/** Replaces the pool's document if its entity tag is still `etag`. @throws AutoscalerError; `conflict` if the tag has changed. */
export async function putAgentPool(
  deps: AgentPoolApiDeps,
  pool: string,
  write: { readonly body: unknown; readonly etag: string },
  signal: AbortSignal,
): Promise<AgentPoolResponse> {
  const { resourceGroup, name } = clusterOf(deps);
  const path = deps.clients.raw.pathUnchecked(POOL_PATH, deps.options.subscriptionId, resourceGroup, name, pool);
  const { status, headers, body } = await deps.calls.run({ operation: 'putAgentPool', resource: pool }, signal, async () =>
    path.put({
      queryParameters: { 'api-version': AKS_API_VERSION },
      // guard: a write of an agent pool is conditional
      headers: { 'if-match': write.etag },
      contentType: 'application/json',
      body: write.body,
    }),
  );
  // The pipeline policy has already thrown every other refusal.
  if (Number(status) === 401) throw new AutoscalerError({ kind: 'auth' }, `Azure rejected the token for agent pool ${pool}.`);
  return poolResponse((header) => headers[header], body, deps.clock.now());
}

function clusterOf({ options }: AgentPoolApiDeps): { readonly resourceGroup: string; readonly name: string } {
  const { clusterResourceGroup: resourceGroup, clusterName: name } = options;
  if (resourceGroup !== undefined && name !== undefined) return { resourceGroup, name };
  const message = 'azure.clusterName or azure.clusterResourceGroup is not set; both are needed to write agent pools.';
  throw new AutoscalerError({ kind: 'config' }, message);
}

function poolResponse(header: (name: string) => string | undefined, body: unknown, nowMs: number): AgentPoolResponse {
  const properties = isRecord(body) && isRecord(body['properties']) ? body['properties'] : {};
  return {
    body,
    etag: typeof properties['eTag'] === 'string' ? properties['eTag'] : undefined,
    ...acceptedOperation(header, nowMs),
  };
}
