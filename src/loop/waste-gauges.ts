/** Publishes what nodes that stay have to spare, by what keeps them. The sum over all blockers is all that is wasted. */
import type { NodeName } from '../domain/ids.ts';
import type { Node } from '../domain/node.ts';
import type { Observation } from '../domain/observation.ts';
import type { KeptNode, ScaleDownPlan } from '../domain/plan.ts';
import type { Pod } from '../domain/pod.ts';
import { CPU, MEMORY } from '../domain/resources.ts';
import { priceOf, type PriceSources } from '../planning/prices.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { LoopListener } from './report.ts';

/** These are going, or are nobody's saving. */
const NOT_OURS: ReadonlySet<KeptNode['reason']> = new Set(['CurrentlyBeingDeleted', 'NotAutoscaled']);

interface Blockage {
  readonly reason: string;
  /** Why a pod pins the node; empty: none does. */
  readonly blocker: string;
}

interface Usage {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

export function wasteGauges(metrics: Metrics['waste'], prices: () => PriceSources): LoopListener {
  /** A verdict that took long to reach is only remembered for a while, without what led to it. */
  const lastSeen = new Map<NodeName, Blockage>();
  const usages = new WeakMap<readonly Pod[], Usage>();
  const usageOf = (pods: readonly Pod[] | undefined): Usage => {
    if (pods === undefined) return NOTHING;
    const usage = usages.get(pods) ?? sumOf(pods);
    usages.set(pods, usage);
    return usage;
  };
  return ({ observation, scaleDown }) => {
    if (observation === undefined || scaleDown === undefined) return;
    const { cloud, cluster } = observation;
    for (const gauge of [metrics.cores, metrics.memory, metrics.cost]) gauge.reset();
    for (const name of lastSeen.keys()) if (!cluster.nodes.has(name)) lastSeen.delete(name);
    const groups = new Map(cloud.groups.map((group) => [group.id, group]));
    for (const [node, blockage] of blockages(scaleDown, observation, lastSeen)) {
      const id = cloud.groupOfNode.get(node.name);
      const group = id === undefined ? undefined : groups.get(id);
      if (group === undefined) continue;
      const { cpuMillis, memoryBytes } = usageOf(cluster.podsByNode.get(node.name));
      const [cpu, memory] = [node.allocatable[CPU] ?? 0, node.allocatable[MEMORY] ?? 0];
      const free = { cpuMillis: Math.max(0, cpu - cpuMillis), memoryBytes: Math.max(0, memory - memoryBytes) };
      const labels = { ...blockage };
      metrics.cores.inc(labels, free.cpuMillis / 1000);
      metrics.memory.inc(labels, free.memoryBytes);
      const price = priceOf(prices(), group);
      if (price !== undefined && cpu > 0 && memory > 0) {
        metrics.cost.inc(labels, price * Math.min(free.cpuMillis / cpu, free.memoryBytes / memory));
      }
    }
  };
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
  const told = new Set([...plan.kept.map(({ node }) => node), ...plan.removals.map(({ node }) => node)]);
  for (const node of cluster.nodes.values()) if (!told.has(node.name)) yield [node, { reason: 'Inhibited', blocker: '' }];
}
