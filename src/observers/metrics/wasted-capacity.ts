/**
 * Publishes the unremovable nodes by reason, and their unused capacity by what blocks their removal. Both count the same nodes under the same
 * reasons. The sum of the second is all wasted capacity.
 */
import { priceOf } from '../../planning/expanders/node-price.ts';
import { unusedCapacity, type UnusedCapacity } from '../../planning/explain/unused-capacity.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import type { PriceSources } from '../../domain/policy.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import { type Blockage, blockagesOf, NOT_OURS } from './blockages.ts';

interface WasteMetrics {
  readonly waste: Metrics['waste'];
  readonly scaleDown: Pick<Metrics['scaleDown'], 'kept'>;
  readonly deferred: Metrics['deferred'];
}

/** The gauges are set when they are read. */
export function wastedCapacity(metrics: WasteMetrics): LoopListener {
  return ({ observation, scaleDown, prices }) => {
    if (observation === undefined || scaleDown === undefined) return;
    metrics.deferred.defer('wasted-capacity', () => publishWaste(observation, scaleDown, prices, metrics));
  };
}

function publishWaste(observation: Observation, scaleDown: ScaleDownPlan, prices: PriceSources, metrics: WasteMetrics): void {
  const { cloud, cluster } = observation;
  const groups = new Map(cloud.groups.map((group) => [group.id, { price: priceOf(prices, group) }]));
  const totals = new Map<string, Waste>();
  const nodes = new Map<string, number>();
  for (const [node, blockage] of blockagesOf(scaleDown, observation)) {
    nodes.set(blockage.reason, (nodes.get(blockage.reason) ?? 0) + 1);
    const id = cloud.groupOfNode.get(node.name);
    const group = id === undefined ? undefined : groups.get(id);
    if (group === undefined || NOT_OURS.has(blockage.reason)) continue;
    const total = totalOf(totals, blockage);
    add(total, unusedCapacity(node, cluster.podsByNode.get(node.name)), group.price);
  }
  const { kept } = metrics.scaleDown;
  kept.reset();
  for (const [reason, count] of nodes) kept.set({ reason }, count);
  publish(totals, metrics.waste);
}

/** The capacity that one kind of blocker wastes. */
interface Waste extends Blockage {
  cpuMillis: number;
  memoryBytes: number;
  /** undefined if no node has a price. */
  perHour: number | undefined;
}

function totalOf(totals: Map<string, Waste>, { reason, blocker }: Blockage): Waste {
  const key = `${reason} ${blocker}`;
  const total = totals.get(key) ?? { reason, blocker, cpuMillis: 0, memoryBytes: 0, perHour: undefined };
  totals.set(key, total);
  return total;
}

function add(total: Waste, { cpuMillis, memoryBytes, share }: UnusedCapacity, price: number | undefined): void {
  total.cpuMillis += cpuMillis;
  total.memoryBytes += memoryBytes;
  if (price !== undefined) total.perHour = (total.perHour ?? 0) + price * share;
}

function publish(totals: ReadonlyMap<string, Waste>, { cores, memory, cost }: Metrics['waste']): void {
  for (const gauge of [cores, memory, cost]) gauge.reset();
  for (const { reason, blocker, cpuMillis, memoryBytes, perHour } of totals.values()) {
    cores.set({ reason, blocker }, cpuMillis / 1000);
    memory.set({ reason, blocker }, memoryBytes);
    if (perHour !== undefined) cost.set({ reason, blocker }, perHour);
  }
}
