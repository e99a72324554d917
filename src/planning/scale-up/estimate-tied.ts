/**
 * The estimate for pods that care where other pods are: node by node inside the snapshot, so that spread and affinity
 * are judged against the whole cluster, new nodes included. Same packing rule as estimate.ts, one pod at a time.
 */
import type { Node } from '../../domain/node.ts';
import type { HostPort, Pod } from '../../domain/pod.ts';
import type { Resources } from '../../domain/resources.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { fitsFree } from '../../scheduling/predicates/resources-fit.ts';
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
  /** Whether pods that nobody looks at are put into the snapshot too: only a packing that stays needs them there. */
  readonly keep: boolean;
}

/**
 * Leaves the new nodes and their pods in the snapshot: the caller forks before and reverts or commits after.
 * `prefix` must not begin the name of any node that is there.
 */
export function estimateTied(
  groups: readonly EquivalenceGroup[],
  template: GroupTemplate,
  limits: { readonly nodes: number; readonly prefix: string; readonly keep: boolean },
  snapshot: ClusterSnapshot,
): Estimate {
  const packing: Packing = { snapshot, template, limit: limits.nodes, prefix: limits.prefix, nodes: [], keep: limits.keep };
  const placed = new Map<EquivalenceGroup, number>();
  let zoneBound = 0;
  const all = (1 << template.variants.length) - 1;
  for (const { group, mask } of packingOrder(groups, template)) {
    const before = packing.nodes.length;
    const count = group.tied ? placeTied(packing, group, mask) : placeUntied(packing, group, mask);
    if (count > 0) placed.set(group, count);
    if (mask !== all) zoneBound += packing.nodes.length - before;
  }
  return { nodes: packing.nodes.length, placed, zoneBound };
}

/** Pods that only need room: as many as fit, node after node. */
function placeUntied(packing: Packing, group: EquivalenceGroup, mask: number): number {
  const { nodes } = packing;
  let count = 0;
  for (let at = 0; count < group.pods.length; at++) {
    const node = nodes[at] ?? addAnyNode(packing, mask);
    if (node === undefined) break;
    if ((node.mask & mask) === 0 || !fitsFree(group.need, node.free, 0)) continue;
    const each = Math.min(fitsOn(group, node.free, node.ports), group.pods.length - count);
    if (each > 0) place(packing, node, group, { from: count, to: count + each });
    count += each;
  }
  return count;
}

function placeTied(packing: Packing, group: EquivalenceGroup, mask: number): number {
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
    place(packing, node, group, { from: count, to: count + 1 });
    count += 1;
    if (found === undefined) open.push(node);
    if (refusesForGood && refused.size > 0) open = open.filter((other) => !refused.has(other));
    if (!hasRoom(node, group)) open = open.filter((other) => other !== node);
  }
  return count;
}

/** A new node that takes the pod, in the first zone that does; zones take turns. */
function addNode(packing: Packing, pod: Pod, mask: number): NewNode | undefined {
  const { snapshot } = packing;
  for (const { variant, index } of nextVariants(packing, mask)) {
    const name = nextName(packing);
    snapshot.fork();
    snapshot.addNode(copyOf(variant, name), packing.template.daemonPods);
    const admits = snapshot.admitsTopology(pod, name);
    if (!admits) {
      snapshot.revert();
      continue;
    }
    snapshot.commit();
    return remember(packing, name, index);
  }
  return undefined;
}

function addAnyNode(packing: Packing, mask: number): NewNode | undefined {
  const [next] = nextVariants(packing, mask);
  if (next === undefined) return undefined;
  const name = nextName(packing);
  packing.snapshot.addNode(copyOf(next.variant, name), packing.template.daemonPods);
  return remember(packing, name, next.index);
}

/** The zones that a new node may be tried in, in turn; none when the limit is reached. */
function nextVariants({ nodes, template, limit }: Packing, mask: number): readonly { readonly variant: Node; readonly index: number }[] {
  if (nodes.length >= limit) return [];
  const { variants } = template;
  const turn = nodes.length % variants.length;
  const all = variants.map((variant, index) => ({ variant, index })).filter(({ index }) => (mask & (1 << index)) !== 0);
  return [...all.filter(({ index }) => index >= turn), ...all.filter(({ index }) => index < turn)];
}

function nextName({ prefix, nodes }: Packing): string {
  return `${prefix}-${nodes.length}`;
}

function remember({ nodes, template }: Packing, name: string, index: number): NewNode {
  const made = { name, mask: 1 << index, free: template.free, ports: template.ports };
  nodes.push(made);
  return made;
}

function place(packing: Packing, node: NewNode, group: EquivalenceGroup, which: { readonly from: number; readonly to: number }): void {
  if (group.tied || packing.keep) for (const pod of group.pods.slice(which.from, which.to)) packing.snapshot.addPod(pod, node.name);
  node.free = freeAfter(node.free, group.need, which.to - which.from);
  if (group.shape.hostPorts.length > 0) node.ports = [...node.ports, ...group.shape.hostPorts];
}

function hasRoom(node: NewNode, group: EquivalenceGroup): boolean {
  return fitsOn(group, node.free, node.ports) > 0;
}
