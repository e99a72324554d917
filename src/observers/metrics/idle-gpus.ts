/** Publishes what nodes cost whose GPUs no pod requests, as far as they have a price. */
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { priceOf } from '../../planning/expanders/node-price.ts';
import { claimUtilization, deviceUtilization, GPU_RESOURCES, hasDevices } from '../../planning/scale-down/utilization.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export function idleGpus({ waste: { gpuCost } }: Pick<Metrics, 'waste'>, names: ResourceNames): LoopListener {
  const gpus = GPU_RESOURCES.map((name) => names.indexOf(name));
  /** The view keeps its map while no node changed. */
  let last: { readonly nodes: ClusterView['nodes']; readonly withGpus: readonly Node[] } | undefined;
  return ({ observation, rounds, prices }) => {
    if (observation === undefined) return;
    const { cloud, cluster } = observation;
    const { nodes } = cluster;
    if (last?.nodes !== nodes) last = { nodes, withGpus: [...nodes.values()].filter((node) => hasDevices(node, gpus)) };
    const groups = new Map(cloud.groups.map((group) => [group.id, group]));
    const reserved = rounds.at(-1)?.plan.reserved ?? [];
    // guard: a node that is kept free on purpose is no waste
    const held = new Set(reserved === 'unknown' ? [] : reserved.map((each) => each.node));
    let perHour = 0;
    for (const node of last.withGpus) {
      const id = cloud.groupOfNode.get(node.name);
      const group = id === undefined ? undefined : groups.get(id);
      if (group === undefined || held.has(node.name) || !isIdle(node, cluster.podsByNode.get(node.name) ?? [], gpus)) continue;
      perHour += priceOf(prices, group) ?? 0;
    }
    gpuCost.set(perHour);
  };
}

/** A ready node whose devices are known and all free. Call it for nodes with devices. */
function isIdle(node: Node, pods: readonly Pod[], gpus: readonly number[]): boolean {
  if (!node.readiness.ready) return false;
  return deviceUtilization(node, pods, gpus) === 0 && (claimUtilization(node, pods) ?? 0) === 0;
}
