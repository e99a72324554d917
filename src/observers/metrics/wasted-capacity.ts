/**
 * Publishes the unremovable nodes by reason, and their unused capacity by what blocks their removal. Both count the same nodes under the same
 * reasons. The sum of the second is all wasted capacity.
 */
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { priceOf } from '../../planning/expanders/price.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import { type Blockage, Blockages, NOT_OURS } from './blockages.ts';

interface Usage {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

interface WasteMetrics {
  readonly waste: Metrics['waste'];
  readonly scaleDown: Pick<Metrics['scaleDown'], 'kept'>;
}

export function wastedCapacity({ waste, scaleDown: { kept } }: WasteMetrics): LoopListener {
  const blockages = new Blockages();
  const usages = new WeakMap<readonly Pod[], Usage>();
  const usageOf = (pods: readonly Pod[] | undefined): Usage => {
    if (pods === undefined) return NOTHING;
    const usage = usages.get(pods) ?? sumOf(pods);
    usages.set(pods, usage);
    return usage;
  };
  return ({ observation, scaleDown, prices = {} }) => {
    if (observation === undefined || scaleDown === undefined) return;
    const { cloud, cluster } = observation;
    const groups = new Map(cloud.groups.map((group) => [group.id, group]));
    const totals = new Map<string, Waste>();
    kept.reset();
    for (const [node, blockage] of blockages.observe(scaleDown, observation)) {
      kept.inc({ reason: blockage.reason });
      const id = cloud.groupOfNode.get(node.name);
      const group = id === undefined ? undefined : groups.get(id);
      if (group === undefined || NOT_OURS.has(blockage.reason)) continue;
      const total = totalOf(totals, blockage);
      add(total, node, { used: usageOf(cluster.podsByNode.get(node.name)), price: priceOf(prices, group) });
    }
    publish(totals, waste);
  };
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

function add(total: Waste, node: Node, { used, price }: { readonly used: Usage; readonly price: number | undefined }): void {
  const [cpu, memory] = [node.allocatable[CPU] ?? 0, node.allocatable[MEMORY] ?? 0];
  const freeCpu = Math.max(0, cpu - used.cpuMillis);
  const freeMemory = Math.max(0, memory - used.memoryBytes);
  total.cpuMillis += freeCpu;
  total.memoryBytes += freeMemory;
  // A node without free CPU or without free memory wastes nothing.
  if (price !== undefined && cpu > 0 && memory > 0)
    total.perHour = (total.perHour ?? 0) + price * Math.min(freeCpu / cpu, freeMemory / memory);
}

function publish(totals: ReadonlyMap<string, Waste>, { cores, memory, cost }: Metrics['waste']): void {
  for (const gauge of [cores, memory, cost]) gauge.reset();
  for (const { reason, blocker, cpuMillis, memoryBytes, perHour } of totals.values()) {
    cores.set({ reason, blocker }, cpuMillis / 1000);
    memory.set({ reason, blocker }, memoryBytes);
    if (perHour !== undefined) cost.set({ reason, blocker }, perHour);
  }
}

const NOTHING: Usage = { cpuMillis: 0, memoryBytes: 0 };

function sumOf(pods: readonly Pod[]): Usage {
  let [cpuMillis, memoryBytes] = [0, 0];
  for (const { shape } of pods) {
    cpuMillis += shape.requests[CPU] ?? 0;
    memoryBytes += shape.requests[MEMORY] ?? 0;
  }
  return { cpuMillis, memoryBytes };
}
