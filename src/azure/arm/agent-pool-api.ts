/**
 * Agent pools on the wire, as untouched JSON: the typed client drops what it does not know from a GET, so that a read,
 * changed and written back, would erase the settings of newer versions and other tools. Same credential, policies and
 * budgets as every other call; no retries.
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

/** Pinned: what is read in one version must be written in the same. */
const API_VERSION = '2026-06-01';
export const POOLS_PATH =
  '/subscriptions/{sub}/resourceGroups/{rg}/providers/Microsoft.ContainerService/managedClusters/{cluster}/agentPools';
/** For every request about pools. */
export const VERSIONED = { queryParameters: { 'api-version': API_VERSION } };

/** Makes a client of raw requests with the options that the typed clients were made with. */
export function createRawClient(endpoint: string, credential: TokenCredential, options: Parameters<typeof getClient>[2]): Client {
  return getClient(endpoint, credential, options ?? {});
}

export interface PoolWireParts {
  readonly options: Pick<AzureOptions, 'subscriptionId' | 'clusterName' | 'clusterResourceGroup'>;
  readonly clients: { readonly raw: Client };
  readonly calls: ArmCalls;
  readonly clock: Pick<Clock, 'now'>;
}

/** The first answer to a write of a pool. */
export interface PoolAnswer {
  readonly body: unknown;
  /** The pool's tag after the write, when the answer tells it. */
  readonly etag: string | undefined;
  readonly operationUrl: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/** @throws AutoscalerError; `not-found` when there is no such pool. */
export async function getAgentPool(parts: PoolWireParts, pool: string, signal: AbortSignal): Promise<unknown> {
  const answer = await call(parts, { operation: 'getAgentPool', pool, signal }, (path) => path.get(VERSIONED));
  return answer.body;
}

/** Replaces the pool's document, if it still is the one that `etag` stands for. @throws AutoscalerError; `conflict` when it is not. */
export async function putAgentPool(
  parts: PoolWireParts,
  pool: string,
  write: { readonly body: unknown; readonly etag: string },
  signal: AbortSignal,
): Promise<PoolAnswer> {
  const answer = await call(parts, { operation: 'putAgentPool', pool, signal }, (path) =>
    path.put({ ...VERSIONED, headers: { 'if-match': write.etag }, contentType: 'application/json', body: write.body }),
  );
  return readAnswer(parts, answer);
}

/** Asks AKS to remove these machines. There is no condition on this call: read first. */
export async function postDeleteMachines(
  parts: PoolWireParts,
  pool: string,
  machineNames: readonly string[],
  signal: AbortSignal,
): Promise<PoolAnswer> {
  const target = { operation: 'deleteMachines', pool, signal, rest: '/deleteMachines' } as const;
  const answer = await call(parts, target, (path) =>
    path.post({ ...VERSIONED, contentType: 'application/json', body: { machineNames: [...machineNames] } }),
  );
  return readAnswer(parts, answer);
}

interface PoolCall {
  readonly operation: ArmOperation;
  readonly pool: string;
  readonly signal: AbortSignal;
  /** What follows the pool's own path. */
  readonly rest?: '' | '/deleteMachines';
}

async function call(
  { options, clients, calls }: PoolWireParts,
  { operation, pool, signal, rest = '' }: PoolCall,
  send: (path: ResourceMethods<StreamableMethod>) => PromiseLike<PathUncheckedResponse>,
): Promise<PathUncheckedResponse> {
  const { subscriptionId, clusterResourceGroup, clusterName } = options;
  if (clusterResourceGroup === undefined || clusterName === undefined) {
    throw new AutoscalerError({ kind: 'config' }, 'Agent pools cannot be written without the name and resource group of the cluster.');
  }
  const path = clients.raw.pathUnchecked(`${POOLS_PATH}/{pool}${rest}`, subscriptionId, clusterResourceGroup, clusterName, pool);
  const answer = await calls.run({ operation, resource: pool }, signal, async () => await send(path));
  // Every other refusal was thrown by our policy already.
  if (Number(answer.status) === 401) throw new AutoscalerError({ kind: 'auth' }, `Azure refused the token for agent pool ${pool}.`);
  return answer;
}

function readAnswer({ clock }: PoolWireParts, { body, headers }: PathUncheckedResponse): PoolAnswer {
  const properties = isRecord(body) && isRecord(body['properties']) ? body['properties'] : {};
  const header = (name: string): string | undefined => headers[name];
  return {
    body,
    etag: typeof properties['eTag'] === 'string' ? properties['eTag'] : undefined,
    operationUrl: header('azure-asyncoperation') ?? header('location'),
    retryAfterMs: retryAfterMs(header, clock.now()),
  };
}
