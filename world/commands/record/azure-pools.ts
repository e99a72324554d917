/** The pools of a recording from Azure: their limits, sizes and list prices, and VMs that it could not give, read as the daemon reads them. */
import { failureReason } from '../../../src/azure/arm/errors.ts';
import type { Config } from '../../../src/config/types/config.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { zonePart } from '../../../src/domain/node-template.ts';
import { type ClusterView, NOT_WATCHED } from '../../../src/domain/observation.ts';
import type { PriceTable } from '../../../src/domain/quotas-and-prices.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { defined } from '../../../src/lib/defined.ts';
import type { LoadPool } from '../../lab/loads/load.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import type { ObservedRefusal } from '../../lab/recordings/observed.ts';
import { poolOfGroup, whyByReason } from './faults/autoscaler-events.ts';
import { modeOf } from './seen-node.ts';
import { connectBoth } from '../../../src/cli/connect/connect.ts';

/** Nodes do not matter here: pools, sizes and limits are Azure's. */
const NO_CLUSTER: ClusterView = {
  nodes: new Map(),
  podsByNode: new Map(),
  pendingPods: [],
  daemonSets: [],
  disruptionBudgets: [],
  namespaces: new Map(),
  stalenessMs: 0,
  ...NOT_WATCHED,
};
/** Prices are read one size after another, in the background. A size may have none. */
const MOST_PRICES_MS = 60_000;
const LOOK_MS = 1_000;

export interface AzurePicture {
  readonly pools: readonly LoadPool[];
  /** VMs that Azure could not give, as long as their scale sets list them. */
  readonly refusals: readonly ObservedRefusal[];
}

/** @throws AutoscalerError if Azure cannot be read; `cancelled` if the signal fires. */
export async function readAzurePools(config: Config, clock: Clock, signal: AbortSignal): Promise<AzurePicture> {
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
    // A list that is read by default may never be reachable: the first failure ends the wait.
    const mayCome = (): boolean => {
      const view = cloud.prices?.current(clock.now());
      return view !== undefined && !(view.onlyShown === true && view.unreachableSinceMs !== undefined);
    };
    for (let ms = 0; mayCome() && !isPriced() && ms < MOST_PRICES_MS; ms += LOOK_MS) await clock.sleep(LOOK_MS, signal);
    return { pools: groups.map((group) => poolOf(group, prices())), refusals: groups.flatMap((group) => refusalsOf(group, clock.now())) };
  } finally {
    await Promise.allSettled([cloud.close(), kubernetes.close()]);
  }
}

/** A VM that failed later than its allocation may have become a node: it says nothing about what Azure has. */
export function refusalsOf(
  { id, agentPool, instances = [] }: Pick<NodeGroup, 'id' | 'agentPool' | 'instances'>,
  nowMs: number,
): readonly ObservedRefusal[] {
  return instances.flatMap(({ state, error, zone, createdAtMs = nowMs }) => {
    const why = state === 'failed' && error !== undefined ? whyByReason(failureReason(error)) : undefined;
    if (error === undefined || (why !== 'stock' && why !== 'quota')) return [];
    const place = defined({ zone: zone === undefined ? undefined : zonePart(zone) });
    return [{ atMs: createdAtMs, pool: agentPool?.name ?? poolOfGroup(id), why, code: error.code, ...place }];
  });
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
