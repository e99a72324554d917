/**
 * Lists agent pools with AKS's typed client and parses the untouched bodies: the typed model drops fields that its version does
 * not know, including settings that decide what a new node is like.
 */
import type { AgentPool } from '@azure/arm-containerservice';
import { AutoscalerError } from '../../lib/errors.ts';
import { untouchedResponse } from '../arm/agent-pool-api.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import { isRecord, withoutNulls } from '../../lib/json.ts';

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
  readonly clients: Pick<ArmClients, 'containers' | 'getRaw'>;
}

/**
 * Lists page by page. The typed client sends later pages without options, so their bodies are read by their links.
 * @throws AutoscalerError also if a response is not a list: such a response does not mean a cluster without pools.
 */
export async function* agentPoolPages(
  { clients }: AgentPoolListDeps,
  cluster: { readonly resourceGroup: string; readonly name: string },
): AsyncIterableIterator<readonly ListedAgentPool[]> {
  const { agentPools } = clients.containers;
  let response = await untouchedResponse((onResponse) =>
    agentPools.list(cluster.resourceGroup, cluster.name, { onResponse }).byPage().next(),
  );
  for (;;) {
    const page = jsonOf(response.bodyAsText);
    // guard: an answer that lists no agent pools does not mean a cluster without pools
    if (!isRecord(page) || !Array.isArray(page['value']))
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure returned something else than a list of agent pools.');
    yield (page['value'] as readonly unknown[]).flatMap((item) => parseAgentPool(item) ?? []);
    const { nextLink } = page;
    if (typeof nextLink !== 'string' || nextLink === '') return;
    response = await clients.getRaw(nextLink);
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
