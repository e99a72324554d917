/** Publishes how many nodes are sick by the rules of their pools, where none is replaced since too many are, and what AKS left aside. */
import type { LoopListener } from '../../domain/loop-report.ts';
import { quarantinedNodes } from '../../planning/explain/answers/node-health.ts';
import { sickPools } from '../../planning/facts/sick-nodes.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export function sickNodes({ health: metrics }: Pick<Metrics, 'health'>): LoopListener {
  return ({ observation, prices }) => {
    if (observation === undefined) return;
    const sick = sickPools(observation);
    const aside = quarantinedNodes(observation, prices);
    metrics.sick.reset();
    metrics.quarantined.reset();
    for (const { id, options } of observation.cloud.groups) if (options.sickNodes !== undefined) metrics.sick.set({ node_group: id }, 0);
    for (const { group, showing } of sick) metrics.sick.set({ node_group: group.id }, showing.length);
    for (const { group, nodes } of aside) metrics.quarantined.set({ node_group: group.id }, nodes.length);
    metrics.stopped.set(sick.filter(({ stopped }) => stopped !== undefined).length);
    metrics.quarantinedCost.set(aside.reduce((sum, { perHour }) => sum + (perHour ?? 0), 0));
  };
}
