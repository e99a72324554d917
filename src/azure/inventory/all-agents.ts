/** The caching agents that do not depend on the groups: scale sets, VM sizes, usages, prices and, if the cluster is named, agent pools. */
import type { CachingAgent } from '../../cache/agents/agent.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { agentPoolsAgent, listSkus, scaleSetsAgent, type AgentDeps } from './agents.ts';
import type { QuotaLedger } from '../sizes/core-quotas.ts';
import { skusAgent, type SkuShare } from './sku-agent.ts';
import type { SkuCatalog } from '../sizes/sku-catalog.ts';
import { readsBetweenLists, spotSizesAgent } from './spot-scale-sets.ts';
import { SPOT_SIZES_AGENT } from '../rows/tables.ts';
import { usageAgent } from './usage-agent.ts';
import type { AgentPools } from '../rows/agent-pool.ts';

export interface AllAgentsDeps {
  readonly agents: AgentDeps;
  readonly clock: Clock;
  readonly log: Log;
  readonly skuShare: SkuShare | undefined;
  readonly quota: Pick<QuotaLedger, 'recordUsages'>;
  /** undefined: prices are not read. */
  readonly prices: { agent(): CachingAgent } | undefined;
  /** Requests a GET of this scale set. */
  readonly setDue: (key: string) => void;
  readonly keepPools: (pools: AgentPools) => void;
  readonly keepCatalog: (catalog: SkuCatalog) => void;
  readonly catalog: () => SkuCatalog | undefined;
  /** Whether a restriction of a VM size keeps one of the groups from growing. */
  readonly isRestricted: () => boolean;
}

/** In the order in which they are registered. */
export function allAgents(deps: AllAgentsDeps): readonly CachingAgent[] {
  const { agents, quota, prices } = deps;
  const { clusterName: name, clusterResourceGroup: resourceGroup } = agents.options;
  return [
    scaleSetsAgent(agents),
    ...(readsBetweenLists(agents.options) ? [spotAgent(deps)] : []),
    sizesAgent(deps),
    usageAgent(agents, (rows, atMs) => quota.recordUsages(rows, atMs)),
    ...(prices === undefined ? [] : [prices.agent()]),
    ...(name === undefined || resourceGroup === undefined ? [] : [agentPoolsAgent(agents, { resourceGroup, name }, deps.keepPools)]),
  ];
}

function spotAgent({ agents: { options, scaleSets }, setDue: due }: AllAgentsDeps): CachingAgent {
  const spotKeys = (): readonly string[] =>
    [...scaleSets.snapshot()].flatMap(([key, { value }]) => (value.priority === 'Spot' ? [key] : []));
  return spotSizesAgent(SPOT_SIZES_AGENT, { spotKeys, due, periodMs: options.spotSizeTtlMs ?? 0 });
}

function sizesAgent({
  agents,
  clock,
  log,
  skuShare: share,
  keepCatalog: keep,
  catalog: current,
  isRestricted,
}: AllAgentsDeps): CachingAgent {
  const { options } = agents;
  const list = (signal: AbortSignal): Promise<SkuCatalog> => listSkus(agents, signal);
  return skusAgent({ scope: options, clock, log, share, ttlMs: options.skuCacheTtlMs, list, keep, current, isRestricted });
}
