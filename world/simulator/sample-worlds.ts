/** Named worlds: the default of `emulate`, and the world of the demo. */
import type { PoolSpec, WorldSpec } from './base/world-spec.ts';

const SYSTEM_POOL: PoolSpec = {
  name: 'system',
  vmSize: 'Standard_D4s_v5',
  count: 1,
  min: 1,
  max: 3,
  mode: 'System',
  taints: ['CriticalAddonsOnly=true:NoSchedule'],
};

const BASE: Omit<WorldSpec, 'pools' | 'seed'> = {
  subscriptionId: '11111111-2222-3333-4444-555555555555',
  tenantId: '66666666-7777-8888-9999-000000000000',
  location: 'westeurope',
  clusterName: 'laptop',
  clusterResourceGroup: 'rg-laptop',
  nodeResourceGroup: 'MC_rg-laptop_laptop_westeurope',
  discoveryTags: { 'cluster-autoscaler-enabled': 'true', 'cluster-autoscaler-name': 'laptop' },
  stock: {},
  quota: {},
};

/** One system pool and two user pools in three zones. */
export function smallWorld(seed: number): WorldSpec {
  return {
    ...BASE,
    seed,
    pools: [
      SYSTEM_POOL,
      { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 10, zones: ['1', '2', '3'] },
      { name: 'memory', vmSize: 'Standard_E8s_v5', count: 0, min: 0, max: 5, zones: ['1', '2', '3'] },
    ],
  };
}

/**
 * The world of the demo. `general` is small on purpose, so that the burst also needs `memory`. `compute` and `reserve` take the
 * pods that tolerate them, and `compute` is out of stock.
 */
export function demoWorld(seed: number): WorldSpec {
  const batch = { labels: { workload: 'batch' }, taints: ['workload=batch:NoSchedule'] };
  return {
    ...BASE,
    seed,
    stock: { 'Standard_F8s_v2/0': 0 },
    pools: [
      SYSTEM_POOL,
      { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 5 },
      { name: 'memory', vmSize: 'Standard_E8s_v5', count: 0, min: 0, max: 5 },
      { name: 'compute', vmSize: 'Standard_F8s_v2', count: 0, min: 0, max: 6, ...batch },
      { name: 'reserve', vmSize: 'Standard_D16s_v5', count: 0, min: 0, max: 4, ...batch },
    ],
  };
}
