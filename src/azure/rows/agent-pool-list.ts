/**
 * Lists agent pools as raw JSON. The typed client drops fields that its version does not know, including settings that decide
 * what a new node is like. The requests use the same credential, policies and rate limits as every other call.
 */
import type { AgentPool } from '@azure/arm-containerservice';
import { AutoscalerError } from '../../lib/errors.ts';
import { AGENT_POOLS_PATH, API_VERSION_QUERY } from '../arm/agent-pool-api.ts';
import { isRecord, jsonOf } from '../arm/error-bodies.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions } from '../arm/options.ts';
import { withoutNulls } from '../../lib/without-nulls.ts';

/** The typed model with fields of newer API versions. */
export interface ListedAgentPool extends AgentPool {
  /** Taints that nodes start with and that AKS does not restore. The software that sets a node up removes them. */
  readonly nodeInitializationTaints?: string[];
  readonly enableCustomCATrust?: boolean;
  readonly gpuProfile?: AgentPool['gpuProfile'] & {
    /** `migStrategy` is `None`, `Single` or `Mixed`: how the device plugin of AKS publishes parts of GPUs. */
    readonly nvidia?: { readonly managementMode?: string; readonly migStrategy?: string };
  };
}

interface AgentPoolListDeps {
  readonly options: Pick<AzureOptions, 'subscriptionId'>;
  readonly clients: Pick<ArmClients, 'raw' | 'getRaw'>;
}

/**
 * Lists page by page. @throws AutoscalerError also if a response is not a list: such a response does not mean a cluster
 * without pools.
 */
export async function* agentPoolPages(
  { options, clients }: AgentPoolListDeps,
  cluster: { readonly resourceGroup: string; readonly name: string },
): AsyncIterableIterator<readonly ListedAgentPool[]> {
  const first = await clients.raw
    .pathUnchecked(AGENT_POOLS_PATH, options.subscriptionId, cluster.resourceGroup, cluster.name)
    .get(API_VERSION_QUERY);
  // The pipeline policy has already thrown every other refusal.
  if (Number(first.status) === 401) throw new AutoscalerError({ kind: 'auth' }, 'Azure rejected the token for the list of agent pools.');
  let page: unknown = first.body;
  for (;;) {
    if (!isRecord(page) || !Array.isArray(page['value']))
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure returned something else than a list of agent pools.');
    yield (page['value'] as readonly unknown[]).flatMap((item) => parseAgentPool(item) ?? []);
    const { nextLink } = page;
    if (typeof nextLink !== 'string' || nextLink === '') return;
    page = jsonOf((await clients.getRaw(nextLink)).bodyAsText);
  }
}

/** Parses a pool into the typed model, without nulls, which mean "not set". undefined: not an agent pool. */
export function parseAgentPool(item: unknown): ListedAgentPool | undefined {
  const pool = withoutNulls(item);
  if (!isRecord(pool)) return undefined;
  const { type, enableFIPS, enableAutoScaling, ...properties } = isRecord(pool['properties']) ? pool['properties'] : {};
  const name = typeof pool['name'] === 'string' ? pool['name'] : undefined;
  const flags = { enableFips: parseBoolean(enableFIPS), enableAutoScaling: parseBoolean(enableAutoScaling) };
  return { ...properties, ...flags, id: pool['id'], name, typePropertiesType: type } as ListedAgentPool;
}

/** Also accepts the text "true": two autoscalers over one pool would be worse than a text taken for a boolean. */
function parseBoolean(value: unknown): boolean {
  return value === true || (typeof value === 'string' && value.trim().toLowerCase() === 'true');
}
