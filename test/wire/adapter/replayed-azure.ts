/** The daemon's own clients and rate limits over one recorded answer: nothing is sent. */
import { ComputeManagementClient } from '@azure/arm-compute';
import { ContainerServiceClient } from '@azure/arm-containerservice';
import {
  createHttpHeaders,
  createPipelineRequest,
  type HttpClient,
  type HttpMethods,
  type PipelineRequest,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import { AKS_API_VERSION, createRawClient } from '../../../src/azure/arm/agent-pool-api.ts';
import { ArmCalls } from '../../../src/azure/arm/arm-client.ts';
import type { ArmCall, ArmOperation } from '../../../src/azure/arm/call-list.ts';
import { RateLimits } from '../../../src/azure/arm/rate-limits.ts';
import type { ArmClients } from '../../../src/azure/arm/sdk-clients.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import type { Interaction } from '../recordings/interaction.ts';

/** An answer as it came. */
export type RecordedAnswer = Pick<Interaction, 'method' | 'uri' | 'status' | 'headers' | 'body' | 'dateMs'>;

const METRICS = createMetrics().arm;
const SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';
const credential = { getToken: () => Promise.resolve({ token: 'recorded', expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) };

export interface ReplayedAzure {
  readonly calls: ArmCalls;
  readonly clients: ArmClients;
  /** The recorded request through the daemon's pipeline. Throws as the daemon's calls do. */
  send(call: ArmCall): Promise<PipelineResponse>;
  /** The typed model without what the daemon leaves out of bodies, for a comparison with the document. */
  readonly untouched: Pick<ArmClients, 'compute' | 'containers'>;
}

/** Clients that get this answer to every request. `onRequest` sees what the daemon would send. */
export function replay(answer: RecordedAnswer, onRequest: (request: PipelineRequest) => void = () => undefined): ReplayedAzure {
  const endpoint = answer.uri.origin;
  const clock = new FakeClock(answer.dateMs ?? 0);
  const rateLimits = new RateLimits(clock, METRICS);
  const calls = new ArmCalls({ clock, metrics: METRICS, rateLimits, endpoint, timeoutMs: 1_000, maxConcurrent: 1, random: () => 0 });
  const httpClient: HttpClient = {
    sendRequest: (request) => {
      onRequest(request);
      const headers = createHttpHeaders(Object.fromEntries(answer.headers));
      return Promise.resolve({ request, status: answer.status, headers, bodyAsText: answer.body });
    },
  };
  const plain = { endpoint, httpClient, retryOptions: { maxRetries: 0 }, credentials: { scopes: [`${endpoint}/.default`] } };
  const options = { ...plain, additionalPolicies: [{ position: 'perRetry' as const, policy: calls.policy }] };
  const compute = new ComputeManagementClient(credential, SUBSCRIPTION, options);
  const request = (method: HttpMethods, url: string): Promise<PipelineResponse> =>
    compute.pipeline.sendRequest(httpClient, createPipelineRequest({ url, method }));
  const containers = { apiVersion: AKS_API_VERSION };
  return {
    calls,
    clients: {
      compute,
      containers: new ContainerServiceClient(credential, SUBSCRIPTION, { ...options, ...containers }),
      raw: createRawClient(endpoint, credential, options),
      getRaw: (url) => request('GET', new URL(url, endpoint).href),
    },
    untouched: {
      compute: new ComputeManagementClient(credential, SUBSCRIPTION, plain),
      containers: new ContainerServiceClient(credential, SUBSCRIPTION, { ...plain, ...containers }),
    },
    send: (call) => calls.run(call, NEVER, () => request(answer.method as HttpMethods, answer.uri.href)),
  };
}

/** Rate limits that have seen nothing. */
export function freshLimits(): RateLimits {
  return new RateLimits(new FakeClock(0), METRICS);
}

/** A signal that never fires. */
export const NEVER = new AbortController().signal;

/** The operation by which the daemon counts the call. */
export function operationOf(kind: string): ArmOperation {
  if (kind === 'getOperationResult') return 'getOperation';
  return kind === 'getCluster' ? 'listAgentPools' : (kind as ArmOperation);
}
