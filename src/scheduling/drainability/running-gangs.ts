/**
 * How many pods of each gang run, and where. kube-scheduler starts a gang once `minCount` of its pods have a place (v1.36.3, `pkg/scheduler/
 * framework/plugins/gangscheduling/gangscheduling.go`: `Permit` compares it with the scheduled pods). Must not know plans.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { type Gang, membershipOf } from '../../domain/workloads.ts';
import { hasTaint, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';

type Gangs = ReadonlyMap<string, ReadonlyMap<NodeName, number>>;

type Cluster = Pick<ClusterView, 'nodes' | 'podsByNode' | 'podGroups'>;

export class RunningGangs {
  readonly #cluster: Cluster;
  #byGang: Gangs | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The gang of the pod; undefined: it starts alone, or what its group requires is unknown. */
  gangOf(pod: Pod): Gang | undefined {
    const membership = membershipOf(pod, this.#cluster.podGroups);
    return membership.kind === 'gang' ? membership.gang : undefined;
  }

  /** Bound pods that do not terminate, by node. */
  nodesOf({ id }: Pick<Gang, 'id'>): ReadonlyMap<NodeName, number> {
    this.#byGang ??= countByGang(this.#cluster.podsByNode);
    return this.#byGang.get(id) ?? NONE;
  }

  /** All of them. */
  running(gang: Pick<Gang, 'id'>): number {
    let count = 0;
    for (const onNode of this.nodesOf(gang).values()) count += onNode;
    return count;
  }

  /** Those of this node, and those of all other nodes that are not about to go. */
  splitAt(gang: Pick<Gang, 'id'>, node: NodeName): { readonly here: number; readonly elsewhere: number } {
    const nodes = this.nodesOf(gang);
    let elsewhere = 0;
    for (const [name, count] of nodes) if (name !== node && this.#stays(name)) elsewhere += count;
    return { here: nodes.get(node) ?? 0, elsewhere };
  }

  /** A node with the taint of a removal is about to lose its pods. */
  #stays(name: NodeName): boolean {
    const node = this.#cluster.nodes.get(name);
    return node !== undefined && node.deletionAtMs === undefined && !hasTaint(node.taints, TO_BE_DELETED_TAINT);
  }
}

const NONE: ReadonlyMap<NodeName, number> = new Map();

/** Once per view, and only where pods name groups. */
function countByGang(podsByNode: ClusterView['podsByNode']): Gangs {
  const counts = new Map<string, Map<NodeName, number>>();
  for (const [node, pods] of podsByNode) {
    for (const { namespace, shape, deletionAtMs } of pods) {
      if (shape.gang === undefined || deletionAtMs !== undefined) continue;
      const id = `${namespace}/${shape.gang}`;
      const nodes = counts.get(id) ?? new Map<NodeName, number>();
      counts.set(id, nodes.set(node, (nodes.get(node) ?? 0) + 1));
    }
  }
  return counts;
}
