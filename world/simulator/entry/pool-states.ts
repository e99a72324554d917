/** What a test asserts about a pool: what Azure has, and what of it is a ready node. */
import { conditionOf } from '../cluster/store/objects.ts';
import type { World } from '../world.ts';

export interface PoolState {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** What Azure was asked for: the capacity of the scale set, or of all sizes of a VMs pool. */
  readonly capacity: number;
  /** VMs, whatever their state. */
  readonly instances: number;
  /** Nodes of the cluster. */
  readonly nodes: number;
  readonly ready: number;
}

/** @internal */
export function poolStates({ spec, arm, cluster }: Pick<World, 'spec' | 'arm' | 'cluster'>): readonly PoolState[] {
  const { sets, agentPools } = arm.control.state();
  const nodes = cluster.store.nodes();
  return agentPools.map(({ name, size, machines }) => {
    const set = sets.find(({ pool }) => pool === name);
    const members = nodes.filter(({ metadata }) => metadata.labels?.['kubernetes.azure.com/agentpool'] === name);
    const limits = set ?? spec.pools.find((pool) => pool.name === name) ?? { min: 0, max: 0 };
    return {
      name,
      min: limits.min,
      max: limits.max,
      capacity: set?.capacity ?? size,
      instances: (set?.instances ?? machines).length,
      nodes: members.length,
      ready: members.filter(({ status }) => status !== undefined && conditionOf({ status }, 'Ready')?.status === 'True').length,
    };
  });
}
