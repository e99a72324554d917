/** A day of a busy cluster in a few seconds: increases, removals, other writers, evictions, a size without stock, and pods that no pool takes. */
import { aPool, deployment, MINUTE, SECOND, worldOf } from '../scenarios/support.ts';
import { VirtualRun } from '../support/virtual-world.ts';

const BATCH = { labels: { workload: 'batch' }, taints: ['workload=batch:NoSchedule'] };
const FOR_BATCH = {
  tolerations: [{ key: 'workload', operator: 'Equal', value: 'batch', effect: 'NoSchedule' }],
  nodeSelector: { workload: 'batch' },
};
const FOR_SPOT = {
  tolerations: [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Exists' }],
  nodeSelector: { 'kubernetes.azure.com/scalesetpriority': 'spot' },
};
const FOR_MEMORY = { nodeSelector: { agentpool: 'memory' } };

const POOLS = [
  aPool({ name: 'general', count: 1, min: 1, max: 6, zones: ['1', '2', '3'] }),
  aPool({ name: 'memory', vmSize: 'Standard_E8s_v5', count: 1, min: 1, max: 8, zones: ['1', '2', '3'] }),
  aPool({ name: 'compute', vmSize: 'Standard_F8s_v2', count: 0, min: 0, max: 6, ...BATCH }),
  aPool({ name: 'spot', vmSize: 'Standard_D8s_v5', count: 0, min: 0, max: 10, priority: 'Spot', evictionPolicy: 'Delete' }),
  aPool({ name: 'reserve', vmSize: 'Standard_D16s_v5', count: 2, min: 2, max: 4 }),
];

const pass = (run: VirtualRun, ms: number): Promise<void> => run.advance(ms);

/**
 * Stops with pods in each state: no pool fits, at the maximum, waiting for Azure, and a node coming. `advance`: lets time pass, and may look at
 * the daemon meanwhile.
 */
export async function busyWorld(advance: (run: VirtualRun, ms: number) => Promise<void> = pass): Promise<VirtualRun> {
  const run = await VirtualRun.start({ spec: worldOf(POOLS, { stock: { 'Standard_F8s_v2/0': 0 } }) });
  const { arm, cluster } = run.world;
  await run.stopDaemon();
  await run.startDaemon(['--retail-prices', `--retail-prices-endpoint=${arm.url}/api/retail/prices`, '--scale-down-unneeded-time=5m']);
  const apply = (name: string, replicas: number, cpu: string, spec: Readonly<Record<string, unknown>> = {}): void =>
    void cluster.apply(deployment({ name, replicas, cpu, spec }));
  apply('shop', 8, '1500m', { nodeSelector: { agentpool: 'general' } });
  await advance(run, 12 * MINUTE);
  apply('etl', 9, '2500m', FOR_SPOT);
  await advance(run, 15 * MINUTE);
  arm.control.raise({ foreignScale: { pool: 'memory', to: 3 } });
  await advance(run, 10 * MINUTE);
  arm.control.raise({ evict: { pool: 'spot', count: 2 } });
  apply('shop', 3, '1500m', { nodeSelector: { agentpool: 'general' } });
  await advance(run, 25 * MINUTE);
  apply('frames', 6, '6', FOR_BATCH);
  apply('search', 4, '64');
  apply('web', 16, '1500m', { nodeSelector: { agentpool: 'general' } });
  await advance(run, 4 * MINUTE);
  apply('reports', 7, '5', FOR_MEMORY);
  await advance(run, 30 * SECOND);
  // Ends with a loop: the page shows what that saw, and nodes join between two loops.
  const { loops } = run;
  await run.until('a loop has ended', () => run.loops > loops, MINUTE);
  return run;
}
