import { describe, expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import { idleGpus } from '../../../src/observers/metrics/idle-gpus.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, resourceNames } from '../../support/builders.ts';

const gpu = (name: string, change: Partial<Parameters<typeof aNode>[0]> = {}): Node =>
  aNode({ name, cpu: '4', memory: '16Gi', resources: { 'nvidia.com/gpu': '1' }, ...change });
const trains = (nodeName: string): Pod =>
  aPod({ name: `train-${nodeName}`, nodeName, shape: { cpu: '1', resources: { 'nvidia.com/gpu': '1' } } });

async function published(
  nodes: readonly Node[],
  pods: readonly Pod[],
  prices: object = { prices: { standard_nc4as_t4_v3: 0.5 } },
  held: readonly string[] = [],
): Promise<string> {
  const metrics = createMetrics();
  const observation = anObservation([aGroup({ id: 'g', target: nodes.length, vmSize: 'Standard_NC4as_T4_v3' })], aCluster({ nodes, pods }));
  idleGpus(
    metrics,
    resourceNames,
  )({ observation, prices, rounds: [{ plan: { reserved: held.map((node) => ({ node })) } }] } as unknown as LoopReport);
  const lines = (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('aks_autoscaler_idle_gpu'));
  return lines.map((line) => line.replace('aks_autoscaler_idle_gpu_cost_per_hour ', '')).join(', ');
}

describe('idle GPU nodes', () => {
  it.each<[string, readonly Node[], readonly Pod[], string]>([
    ['without a pod', [gpu('g-0'), gpu('g-1')], [], '1'],
    ['with a pod that needs no GPU', [gpu('g-0')], [aPod({ name: 'web', nodeName: 'g-0', cpu: '1' })], '0.5'],
    ['with a pod that has its GPU', [gpu('g-0'), gpu('g-1')], [trains('g-0')], '0.5'],
    ['that are all used', [gpu('g-0')], [trains('g-0')], '0'],
    ['that are not ready', [gpu('g-0', { readiness: { ready: false, sinceMs: 0, reason: 'x' } })], [], '0'],
    ['beside nodes without a GPU', [aNode({ name: 'g-0', cpu: '4', memory: '16Gi' })], [], '0'],
  ])('%s', async (_what, nodes, pods, expected) => {
    expect(await published(nodes, pods)).toBe(expected);
  });

  it('that are kept free on purpose have no cost', async () => {
    expect(await published([gpu('g-0'), gpu('g-1')], [], undefined, ['g-0'])).toBe('0.5');
  });

  it('have no cost without a price', async () => {
    expect(await published([gpu('g-0')], [], {})).toBe('0');
  });
});
