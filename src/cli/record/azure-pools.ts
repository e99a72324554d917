/** The pools of a recording from Azure: their limits, sizes and list prices, read as the daemon reads them. */
import type { Config } from '../../config/types/config.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { zonePart } from '../../domain/node-template.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { PriceTable } from '../../domain/quotas-and-prices.ts';
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import type { LoadPool } from '../../lab/loads/load.ts';
import { createLog } from '../../telemetry/log.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { modeOf } from './seen-node.ts';
import { connectBoth } from '../connect/connect.ts';

/** Nodes do not matter here: pools, sizes and limits are Azure's. */
const NO_CLUSTER: ClusterView = {
  nodes: new Map(),
  podsByNode: new Map(),
  pendingPods: [],
  daemonSets: [],
  disruptionBudgets: [],
  namespaces: new Map(),
  stalenessMs: 0,
};
/** Prices are read one size after another, in the background. A size may have none. */
const MOST_PRICES_MS = 60_000;
const LOOK_MS = 1_000;

/** @throws AutoscalerError if Azure cannot be read; `cancelled` if the signal fires. */
export async function readAzurePools(config: Config, clock: Clock, signal: AbortSignal): Promise<readonly LoadPool[]> {
  const deps = { clock, random: Math.random, log: createLog('silent'), metrics: createMetrics() };
  const { kubernetes, cloud } = await connectBoth({
    config: { ...config, azure: { ...config.azure, skuFolder: undefined } },
    ...deps,
    signal,
  });
  try {
    await cloud.start(signal);
    const { groups } = cloud.observe(NO_CLUSTER, clock.now());
    const prices = (): PriceTable => cloud.prices?.current(clock.now()).table ?? {};
    const isPriced = (): boolean => groups.every(({ vmSize }) => prices()[vmSize.toLowerCase()] !== undefined);
    for (let ms = 0; cloud.prices !== undefined && !isPriced() && ms < MOST_PRICES_MS; ms += LOOK_MS) await clock.sleep(LOOK_MS, signal);
    return groups.map((group) => poolOf(group, prices()));
  } finally {
    await Promise.allSettled([cloud.close(), kubernetes.close()]);
  }
}

function poolOf(
  { id, kind, agentPool, vmSize, minSize, maxSize, target, priority, zones, template }: NodeGroup,
  prices: PriceTable,
): LoadPool {
  const price = prices[vmSize.toLowerCase()]?.perHour[priority === 'Spot' ? 'linux/spot' : 'linux'];
  const labels = agentPool?.labels;
  const taints = template?.taints.map(({ key, value, effect }) => `${key}${value === '' ? '' : `=${value}`}:${effect}`) ?? [];
  return {
    name: agentPool?.name ?? id,
    kind,
    vmSize,
    count: target.known ? target.value : 0,
    min: minSize,
    max: maxSize,
    ...(zones.length === 0 ? {} : { zones: zones.map(zonePart) }),
    priority,
    ...(labels === undefined || Object.keys(labels).length === 0 ? {} : { labels }),
    ...(taints.length === 0 ? {} : { taints }),
    ...defined({
      mode: template === undefined ? undefined : modeOf(template.labels),
      pricePerHour: price,
    }),
  };
}
