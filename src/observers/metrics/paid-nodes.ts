/** Publishes what paid nodes and reserved VMs cost that no node of the cluster uses, as far as their sizes have a price. */
import type { LoopListener } from '../../domain/loop-report.ts';
import { idleCost } from '../../planning/expanders/node-price.ts';
import { paidAndReserved } from '../../planning/facts/reserved-nodes.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export function paidNodes({ waste: { paidIdleCost } }: Pick<Metrics, 'waste'>): LoopListener {
  return ({ observation, prices }) => {
    if (observation === undefined) return;
    const uses = paidAndReserved(prices.paidNodes, observation);
    paidIdleCost.set(uses.reduce((sum, use) => sum + (idleCost(use, prices) ?? 0), 0));
  };
}
