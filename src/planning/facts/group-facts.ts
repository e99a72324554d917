/** Sums of the nodes of each group, found once: the view keeps its maps while no node changed. Must not know what follows from a fact. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { CloudView, ClusterView, Observation } from '../../domain/observation.ts';

interface GroupSummary {
  readonly nodes: number;
  readonly ready: number;
  /** When its newest node was created, or when its readiness changed last, milliseconds since the epoch. */
  readonly newestMs: number;
  /** Of the ready nodes, the one that was created last. */
  readonly newestReady: Node | undefined;
}

export type GroupSummaries = ReadonlyMap<NodeGroupId, GroupSummary>;

const known = new WeakMap<ClusterView['nodes'], { readonly groupOfNode: CloudView['groupOfNode']; readonly facts: GroupSummaries }>();

/** Groups without nodes are absent. */
export function factsOfGroups({ cluster: { nodes }, cloud: { groupOfNode } }: Pick<Observation, 'cluster' | 'cloud'>): GroupSummaries {
  const last = known.get(nodes);
  if (last?.groupOfNode === groupOfNode) return last.facts;
  const facts = new Map<NodeGroupId, { -readonly [Key in keyof GroupSummary]: GroupSummary[Key] }>();
  for (const [name, group] of groupOfNode) {
    const node = nodes.get(name);
    if (node === undefined) continue;
    const sums = facts.get(group) ?? { nodes: 0, ready: 0, newestMs: 0, newestReady: undefined };
    facts.set(group, sums);
    sums.nodes += 1;
    if (node.readiness.ready) {
      sums.ready += 1;
      if (sums.newestReady === undefined || node.createdAtMs > sums.newestReady.createdAtMs) sums.newestReady = node;
    }
    sums.newestMs = Math.max(sums.newestMs, node.createdAtMs, node.readiness.sinceMs);
  }
  known.set(nodes, { groupOfNode, facts });
  return facts;
}
