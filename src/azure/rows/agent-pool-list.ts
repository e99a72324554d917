/**
 * Agent pools as AKS lists them, read as untouched JSON: the typed client drops what its version does not know, and with it
 * settings that decide what a new node is like. Same credential, policies and budgets as every other call.
 */
import type { AgentPool } from '@azure/arm-containerservice';
import { AutoscalerError } from '../../lib/errors.ts';
import { POOLS_PATH, VERSIONED } from '../arm/agent-pool-api.ts';
import { isRecord, jsonOf } from '../arm/error-bodies.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions } from '../arm/options.ts';
import { withoutNulls } from '../../lib/without-nulls.ts';

/** The typed model, and what newer versions tell beside it. */
export interface ToldPool extends AgentPool {
  /** Taints that nodes are born with and that AKS leaves alone from then on: whoever sets a node up takes them off. */
  readonly nodeInitializationTaints?: string[];
  readonly enableCustomCATrust?: boolean;
  readonly gpuProfile?: AgentPool['gpuProfile'] & {
    /** `migStrategy`: `None`, `Single` or `Mixed`, as the device plugin that AKS installs publishes parts of GPUs. */
    readonly nvidia?: { readonly managementMode?: string; readonly migStrategy?: string };
  };
}

export interface PoolListParts {
  readonly options: Pick<AzureOptions, 'subscriptionId'>;
  readonly clients: Pick<ArmClients, 'raw' | 'getRaw'>;
}

/** Page by page. @throws AutoscalerError also where an answer is no list: that is not a cluster without pools. */
export async function* agentPoolPages(
  { options, clients }: PoolListParts,
  cluster: { readonly resourceGroup: string; readonly name: string },
): AsyncIterableIterator<readonly ToldPool[]> {
  const first = await clients.raw.pathUnchecked(POOLS_PATH, options.subscriptionId, cluster.resourceGroup, cluster.name).get(VERSIONED);
  // Every other refusal was thrown by our policy already.
  if (Number(first.status) === 401) throw new AutoscalerError({ kind: 'auth' }, 'Azure refused the token for the list of agent pools.');
  let page: unknown = first.body;
  for (;;) {
    if (!isRecord(page) || !Array.isArray(page['value']))
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure answered with no list of agent pools.');
    yield (page['value'] as readonly unknown[]).flatMap((item) => toldPool(item) ?? []);
    const { nextLink } = page;
    if (typeof nextLink !== 'string' || nextLink === '') return;
    page = jsonOf((await clients.getRaw(nextLink)).bodyAsText);
  }
}

/** In the shape of the typed model, and without nulls, which mean "not set". undefined: nothing that could be a pool. */
export function toldPool(item: unknown): ToldPool | undefined {
  const pool = withoutNulls(item);
  if (!isRecord(pool)) return undefined;
  const { type, enableFIPS, enableAutoScaling, ...properties } = isRecord(pool['properties']) ? pool['properties'] : {};
  const name = typeof pool['name'] === 'string' ? pool['name'] : undefined;
  const flags = { enableFips: isTrue(enableFIPS), enableAutoScaling: isTrue(enableAutoScaling) };
  return { ...properties, ...flags, id: pool['id'], name, typePropertiesType: type } as ToldPool;
}

/** Two autoscalers over one pool would be worse than a word that is taken for a truth. */
function isTrue(value: unknown): boolean {
  return value === true || (typeof value === 'string' && value.trim().toLowerCase() === 'true');
}
