/**
 * Where a packing puts its new nodes: into the snapshot, or, if they need not stay and room and counts decide about all pods, only into
 * the counts of pods per domain, which is much cheaper. Must not know in which order nodes and pods come.
 */
import type { NodeName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { NodeKind, SimulatedNodes } from '../../../scheduling/snapshot/simulated-nodes.ts';
import type { SplitRules } from '../../../scheduling/snapshot/topology-index.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { addPlaceholderNodes, removePlaceholderNodes } from '../groups/zonal-siblings.ts';
import { type GroupTemplate, newNodeFrom } from '../groups/template-node.ts';
import type { NewNode, NewNodePlace } from './new-nodes.ts';

type NodeInSpace = Pick<NewNode, 'name' | 'slot'>;

/** Pods `from` to `to` of the group, the latter excluded. */
export interface PodRange {
  readonly from: number;
  readonly to: number;
}

export interface NewNodeSpace {
  /** The rules between pods that decide about the group. */
  rulesOf(group: EquivalenceGroup): SplitRules;
  /** Whether these rules admit a pod of the group. They are part of {@link rulesOf}. */
  admits(rules: SplitRules['byHost'], node: NodeInSpace): boolean;
  /** Whether everything else but room that depends on the pods of the node admits the group. */
  admitsBesideRules(group: EquivalenceGroup, node: NodeInSpace): boolean;
  /** Returns the slot of the new node. */
  add(place: Pick<NewNodePlace, 'template' | 'variant'>, name: NodeName): number;
  /** The node was added last and has no pods but its own. */
  drop(node: NodeInSpace): void;
  put(group: EquivalenceGroup, range: PodRange, node: NodeInSpace): void;
  /** Adds those of the nodes that open a domain for the group. */
  addPlaceholders(group: EquivalenceGroup, nodes: readonly Node[]): Placeholders;
  /** The packing ends. */
  close(): void;
}

export interface Placeholders {
  readonly count: number;
  readonly remove: () => void;
}

/** Nodes and pods stay in the snapshot. With `keepsAll`, pods that only need room are put there, too. */
export function snapshotSpace(snapshot: ClusterSnapshot, prefix: string, keepsAll: boolean): NewNodeSpace {
  return {
    rulesOf: ({ shape }) => snapshot.splitRules(shape),
    admits: (rules, { name }) => snapshot.admitsBy(rules, name),
    admitsBesideRules(group, { name }) {
      const [pod] = group.pods;
      return group.countable || pod === undefined || snapshot.admitsBesideOthers(pod, name);
    },
    add({ template, variant }, name) {
      snapshot.addNode(newNodeFrom(variant, name), template.daemonPods);
      return 0;
    },
    drop: ({ name }) => snapshot.removeNode(name),
    put({ interdependent, pods }, { from, to }, { name }) {
      if (interdependent || keepsAll) for (const pod of pods.slice(from, to)) snapshot.addPod(pod, name);
    },
    addPlaceholders({ pods: [pod] }, nodes) {
      const names = pod === undefined ? [] : addPlaceholderNodes(snapshot, pod, { nodes, prefix });
      return { count: names.length, remove: () => removePlaceholderNodes(snapshot, names) };
    },
    close: () => undefined,
  };
}

/** For countable groups. Nothing stays. */
export function countedSpace(
  snapshot: ClusterSnapshot,
  groups: readonly EquivalenceGroup[],
  templates: readonly GroupTemplate[],
): NewNodeSpace {
  const ruled = groups.filter(({ interdependent }) => interdependent).map(({ shape }) => shape);
  const nodes = snapshot.simulateNodes(
    ruled,
    templates.flatMap(({ daemonPods }) => daemonPods),
  );
  const kindOf = kindsOf(nodes);
  const countersOf = perGroup(({ shape, interdependent }) => (interdependent ? nodes.countersOf(shape) : []));
  return {
    rulesOf: ({ shape }) => nodes.splitRules(shape),
    admits: (rules, { slot }) => nodes.admits(rules, slot),
    admitsBesideRules: () => true,
    add: ({ template, variant }) => nodes.add(kindOf(variant, template)),
    drop: ({ slot }) => nodes.remove(slot),
    put: (group, { from, to }, { slot }) => nodes.place(countersOf(group), slot, to - from),
    addPlaceholders({ shape }, possible) {
      const slots = possible.filter(({ labels }) => nodes.opensDomain(shape, labels)).map((node) => nodes.add(kindOf(node, undefined)));
      return { count: slots.length, remove: () => slots.forEach((slot) => nodes.remove(slot)) };
    },
    close: () => nodes.clear(),
  };
}

function kindsOf(nodes: SimulatedNodes): (node: Node, template: GroupTemplate | undefined) => NodeKind {
  const kinds = new Map<Node, NodeKind>();
  return (node, template) => {
    const known = kinds.get(node);
    if (known !== undefined) return known;
    const kind = nodes.kindOf(node, template?.daemonPods ?? []);
    kinds.set(node, kind);
    return kind;
  };
}

function perGroup<Found>(find: (group: EquivalenceGroup) => Found): (group: EquivalenceGroup) => Found {
  const known = new Map<EquivalenceGroup, Found>();
  return (group) => {
    const found = known.get(group) ?? find(group);
    known.set(group, found);
    return found;
  };
}
