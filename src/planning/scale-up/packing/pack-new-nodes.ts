/**
 * Packs pods on new nodes of one group, or of a family of groups that are packed as one. Pods that only need room are arithmetic
 * (`estimate.ts`) as long as the nodes need not stay. Otherwise nodes are added to the snapshot one by one, so that spread and affinity
 * are checked against the whole cluster, new nodes included: in the same order, but one pod at a time.
 */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { HostPort, Pod } from '../../../domain/pod.ts';
import type { Resources } from '../../../domain/resources.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { takenPort } from '../../../scheduling/predicates/node-gates.ts';
import { fitsFree } from '../../../scheduling/predicates/resources-fit.ts';
import { estimate, podsFittingOn, freeAfter, podSizeOn, type Estimate } from './estimate.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { addPlaceholderNodes, removePlaceholderNodes, dependsOnZones, placeholderNode } from '../groups/zonal-siblings.ts';
import { newNodeFrom, variantsForPods, type GroupTemplate } from '../groups/template-node.ts';
import { rotate } from '../../../lib/collections.ts';
import { compareText } from '../../../lib/comparison.ts';
import { tryInFork } from '../../../scheduling/snapshot/snapshot.ts';

/** One of the groups that are packed as one family. */
export interface FamilyMember {
  readonly template: GroupTemplate;
  /** The largest number of nodes that it may add. */
  readonly limit: number;
}

/** The estimate of the family, and of each member, in the members' order. */
export interface PackedNodes extends Estimate {
  readonly shares: readonly Estimate[];
  /** The new nodes and their groups, in the order in which they were added. */
  readonly added: readonly (readonly [NodeName, NodeGroupId])[];
}

/** A zone variant of a member, which has the index `of`. */
interface NewNodePlace {
  readonly of: number;
  readonly template: GroupTemplate;
  readonly variant: Node;
  readonly mask: number;
}

interface NewNode extends NewNodePlace {
  readonly name: string;
  free: Resources;
  ports: readonly HostPort[];
}

interface Packing {
  readonly snapshot: ClusterSnapshot;
  readonly members: readonly FamilyMember[];
  readonly limit: number;
  /** Begins the names of this packing's nodes. */
  readonly prefix: string;
  readonly nodes: NewNode[];
  /** New nodes by member. */
  readonly counts: number[];
  readonly placed: readonly Map<EquivalenceGroup, number>[];
  /** Placeholder nodes for zones in which a member may add its first node. */
  readonly placeholders: readonly { readonly of: number; readonly node: Node }[];
  /** Whether independent pods are put into the snapshot too: only a packing that stays needs them there. */
  readonly keep: boolean;
}

/** A group of pods, with the zone variants of each member that it allows. */
interface PodsToPack {
  readonly group: EquivalenceGroup;
  readonly masks: readonly number[];
}

interface PackingLimits {
  /** The largest number of new nodes of all members together. */
  readonly nodes: number;
  /** Begins the names of new nodes, and no name of a node in the snapshot. */
  readonly prefix: string;
  /** Whether the new nodes and all their pods stay in the snapshot. */
  readonly keep: boolean;
}

/** May leave new nodes and pods in the snapshot: the caller forks before, and reverts or commits after. */
export function packNewNodes(
  groups: readonly EquivalenceGroup[],
  members: readonly FamilyMember[],
  limits: PackingLimits,
  snapshot: ClusterSnapshot,
): PackedNodes {
  const [only] = members.length === 1 ? members : [];
  const isArithmetic = !limits.keep && !groups.some((group) => group.interdependent && group.pods.length > 0);
  if (only === undefined || !isArithmetic) return packOneByOne(groups, members, limits, snapshot);
  const share = estimate(groups, only.template, Math.min(limits.nodes, only.limit));
  return { ...share, shares: [share], added: [] };
}

function packOneByOne(
  groups: readonly EquivalenceGroup[],
  members: readonly FamilyMember[],
  limits: PackingLimits,
  snapshot: ClusterSnapshot,
): PackedNodes {
  const { nodes: limit, prefix, keep } = limits;
  const packing: Packing = {
    snapshot,
    members,
    limit,
    prefix,
    nodes: [],
    counts: members.map(() => 0),
    placed: members.map(() => new Map()),
    placeholders:
      members.length < 2
        ? []
        : members.flatMap(({ template, limit: most }, of) =>
            most < 1 ? [] : template.variants.map((variant) => ({ of, node: placeholderNode(variant) })),
          ),
    keep,
  };
  const zoneBound = members.map(() => 0);
  for (const toPack of interdependentPackingOrder(groups, members)) {
    const before = packing.nodes.length;
    if (toPack.group.interdependent) placeInterdependent(packing, toPack);
    else placeIndependent(packing, toPack);
    for (const { of } of packing.nodes.slice(before)) {
      if (toPack.masks[of] !== allVariants(members[of])) zoneBound[of] = (zoneBound[of] ?? 0) + 1;
    }
  }
  return toEstimate(packing, zoneBound);
}

function interdependentPackingOrder(groups: readonly EquivalenceGroup[], members: readonly FamilyMember[]): readonly PodsToPack[] {
  const allocatable = members[0]?.template.template.allocatable;
  return groups
    .filter((group) => group.pods.length > 0)
    .map((group) => ({
      group,
      masks: members.map(({ template }) => variantsForPods(group, template)),
      size: allocatable === undefined ? 0 : podSizeOn(group.need, allocatable),
    }))
    .filter(({ masks }) => masks.some((mask) => mask !== 0))
    .sort((left, right) => right.size - left.size || compareText(left.group.key, right.group.key));
}

/** Pods that only need room: as many as fit, node after node. */
function placeIndependent(packing: Packing, toPack: PodsToPack): void {
  const { nodes } = packing;
  const { group, masks } = toPack;
  let count = 0;
  for (let at = 0; count < group.pods.length; at++) {
    const node = nodes[at] ?? addAnyNode(packing, toPack);
    if (node === undefined) break;
    if ((node.mask & (masks[node.of] ?? 0)) === 0 || !fitsFree(group.need, node.free, 0)) continue;
    const each = Math.min(podsFittingOn(group, node.free, node.ports), group.pods.length - count);
    if (each > 0) placePods(packing, node, group, { from: count, to: count + each });
    count += each;
  }
}

function placeInterdependent(packing: Packing, toPack: PodsToPack): void {
  const { group, masks } = toPack;
  // Without affinity terms, a node that refused a pod refuses until the emptiest domain has more pods.
  const staysRefused = group.shape.podAffinity.length === 0;
  const usable = (): NewNode[] => packing.nodes.filter((node) => (node.mask & (masks[node.of] ?? 0)) !== 0 && hasRoom(node, group));
  let open = usable();
  /** The lowest floors at which a node was put aside. */
  let floors: readonly number[] | undefined;
  let placeholders = addMemberPlaceholders(packing, toPack);
  let count = 0;
  while (count < group.pods.length) {
    const pod = group.pods[count];
    if (pod === undefined) break;
    const now = packing.snapshot.spreadFloors(pod);
    if (floors?.some((floor, at) => (now[at] ?? 0) > floor) === true) {
      open = usable();
      floors = undefined;
    }
    const refused = new Set<NewNode>();
    const found = open.find((node) => {
      const admits = packing.snapshot.admitsBesideOthers(pod, node.name);
      if (!admits) refused.add(node);
      return admits;
    });
    const node = found ?? addAdmittingNode(packing, toPack, pod);
    if (node === undefined) {
      if (placeholders.length === 0) break;
      // kube-scheduler would not count a zone in which no node can be added.
      removePlaceholderNodes(packing.snapshot, placeholders);
      placeholders = [];
      continue;
    }
    placePods(packing, node, group, { from: count, to: count + 1 });
    count += 1;
    if (found === undefined) open.push(node);
    if (staysRefused && refused.size > 0) {
      open = open.filter((other) => !refused.has(other));
      floors = now.map((floor, at) => Math.min(floor, floors?.[at] ?? floor));
    }
    if (!hasRoom(node, group)) open = open.filter((other) => other !== node);
  }
  removePlaceholderNodes(packing.snapshot, placeholders);
}

/** Zones in which new nodes are possible count as domains, so that they fill evenly and not one after the other. */
function addMemberPlaceholders({ snapshot, members, prefix, placeholders }: Packing, { group, masks }: PodsToPack): readonly NodeName[] {
  const [pod] = group.pods;
  if (members.length < 2 || group.shape.topologySpread.length === 0 || pod === undefined) return [];
  return addPlaceholderNodes(snapshot, pod, { nodes: placeholders.filter(({ of }) => masks[of] !== 0).map(({ node }) => node), prefix });
}

/** Adds a new node that admits the pod, in the first zone in which one does; zones take turns. */
function addAdmittingNode(packing: Packing, toPack: PodsToPack, pod: Pod): NewNode | undefined {
  const { snapshot } = packing;
  for (const next of nextPlaces(packing, toPack)) {
    const name = nextName(packing);
    const tryNode = (): boolean => {
      snapshot.addNode(newNodeFrom(next.variant, name), next.template.daemonPods);
      return snapshot.admitsBesideOthers(pod, name);
    };
    if (tryInFork(snapshot, tryNode, Boolean)) return recordNode(packing, name, next);
  }
  return undefined;
}

function addAnyNode(packing: Packing, toPack: PodsToPack): NewNode | undefined {
  const [next] = nextPlaces(packing, toPack);
  if (next === undefined) return undefined;
  const name = nextName(packing);
  packing.snapshot.addNode(newNodeFrom(next.variant, name), next.template.daemonPods);
  return recordNode(packing, name, next);
}

/**
 * Where a new node may be tried; empty if the limit is reached. Zones of one group take turns. Members take turns for pods that
 * depend on zones; other pods get the first member that can take them.
 */
function nextPlaces(packing: Packing, { group, masks }: PodsToPack): readonly NewNodePlace[] {
  const { nodes, counts, members, limit } = packing;
  if (nodes.length >= limit) return [];
  const open = members.flatMap((member, of) => {
    const count = counts[of] ?? 0;
    return count < member.limit ? rotate(placesOf(member, of, masks[of] ?? 0), count) : [];
  });
  return group.interdependent && dependsOnZones(group) && members.length > 1 ? rotate(open, nodes.length) : open;
}

function placesOf({ template }: FamilyMember, of: number, mask: number): readonly NewNodePlace[] {
  return template.variants
    .map((variant, index) => ({ of, template, variant, mask: 1 << index }))
    .filter((place) => (place.mask & mask) !== 0);
}

function nextName({ prefix, nodes }: Packing): string {
  return `${prefix}-${nodes.length}`;
}

function recordNode({ nodes, counts }: Packing, name: string, place: NewNodePlace): NewNode {
  const made = { ...place, name, free: place.template.free, ports: place.template.ports };
  nodes.push(made);
  counts[place.of] = (counts[place.of] ?? 0) + 1;
  return made;
}

function placePods(packing: Packing, node: NewNode, group: EquivalenceGroup, which: { readonly from: number; readonly to: number }): void {
  const placed = packing.placed[node.of];
  placed?.set(group, (placed.get(group) ?? 0) + which.to - which.from);
  if (group.interdependent || packing.keep)
    for (const pod of group.pods.slice(which.from, which.to)) packing.snapshot.addPod(pod, node.name);
  node.free = freeAfter(node.free, group.need, which.to - which.from);
  if (group.shape.hostPorts.length > 0) node.ports = [...node.ports, ...group.shape.hostPorts];
}

function hasRoom(node: NewNode, { need, shape }: EquivalenceGroup): boolean {
  return fitsFree(need, node.free, 0) && (shape.hostPorts.length === 0 || takenPort(shape.hostPorts, node.ports) === undefined);
}

function allVariants(member: FamilyMember | undefined): number {
  return (1 << (member?.template.variants.length ?? 0)) - 1;
}

function toEstimate({ nodes, counts, members, placed }: Packing, zoneBound: readonly number[]): PackedNodes {
  const shares = members.map((_, of) => ({
    nodes: counts[of] ?? 0,
    placed: placed[of] ?? new Map<EquivalenceGroup, number>(),
    zoneBound: zoneBound[of] ?? 0,
  }));
  const all = new Map<EquivalenceGroup, number>();
  for (const share of shares) for (const [group, count] of share.placed) all.set(group, (all.get(group) ?? 0) + count);
  const added = nodes.map(({ name, template }) => [name, template.group.id] as const);
  return { nodes: nodes.length, placed: all, zoneBound: zoneBound.reduce((sum, count) => sum + count, 0), shares, added };
}
