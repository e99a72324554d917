import type { Node } from '../../domain/node.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { isVirtual } from '../quotas/rooms.ts';
import { isLeaving, type Scope } from './scope.ts';

/** What the cluster can lose before it has less than the minimum of cores or memory. Mutable, and gone with the plan. */
export class ClusterMinimum {
  #cpuMillis = Number.POSITIVE_INFINITY;
  #memoryBytes = Number.POSITIVE_INFINITY;

  /** Registered nodes count, whoever owns them; those that leave do not, and neither do virtual ones. */
  constructor(scope: Scope) {
    const { minCoresTotal = 0, minMemoryTotalBytes = 0 } = scope.policy.scaleDown;
    if (minCoresTotal === 0 && minMemoryTotalBytes === 0) return;
    const counted = [...scope.observation.cluster.nodes.values()].filter((node) => !isLeaving(node, scope) && !isVirtual(node.labels));
    if (minCoresTotal > 0) this.#cpuMillis = total(counted, CPU) - minCoresTotal * 1000;
    if (minMemoryTotalBytes > 0) this.#memoryBytes = total(counted, MEMORY) - minMemoryTotalBytes;
  }

  /** Why they may not go together, with the numbers that fall short; undefined: they may. */
  shortage(nodes: readonly Node[]): string | undefined {
    const cpu = total(nodes, CPU);
    const memory = total(nodes, MEMORY);
    const parts = [
      ...(cpu > this.#cpuMillis ? [`${inCores(this.#cpuMillis)} cores above its minimum, and this takes ${inCores(cpu)}`] : []),
      ...(memory > this.#memoryBytes
        ? [`${inGib(this.#memoryBytes)} GiB of memory above its minimum, and this takes ${inGib(memory)}`]
        : []),
    ];
    return parts.length === 0 ? undefined : `the cluster has ${parts.join('; ')}`;
  }

  take(node: Node): void {
    this.#cpuMillis -= node.capacity[CPU] ?? 0;
    this.#memoryBytes -= node.capacity[MEMORY] ?? 0;
  }
}

function inCores(millis: number): number {
  return Math.max(0, millis) / 1000;
}

function inGib(bytes: number): number {
  return Math.round((Math.max(0, bytes) / 2 ** 30) * 10) / 10;
}

function total(nodes: readonly Node[], index: number): number {
  return nodes.reduce((sum, node) => sum + (node.capacity[index] ?? 0), 0);
}
