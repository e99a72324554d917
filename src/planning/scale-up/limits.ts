/** How many nodes may be added: limits of the whole cluster and of one plan. A limit of 0 is no limit. */
import type { NodeTemplate } from '../../domain/node-group.ts';
import type { Node } from '../../domain/node.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';

/** What is left of each limit; Infinity where there is none. */
export interface Headroom {
  readonly nodes: number;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly thisPlan: number;
}

type Sized = Pick<Node | NodeTemplate, 'capacity'>;

export function fullHeadroom(policy: ScaleUpPolicy): Headroom {
  return {
    nodes: orInfinity(policy.maxNodesTotal),
    cpuMillis: orInfinity(policy.maxCoresTotal) * 1000,
    memoryBytes: orInfinity(policy.maxMemoryTotalBytes),
    thisPlan: orInfinity(policy.maxNodesPerScaleUp),
  };
}

/** Counts nodes that are there or on their way against the cluster's limits, not against the plan's. */
export function occupy(room: Headroom, node: Sized, count: number): Headroom {
  return {
    nodes: room.nodes - count,
    cpuMillis: room.cpuMillis - count * (node.capacity[CPU] ?? 0),
    memoryBytes: room.memoryBytes - count * (node.capacity[MEMORY] ?? 0),
    thisPlan: room.thisPlan,
  };
}

/** Counts newly planned nodes against every limit. Without a template their size is not known and only they are counted. */
export function spend(room: Headroom, node: Sized | undefined, count: number): Headroom {
  const occupied = node === undefined ? { ...room, nodes: room.nodes - count } : occupy(room, node, count);
  return { ...occupied, thisPlan: room.thisPlan - count };
}

/** Never negative. */
export function nodesAllowed(room: Headroom, node: Sized | undefined): number {
  const cpu = node?.capacity[CPU] ?? 0;
  const memory = node?.capacity[MEMORY] ?? 0;
  const byCpu = cpu > 0 ? Math.floor(room.cpuMillis / cpu) : Number.POSITIVE_INFINITY;
  const byMemory = memory > 0 ? Math.floor(room.memoryBytes / memory) : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(room.nodes, room.thisPlan, byCpu, byMemory));
}

/** The cluster's limit that not one more such node keeps, if any. */
export function limitReached(room: Headroom, node: Sized, policy: ScaleUpPolicy): SkipReason | undefined {
  if (room.nodes < 1) return { kind: 'cluster-limit', limit: 'nodes', value: policy.maxNodesTotal };
  if (room.cpuMillis < (node.capacity[CPU] ?? 0)) return { kind: 'cluster-limit', limit: 'cores', value: policy.maxCoresTotal };
  if (room.memoryBytes < (node.capacity[MEMORY] ?? 0)) return { kind: 'cluster-limit', limit: 'memory', value: policy.maxMemoryTotalBytes };
  return undefined;
}

function orInfinity(limit: number): number {
  return limit > 0 ? limit : Number.POSITIVE_INFINITY;
}
