import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/telemetry/metrics.ts';

describe('gauges that are computed when they are read', () => {
  it('are published once by the first reader, from the work that was deferred last', async () => {
    const { deferred, cluster, registry } = createMetrics();
    const done: string[] = [];
    deferred.defer('nodes', () => done.push('first loop'));
    deferred.defer('nodes', () => {
      done.push('second loop');
      cluster.nodes.set({ state: 'ready' }, 7);
    });
    expect(done).toEqual([]);
    expect(await registry.metrics()).toContain('aks_autoscaler_nodes{state="ready"} 7');
    await cluster.nodes.get();
    expect(done).toEqual(['second loop']);
  });

  it('do not hide other metrics when their work fails', async () => {
    const { deferred, cluster, registry } = createMetrics();
    const failed: string[] = [];
    deferred.reportFailures((name, thrown) => failed.push(`${name}: ${String(thrown)}`));
    deferred.defer('broken', () => {
      throw new Error('no data');
    });
    deferred.defer('nodes', () => cluster.nodes.set({ state: 'ready' }, 7));
    expect(await registry.metrics()).toContain('aks_autoscaler_nodes{state="ready"} 7');
    expect(failed).toEqual(['broken: Error: no data']);
  });
});
