/**
 * Pods that kube-scheduler has refused with every node of the cluster as it is now. The time of the condition stays that of
 * the first refusal, but the message shows it: it counts all nodes, and those with taints that the pod does not tolerate. Must not know
 * which nodes the pod waits for.
 */
import type { Node } from '../../../domain/node.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import { refusedByTaints } from '../../../scheduling/predicates/node-gates.ts';

/** `0/6 nodes are available: 4 Insufficient cpu, 2 node(s) had untolerated taint {...}.` */
const COUNTED = /^0\/(\d+) nodes are available: (.*)$/s;
const BY_TAINT = /(\d+) node\(s\) had untolerated taint/g;

/**
 * Whether kube-scheduler's last message about the pod counts as many nodes as there are, and no more of them as tainted than are now: it
 * has seen each node ready. False for messages in another form.
 */
export function repeatedRefusals({ nodes }: Pick<ClusterView, 'nodes'>): (pod: Pod) => boolean {
  const taintedIn = new Map<string, number | undefined>();
  const refusing = new Map<string, number>();
  return ({ shape, unschedulable }) => {
    if (unschedulable === undefined) return false;
    const { message } = unschedulable;
    const tainted = taintedIn.has(message) ? taintedIn.get(message) : taintedOf(message, nodes.size);
    taintedIn.set(message, tainted);
    if (tainted === undefined || tainted === 0) return tainted === 0;
    // Many workloads tolerate the same taints.
    const tolerations = JSON.stringify(shape.tolerations);
    const count = refusing.get(tolerations) ?? countRefusing(shape, nodes);
    refusing.set(tolerations, count);
    return tainted <= count;
  };
}

/** How many nodes the message counts as tainted; undefined if it does not count as many nodes as there are. */
function taintedOf(message: string, nodes: number): number | undefined {
  const [, total, reasons = ''] = COUNTED.exec(message) ?? [];
  if (total === undefined || Number(total) !== nodes) return undefined;
  return [...(reasons.split(' preemption: ')[0]?.matchAll(BY_TAINT) ?? [])].reduce((sum, [, count]) => sum + Number(count), 0);
}

function countRefusing(shape: Pod['shape'], nodes: ReadonlyMap<string, Node>): number {
  return [...nodes.values()].filter((node) => refusedByTaints(shape, node).length > 0).length;
}
