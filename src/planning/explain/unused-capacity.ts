/** The part of a node that no pod requests: what its removal would save beside moving its pods. The metrics of waste and documents share it. */
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';

export interface UnusedCapacity {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  /** Of the node's price, from 0 to 1: a node without free CPU or without free memory wastes nothing. */
  readonly share: number;
}

interface Usage {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

const NOTHING: Usage = { cpuMillis: 0, memoryBytes: 0 };
/** The lists are never changed, and most are the same in the next loop. */
const usages = new WeakMap<readonly Pod[], Usage>();

export function unusedCapacity({ allocatable }: Node, pods: readonly Pod[] | undefined): UnusedCapacity {
  const used = pods === undefined ? NOTHING : usageOf(pods);
  const [cpu, memory] = [allocatable[CPU] ?? 0, allocatable[MEMORY] ?? 0];
  const cpuMillis = Math.max(0, cpu - used.cpuMillis);
  const memoryBytes = Math.max(0, memory - used.memoryBytes);
  return { cpuMillis, memoryBytes, share: cpu > 0 && memory > 0 ? Math.min(cpuMillis / cpu, memoryBytes / memory) : 0 };
}

function usageOf(pods: readonly Pod[]): Usage {
  const known = usages.get(pods);
  if (known !== undefined) return known;
  let [cpuMillis, memoryBytes] = [0, 0];
  for (const { shape } of pods) {
    cpuMillis += shape.requests[CPU] ?? 0;
    memoryBytes += shape.requests[MEMORY] ?? 0;
  }
  const usage = { cpuMillis, memoryBytes };
  usages.set(pods, usage);
  return usage;
}
