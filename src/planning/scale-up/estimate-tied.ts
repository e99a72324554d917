/**
 * The estimate for pods that care where other pods are: node by node inside the snapshot, so that spread and affinity
 * are judged against the whole cluster, new nodes included. Same packing rule as estimate.ts, one pod at a time.
 */
import type { Node } from '../../domain/node.ts';
import type { HostPort, Pod } from '../../domain/pod.ts';
import type { Resources } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { packingOrder, fitsOn, freeAfter, type Estimate } from './estimate.ts';
import type { EquivalenceGroup } from './equivalence-groups.ts';
import { copyOf, type GroupTemplate } from './template-node.ts';

interface NewNode {
  readonly name: string;
  readonly mask: number;
  free: Resources;
  ports: readonly HostPort[];
}

interface Packing {
  readonly snapshot: ClusterSnapshot;
  readonly template: GroupTemplate;
  readonly limit: number;
  /** Makes the names of this packing's nodes its own. */
  readonly prefix: string;
  readonly nodes: NewNode[];
}

/**
 * Leaves the new nodes and their pods in the snapshot: the caller forks before and reverts or commits after.
 * `prefix` must not begin the name of any node that is there.
 */
export function estimateTied(
  groups: readonly EquivalenceGroup[],
  template: GroupTemplate,
  limits: { readonly nodes: number; readonly prefix: string },
  snapshot: ClusterSnapshot,
): Estimate {
  const packing: Packing = { snapshot, template, limit: limits.nodes, prefix: limits.prefix, nodes: [] };
  const placed = new Map<EquivalenceGroup, number>();
  let zoneBound = 0;
  const all = (1 << template.variants.length) - 1;
  for (const { group, mask } of packingOrder(groups, template)) {
    const before = packing.nodes.length;
    const count = placeAll(packing, group, mask);
    if (count > 0) placed.set(group, count);
    if (mask !== all) zoneBound += packing.nodes.length - before;
  }
  return { nodes: packing.nodes.length, placed, zoneBound };
}

function placeAll(packing: Packing, group: EquivalenceGroup, mask: number): number {
  // Without spread and affinity terms a node that refused once refuses for good: more pods never make it better.
  const refusesForGood = group.shape.topologySpread.length + group.shape.podAffinity.length === 0;
  let open = packing.nodes.filter((node) => (node.mask & mask) !== 0 && hasRoom(node, group));
  let count = 0;
  for (const pod of group.pods) {
    const refused = new Set<NewNode>();
    const found = open.find((node) => {
      const admits = packing.snapshot.admitsTopology(pod, node.name);
      if (!admits) refused.add(node);
      return admits;
    });
    const node = found ?? addNode(packing, pod, mask);
    if (node === undefined) return count;
    place(packing, node, pod, group);
    count += 1;
    if (found === undefined) open.push(node);
    if (refusesForGood && refused.size > 0) open = open.filter((other) => !refused.has(other));
    if (!hasRoom(node, group)) open = open.filter((other) => other !== node);
  }
  return count;
}

/** A new node that takes the pod, in the first zone that does; zones take turns. */
function addNode(packing: Packing, pod: Pod, mask: number): NewNode | undefined {
  const { nodes, template, snapshot } = packing;
  if (nodes.length >= packing.limit) return undefined;
  for (let step = 0; step < template.variants.length; step++) {
    const index = (nodes.length + step) % template.variants.length;
    const variant = template.variants[index];
    if (variant === undefined || (mask & (1 << index)) === 0) continue;
    const node = tryNode(snapshot, copyOf(variant, `${packing.prefix}-${nodes.length}`), pod, template.daemonPods);
    if (!node) continue;
    const made = { name: `${packing.prefix}-${nodes.length}`, mask: 1 << index, free: template.free, ports: template.ports };
    nodes.push(made);
    return made;
  }
  return undefined;
}

function tryNode(snapshot: ClusterSnapshot, node: Node, pod: Pod, daemonPods: readonly Pod[]): boolean {
  snapshot.fork();
  snapshot.addNode(node, daemonPods);
  const admits = snapshot.admitsTopology(pod, node.name);
  if (admits) snapshot.commit();
  else snapshot.revert();
  return admits;
}

function place(packing: Packing, node: NewNode, pod: Pod, group: EquivalenceGroup): void {
  packing.snapshot.addPod(pod, node.name);
  node.free = freeAfter(node.free, group.need, 1);
  if (group.shape.hostPorts.length > 0) node.ports = [...node.ports, ...group.shape.hostPorts];
}

function hasRoom(node: NewNode, group: EquivalenceGroup): boolean {
  return fitsOn(group, node.free, node.ports) > 0;
}
