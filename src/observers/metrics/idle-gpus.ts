/** Publishes what nodes cost whose GPUs no pod requests, as far as they have a price. */
import type { Node } from '../../domain/node.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { priceOf } from '../../planning/expanders/price.ts';
import { claimUtilization, deviceUtilization, GPU_RESOURCES, hasDevices } from '../../planning/scale-down/utilization.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export function idleGpus({ waste: { gpuCost } }: Pick<Metrics, 'waste'>, names: ResourceNames): LoopListener {
  const gpus = GPU_RESOURCES.map((name) => names.indexOf(name));
  return ({ observation, prices = {} }) => {
    if (observation === undefined) return;
    const { cloud, cluster } = observation;
    const groups = new Map(cloud.groups.map((group) => [group.id, group]));
    let perHour = 0;
    for (const [name, id] of cloud.groupOfNode) {
      const [node, group] = [cluster.nodes.get(name), groups.get(id)];
      if (node === undefined || group === undefined || !isIdle(node, cluster.podsByNode.get(name) ?? [], gpus)) continue;
      perHour += priceOf(prices, group) ?? 0;
    }
    gpuCost.set(perHour);
  };
}

/** A ready node whose devices are known and all free. */
function isIdle(node: Node, pods: readonly Pod[], gpus: readonly number[]): boolean {
  if (!node.readiness.ready || !hasDevices(node, gpus)) return false;
  return deviceUtilization(node, pods, gpus) === 0 && (claimUtilization(node, pods) ?? 0) === 0;
}
