/** The caching agents that do not depend on the groups: scale sets, VM sizes, usages, prices and, if the cluster is named, agent pools. */
import type { CachingAgent } from '../../cache/agents/agent.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { agentPoolsAgent, listSkus, scaleSetsAgent, type AgentDeps } from './agents.ts';
import type { QuotaLedger } from '../sizes/core-quotas.ts';
import { placementAgent } from './placement-agent.ts';
import { skusAgent } from './sku-agent.ts';
import type { SharedTexts } from '../../domain/ports/shared-text.ts';
import type { PlacementScores } from '../sizes/spot-placements.ts';
import type { SkuCatalog } from '../sizes/sku-catalog.ts';
import type { SizeKnowledge } from '../sizes/size-knowledge.ts';
import { readsBetweenLists, spotSizesAgent } from './spot-scale-sets.ts';
import { SPOT_SIZES_AGENT } from '../rows/tables.ts';
import type { UsageList } from '../sizes/usage-list.ts';
import { usageAgent } from './usage-agent.ts';
import type { AgentPools } from '../rows/agent-pool.ts';

export interface AllAgentsDeps {
  readonly agents: AgentDeps;
  readonly clock: Clock;
  readonly log: Log;
  readonly shared: SharedTexts;
  readonly quota: Pick<QuotaLedger, 'recordUsages'>;
  /** When a refusal contradicted the usages last, ms since the epoch. */
  readonly usageDoubtedAtMs: () => number;
  /** undefined: prices are not read. */
  readonly prices: { agent(): CachingAgent } | undefined;
  /** Azure's scores of the sizes of Spot pools; read only where an expander compares them. */
  readonly placements: Pick<PlacementScores, 'places' | 'keep'>;
  /** Requests a GET of this scale set. */
  readonly setDue: (key: string) => void;
  readonly keepPools: (pools: AgentPools) => void;
  readonly sizes: SizeKnowledge;
  /** Whether a restriction of a VM size keeps one of the groups from growing. */
  readonly isRestricted: () => boolean;
}

/** In the order in which they are registered. */
export function allAgents(deps: AllAgentsDeps): readonly CachingAgent[] {
  const { agents, prices } = deps;
  const { clusterName: name, clusterResourceGroup: resourceGroup } = agents.options;
  return [
    scaleSetsAgent(agents),
    ...(readsBetweenLists(agents.options) ? [spotAgent(deps)] : []),
    sizesAgent(deps),
    usagesAgent(deps),
    ...(prices === undefined ? [] : [prices.agent()]),
    ...(agents.options.placementScores ? [placementsAgent(deps)] : []),
    ...(name === undefined || resourceGroup === undefined ? [] : [agentPoolsAgent(agents, { resourceGroup, name }, deps.keepPools)]),
  ];
}

function placementsAgent({ agents, placements }: AllAgentsDeps): CachingAgent {
  return placementAgent({ ...agents, places: () => placements.places(), keep: (rows, atMs) => placements.keep(rows, atMs) });
}

function usagesAgent({ agents, clock, shared, quota, usageDoubtedAtMs }: AllAgentsDeps): CachingAgent {
  const keep = ({ rows, atMs }: UsageList, isShared: boolean): void => quota.recordUsages(rows, atMs, isShared);
  return usageAgent({ ...agents, clock, share: shared.usage, doubtedAtMs: usageDoubtedAtMs, keep });
}

function spotAgent({ agents: { options, scaleSets }, setDue: due }: AllAgentsDeps): CachingAgent {
  const spotKeys = (): readonly string[] =>
    [...scaleSets.snapshot()].flatMap(([key, { value }]) => (value.priority === 'Spot' ? [key] : []));
  return spotSizesAgent(SPOT_SIZES_AGENT, { spotKeys, due, periodMs: options.spotSizeTtlMs });
}

function sizesAgent({ agents, clock, log, shared: { skus: share }, sizes, isRestricted }: AllAgentsDeps): CachingAgent {
  const { options } = agents;
  return skusAgent({
    scope: options,
    clock,
    log,
    share,
    ttlMs: options.skuCacheTtlMs,
    list: (signal: AbortSignal): Promise<SkuCatalog> => listSkus(agents, signal),
    keep: (catalog) => sizes.keep(catalog),
    current: () => sizes.catalog,
    isDoubted: () => sizes.isDoubted,
    isRestricted,
  });
}
