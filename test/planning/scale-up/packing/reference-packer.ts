/** First-fit-decreasing on new nodes without any shortcut: every pod is tried on every new node, in the snapshot. */
import type { Node } from '../../../../src/domain/node.ts';
import type { NodeGroupId, NodeName } from '../../../../src/domain/ids.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import {
  addPlaceholderNodes,
  dependsOnZones,
  placeholderNode,
  removePlaceholderNodes,
} from '../../../../src/planning/scale-up/groups/zonal-siblings.ts';
import { type GroupTemplate, newNodeFrom, variantsForPods } from '../../../../src/planning/scale-up/groups/template-node.ts';
import { podSizeOn } from '../../../../src/planning/scale-up/packing/estimate.ts';
import type { FamilyMember } from '../../../../src/planning/scale-up/packing/place-pods.ts';
import type { EquivalenceGroup } from '../../../../src/planning/scale-up/pods/equivalence-groups.ts';
import type { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';

interface NewNode {
  readonly name: NodeName;
  readonly of: number;
  readonly bit: number;
}

interface Place {
  readonly of: number;
  readonly bit: number;
  readonly variant: Node;
  readonly template: GroupTemplate;
}

export interface ReferencePacking {
  /** The new nodes with the names of their pods, in the order in which they were added. */
  readonly nodes: readonly { readonly name: NodeName; readonly group: NodeGroupId; readonly pods: readonly string[] }[];
  /** Per member: new nodes, nodes that help only in certain zones, and pods by the key of their group. */
  readonly shares: readonly { readonly nodes: number; readonly zoneBound: number; readonly placed: ReadonlyMap<string, number> }[];
}

/** Leaves the new nodes and their pods in the snapshot. */
export function packByReference(
  groups: readonly EquivalenceGroup[],
  members: readonly FamilyMember[],
  limits: { readonly nodes: number; readonly prefix: string },
  snapshot: ClusterSnapshot,
): ReferencePacking {
  const nodes: NewNode[] = [];
  const counts = members.map(() => 0);
  const shares = members.map(() => ({ nodes: 0, zoneBound: 0, placed: new Map<string, number>() }));
  const placeholders = members.flatMap(({ template, limit }, of) =>
    members.length < 2 || limit < 1 ? [] : template.variants.map((variant) => ({ of, node: placeholderNode(variant) })),
  );
  const first = members[0]!.template;
  const order = groups
    .filter(({ pods }) => pods.length > 0)
    .map((group) => ({ group, masks: members.map(({ template }) => variantsForPods(group, template)) }))
    .filter(({ masks }) => masks.some((mask) => mask !== 0))
    .sort(
      (left, right) =>
        podSizeOn(right.group.need, first.template.allocatable) - podSizeOn(left.group.need, first.template.allocatable) ||
        (left.group.key < right.group.key ? -1 : 1),
    );
  for (const { group, masks } of order) {
    const before = nodes.length;
    let closed = addPlaceholders(group, masks);
    for (const pod of group.pods) {
      let node = nodeFor(group, pod, masks);
      if (node === undefined && closed.length > 0) {
        removePlaceholderNodes(snapshot, closed);
        closed = [];
        node = nodeFor(group, pod, masks);
      }
      if (node === undefined) break;
      snapshot.addPod(pod, node.name);
      const { placed } = shares[node.of]!;
      placed.set(group.key, (placed.get(group.key) ?? 0) + 1);
    }
    removePlaceholderNodes(snapshot, closed);
    for (const { of } of nodes.slice(before)) {
      if (masks[of] !== (1 << members[of]!.template.variants.length) - 1) shares[of]!.zoneBound += 1;
    }
  }
  return {
    nodes: nodes.map(({ name, of }) => ({
      name,
      group: members[of]!.template.group.id,
      pods: snapshot.get(name)!.pods.map((pod) => pod.name),
    })),
    shares: shares.map((share, of) => ({ ...share, nodes: counts[of]! })),
  };

  function addPlaceholders({ shape, pods, interdependent }: EquivalenceGroup, masks: readonly number[]): readonly NodeName[] {
    if (!interdependent || members.length < 2 || shape.topologySpread.length === 0) return [];
    const open = placeholders.filter(({ of }) => masks[of] !== 0).map(({ node }) => node);
    return addPlaceholderNodes(snapshot, pods[0]!, { nodes: open, prefix: limits.prefix });
  }

  function nodeFor(group: EquivalenceGroup, pod: Pod, masks: readonly number[]): NewNode | undefined {
    const open = nodes.find(({ of, bit, name }) => (masks[of]! & bit) !== 0 && accepts(group, pod, name));
    if (open !== undefined) return open;
    for (const { of, bit, variant, template } of places(group, masks)) {
      const name = `${limits.prefix}-${nodes.length}`;
      snapshot.addNode(newNodeFrom(variant, name), template.daemonPods);
      if (!group.interdependent || accepts(group, pod, name)) {
        const node = { name, of, bit };
        nodes.push(node);
        counts[of]! += 1;
        return node;
      }
      snapshot.removeNode(name);
    }
    return undefined;
  }

  /** Rules between pods count for interdependent groups alone. */
  function accepts({ interdependent }: EquivalenceGroup, pod: Pod, name: NodeName): boolean {
    const reasons = snapshot.check(pod, name).filter(({ kind }) => interdependent || !['topology-spread', 'pod-affinity'].includes(kind));
    return reasons.length === 0;
  }

  function places(group: EquivalenceGroup, masks: readonly number[]): readonly Place[] {
    if (nodes.length >= limits.nodes) return [];
    const open = members.flatMap(({ template, limit }, of) => {
      const own = template.variants
        .map((variant, index) => ({ of, bit: 1 << index, variant, template }))
        .filter(({ bit }) => (masks[of]! & bit) !== 0);
      return counts[of]! < limit ? rotate(own, counts[of]!) : [];
    });
    return group.interdependent && dependsOnZones(group) && members.length > 1 ? rotate(open, nodes.length) : open;
  }
}

function rotate<Item>(items: readonly Item[], by: number): readonly Item[] {
  const first = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
