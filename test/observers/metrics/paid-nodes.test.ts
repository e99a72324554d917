import { describe, expect, it } from 'vitest';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import { paidNodes } from '../../../src/observers/metrics/paid-nodes.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, anObservation } from '../../support/builders.ts';

async function published(prices: object): Promise<readonly string[]> {
  const metrics = createMetrics();
  const observation = anObservation([aGroup({ id: 'g', target: 4, vmSize: 'Standard_D8s_v5' })], aCluster());
  paidNodes(metrics)({ observation, prices } as LoopReport);
  return (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('aks_autoscaler_paid_idle'));
}

describe('paid and idle nodes', () => {
  const paid = [
    { size: 'standard_d8s_v5', count: 10 },
    { size: 'standard_e8s_v5', count: 1 },
  ];
  it.each([
    ['cost the prices of their sizes', { paidNodes: paid, prices: { standard_d8s_v5: 0.5, standard_e8s_v5: 0.25 } }, 3.25],
    ['cost as much as is known', { paidNodes: paid, prices: { standard_d8s_v5: 0.5 } }, 3],
    ['cost nothing without configuration', { prices: { standard_d8s_v5: 0.5 } }, 0],
  ])('%s', async (_, prices, cost) => {
    expect(await published(prices)).toEqual([`aks_autoscaler_paid_idle_cost_per_hour ${cost}`]);
  });
});
