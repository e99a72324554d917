import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { isLongTerminating } from '../../scheduling/drainability/long-terminating.ts';

/**
 * Requested share of the node, the larger of CPU and memory; 1 is full. Pods that are ignored (those that every such node
 * carries) are taken off both sides. undefined: the node says nothing of its size, or is full of pods that are ignored.
 */
export function utilizationOf(
  node: Node,
  pods: readonly Pod[],
  options: { readonly nowMs: number; readonly ignoreDaemonPods: boolean; readonly ignoreMirrorPods: boolean },
): number | undefined {
  let cpu = 0;
  let memory = 0;
  let ignoredCpu = 0;
  let ignoredMemory = 0;
  for (const pod of pods) {
    const { requests } = pod.shape;
    if ((options.ignoreDaemonPods && pod.daemonSet) || (options.ignoreMirrorPods && pod.mirror)) {
      ignoredCpu += requests[CPU] ?? 0;
      ignoredMemory += requests[MEMORY] ?? 0;
    } else if (!isLongTerminating(pod, options.nowMs)) {
      cpu += requests[CPU] ?? 0;
      memory += requests[MEMORY] ?? 0;
    }
  }
  const freeableCpu = (node.allocatable[CPU] ?? 0) - ignoredCpu;
  const freeableMemory = (node.allocatable[MEMORY] ?? 0) - ignoredMemory;
  if (freeableCpu <= 0 || freeableMemory <= 0) return undefined;
  return Math.max(cpu / freeableCpu, memory / freeableMemory);
}
