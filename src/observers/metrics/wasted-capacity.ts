/** Publishes the unused capacity of unremovable nodes, by what blocks their removal. The sum is all wasted capacity. */
import type { NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { UnremovableNode, ScaleDownPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { priceOf } from '../../planning/expanders/price.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { LoopListener } from '../../domain/loop-report.ts';

/** Nodes under removal, and nodes that are not managed: their capacity is no waste that can be saved. */
const NOT_OURS: ReadonlySet<UnremovableNode['reason']> = new Set(['CurrentlyBeingDeleted', 'NotAutoscaled']);

interface Blockage {
  readonly reason: string;
  /** Why a pod blocks the node; empty if none does. */
  readonly blocker: string;
}

interface Usage {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

export function wastedCapacity(metrics: Metrics['waste']): LoopListener {
  /** A remembered verdict no longer contains its cause, so the last cause is kept here. */
  const lastSeen = new Map<NodeName, Blockage>();
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
    for (const name of lastSeen.keys()) if (!cluster.nodes.has(name)) lastSeen.delete(name);
    const groups = new Map(cloud.groups.map((group) => [group.id, group]));
    const totals = new Map<string, Waste>();
    for (const [node, blockage] of blockages(scaleDown, observation, lastSeen)) {
      const id = cloud.groupOfNode.get(node.name);
      const group = id === undefined ? undefined : groups.get(id);
      if (group === undefined) continue;
      const total = totalOf(totals, blockage);
      add(total, node, { used: usageOf(cluster.podsByNode.get(node.name)), price: priceOf(prices, group) });
    }
    publish(totals, metrics);
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

function* blockages(
  plan: ScaleDownPlan,
  { cluster }: Observation,
  lastSeen: Map<NodeName, Blockage>,
): Generator<readonly [Node, Blockage]> {
  for (const { node: name, reason, blocker } of plan.kept) {
    const node = cluster.nodes.get(name);
    if (node === undefined || NOT_OURS.has(reason)) continue;
    const seen = { reason, blocker: blocker?.reason ?? '' };
    const known = reason === 'RecentlyUnremovable' ? (lastSeen.get(name) ?? seen) : seen;
    lastSeen.set(name, known);
    yield [node, known];
  }
  if (plan.inhibited === undefined) return;
  const covered = new Set([...plan.kept.map(({ node }) => node), ...plan.removals.map(({ node }) => node)]);
  for (const node of cluster.nodes.values()) if (!covered.has(node.name)) yield [node, { reason: 'Inhibited', blocker: '' }];
}
