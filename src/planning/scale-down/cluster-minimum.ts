import type { Node } from '../../domain/node.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { isLeaving, type Scope } from './scope.ts';

/** What the cluster can lose before it has less than the minimum of cores or memory. Mutable, and gone with the plan. */
export class ClusterMinimum {
  #cpuMillis = Number.POSITIVE_INFINITY;
  #memoryBytes = Number.POSITIVE_INFINITY;

  /** Registered nodes count, whoever owns them; those that leave do not, and neither do virtual ones. */
  constructor(scope: Scope) {
    const { minCoresTotal = 0, minMemoryTotalBytes = 0 } = scope.policy.scaleDown;
    if (minCoresTotal === 0 && minMemoryTotalBytes === 0) return;
    const counted = [...scope.observation.cluster.nodes.values()].filter((node) => !isLeaving(node, scope) && !isVirtual(node));
    if (minCoresTotal > 0) this.#cpuMillis = total(counted, CPU) - minCoresTotal * 1000;
    if (minMemoryTotalBytes > 0) this.#memoryBytes = total(counted, MEMORY) - minMemoryTotalBytes;
  }

  /** Whether all of them may go together. */
  allows(nodes: readonly Node[]): boolean {
    return total(nodes, CPU) <= this.#cpuMillis && total(nodes, MEMORY) <= this.#memoryBytes;
  }

  take(node: Node): void {
    this.#cpuMillis -= node.capacity[CPU] ?? 0;
    this.#memoryBytes -= node.capacity[MEMORY] ?? 0;
  }
}

function total(nodes: readonly Node[], index: number): number {
  return nodes.reduce((sum, node) => sum + (node.capacity[index] ?? 0), 0);
}

function isVirtual(node: Node): boolean {
  return node.labels['type'] === 'virtual-kubelet';
}
