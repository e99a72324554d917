/**
 * Packs pods on upcoming nodes as the estimates of new nodes do: by size, node after node. So the pods for which nodes were
 * requested find their place on these nodes, and a second look requests nothing. Must not know how groups grow.
 */
import type { NodeGroupId, NodeName, PodUid } from '../../../domain/ids.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { type SnapshotNode, tryInFork, withFork } from '../../../scheduling/snapshot/snapshot.ts';
import {
  type ExistingCapacity,
  type PodsToPlace,
  copyCapacity,
  placeInUndecidedZone,
  placeOnCapacity,
  placeOnPresentNodes,
} from '../groups/existing-capacity.ts';
import { type GroupTemplate, variantsForPods } from '../groups/template-node.ts';
import { type EquivalenceGroup, groupPods } from '../pods/equivalence-groups.ts';
import { passedOverPriorities, servesBetter, splitByPriority } from '../pods/priority-order.ts';
import { packingOrder } from './estimate.ts';

/** The most packings that one plan compares: which group the earlier plan grew first is not known any more. */
const MAX_PACKINGS = 8;
/** The most pods that all compared packings together may have, so that a large burst takes no longer than a few packings. */
const MAX_PACKED_PODS = 10_000;
/** With more groups, only the first of them changes. */
const MAX_PERMUTED = 3;

/** One way to pack. */
interface Way {
  readonly order: readonly GroupTemplate[];
  /** Pods of at least the first priority are packed before all others, and so on. */
  readonly steps: readonly number[];
  /** Empty nodes are added only when the earlier ones are full, as in an estimate. It matters to spread constraints. */
  readonly oneByOne: boolean;
}

interface Packed {
  readonly placed: ReadonlyMap<Pod, NodeName>;
  readonly left: readonly Pod[];
}

/**
 * Places the pods on present nodes in order of precedence, and packs those that remain on upcoming nodes; returns the others.
 * Upcoming nodes go to the pods in `awaited` first: each is awaited from a group. Such a pod needs no other node, even if it was packed
 * differently before.
 */
export function placeAndPack(capacity: ExistingCapacity, toPlace: PodsToPlace, awaited: ReadonlyMap<PodUid, NodeGroupId>): readonly Pod[] {
  const { pods, interdependent, verdicts } = toPlace;
  if (capacity.upcomingTemplates.size === 0 && awaited.size === 0) return placeOnCapacity(capacity, pods, interdependent, verdicts);
  const unplaced = placeOnPresentNodes(capacity, toPlace);
  const own = findServedPods(capacity, { ...toPlace, pods: unplaced }, awaited);
  const served = new Set([...own.values()].flat());
  const others = unplaced.filter((pod) => !served.has(pod));
  if (others.length > 0) packOwnPods(capacity, toPlace, own);
  for (const [group, some] of own) for (const pod of some) verdicts.set(pod, { kind: 'fits-upcoming-node', group });
  const rest = packOtherPods(capacity, { ...toPlace, pods: others });
  // Pods that were packed may admit others, also to present nodes; and a registered node may offer more than its template.
  return placeOnCapacity(capacity, rest, interdependent, verdicts);
}

/** The awaited pods by group, without those that no new node of the group serves any more. */
function findServedPods(
  { upcomingTemplates }: ExistingCapacity,
  { pods, interdependent }: PodsToPlace,
  awaited: ReadonlyMap<PodUid, NodeGroupId>,
): ReadonlyMap<NodeGroupId, readonly Pod[]> {
  const served = new Map<NodeGroupId, readonly Pod[]>();
  for (const id of new Set(awaited.values())) {
    const template = upcomingTemplates.get(id);
    const groups = groupPods(
      pods.filter(({ uid }) => awaited.get(uid) === id),
      interdependent,
    );
    const fitting = groups.filter((group) => template === undefined || variantsForPods(group, template) !== 0);
    served.set(
      id,
      fitting.flatMap((group) => group.pods),
    );
  }
  return served;
}

/** So that other pods see the room that is left. */
function packOwnPods(capacity: ExistingCapacity, toPlace: PodsToPlace, own: ReadonlyMap<NodeGroupId, readonly Pod[]>): void {
  for (const [id, pods] of own) {
    const template = capacity.upcomingTemplates.get(id);
    if (template === undefined || pods.length === 0) continue;
    pack(capacity, { ...toPlace, pods }, { order: [template], steps: [], oneByOne: toPlace.interdependent.size > 0 });
  }
}

/** Returns the pods that found no place. */
function packOtherPods(capacity: ExistingCapacity, toPlace: PodsToPlace): readonly Pod[] {
  const { pods, interdependent, verdicts } = toPlace;
  const groups = groupPods(
    pods.filter((pod) => !pod.daemonSet),
    interdependent,
  );
  const templates = [...capacity.upcomingTemplates.values()];
  const eligible = groups.filter((group) => templates.some((template) => variantsForPods(group, template) !== 0));
  if (eligible.length === 0) return pods;
  const toPack = { ...toPlace, pods: eligible.flatMap((group) => group.pods) };
  const { placed } = pack(capacity, toPack, bestWay(capacity, toPack, templates));
  for (const [pod, node] of placed) {
    const group = capacity.upcoming.get(node);
    if (group !== undefined) verdicts.set(pod, { kind: 'fits-upcoming-node', group });
  }
  return pods.filter((pod) => !placed.has(pod));
}

/** The first way that leaves no pod without a place; if there is none, the one that serves high priorities best. */
function bestWay(capacity: ExistingCapacity, toPack: PodsToPlace, templates: readonly GroupTemplate[]): Way {
  const ways = waysToPack(templates, toPack.interdependent.size > 0);
  let best: { readonly way: Way; readonly left: readonly Pod[] } | undefined;
  const most = Math.min(MAX_PACKINGS, Math.floor(MAX_PACKED_PODS / Math.max(1, toPack.pods.length)));
  for (let at = 0; at < Math.min(ways.length, most); at++) {
    const way = ways[at];
    if (way === undefined) break;
    const { placed, left } = withFork(capacity.snapshot, () => pack(copyCapacity(capacity), toPack, way));
    if (left.length === 0) return way;
    if (best === undefined || servesBetter(left, best.left)) best = { way, left };
    const more = passedOverPriorities([...placed.keys()], left).filter((priority) => !way.steps.includes(priority));
    if (more.length > 0) ways.splice(at + 1, 0, { ...way, steps: [...way.steps, ...more].sort((one, other) => other - one) });
  }
  return best?.way ?? { order: templates, steps: [], oneByOne: false };
}

function waysToPack(templates: readonly GroupTemplate[], interdependent: boolean): Way[] {
  const orders = templates.length > MAX_PERMUTED ? rotations(templates) : permutations(templates);
  return (interdependent ? [true, false] : [false]).flatMap((oneByOne) => orders.map((order) => ({ order, steps: [], oneByOne })));
}

function permutations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((first) => permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

function rotations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return items.map((_, first) => [...items.slice(first), ...items.slice(0, first)]);
}

/** Leaves the placed pods in the snapshot. */
function pack(capacity: ExistingCapacity, { pods, interdependent }: PodsToPlace, { order, steps, oneByOne }: Way): Packed {
  const placed = new Map<Pod, NodeName>();
  const closed = new Map(order.map((template) => [template, oneByOne ? closeEmptyNodes(capacity, template) : []]));
  for (const turn of splitByPriority(pods, steps)) {
    const groups = groupPods(turn, interdependent);
    for (const template of order) packGroup(capacity, groups, { template, closed: closed.get(template) ?? [] }, placed);
  }
  for (const nodes of closed.values()) for (const { node, pods: own } of nodes) capacity.snapshot.addNode(node, own);
  return { placed, left: pods.filter((pod) => !placed.has(pod)) };
}

interface GroupNodes {
  readonly template: GroupTemplate;
  /** Nodes that are not in the snapshot yet. */
  readonly closed: SnapshotNode[];
}

/** Packs as many of the pods as fit on the upcoming nodes of one group, and removes them from `groups`. */
function packGroup(
  capacity: ExistingCapacity,
  groups: readonly EquivalenceGroup[],
  { template, closed }: GroupNodes,
  placed: Map<Pod, NodeName>,
): void {
  const { snapshot, upcoming } = capacity;
  const { id } = template.group;
  const absent = new Set(closed.map(({ node }) => node.name));
  const nodes = [...upcoming].filter(([name, group]) => group === id && !absent.has(name)).map(([name]) => name);
  for (const { group } of packingOrder(groups, template)) {
    let from = 0;
    let count = 0;
    for (const pod of group.pods) {
      const at = nodes.findIndex((node, index) => index >= from && fits(snapshot, pod, node));
      const node = at < 0 ? nextNode(capacity, pod, { template, closed }, nodes) : nodes[at];
      if (node === undefined) break;
      // A node that refused a pod that only needs room refuses its equals, too.
      if (!group.interdependent) from = at < 0 ? nodes.length - 1 : at;
      snapshot.addPod(pod, node);
      placed.set(pod, node);
      count += 1;
    }
    group.pods.splice(0, count);
  }
}

function nextNode(capacity: ExistingCapacity, pod: Pod, { template, closed }: GroupNodes, nodes: NodeName[]): NodeName | undefined {
  const { snapshot } = capacity;
  const at = closed.findIndex(({ node, pods }) => {
    const tryNode = (): boolean => {
      snapshot.addNode(node, pods);
      return fits(snapshot, pod, node.name);
    };
    return tryInFork(snapshot, tryNode, Boolean);
  });
  const [opened] = at < 0 ? [] : closed.splice(at, 1);
  const name = opened?.node.name ?? placeInUndecidedZone(capacity, pod, template.group.id);
  if (name !== undefined) nodes.push(name);
  return name;
}

/** The first test is the cheaper one. */
function fits(snapshot: ClusterSnapshot, pod: Pod, node: NodeName): boolean {
  return snapshot.admitsBesideOthers(pod, node) && snapshot.check(pod, node).length === 0;
}

/** Removes the group's upcoming nodes that hold no pod but those of every such node; returns them in their order. */
function closeEmptyNodes({ snapshot, upcoming }: ExistingCapacity, template: GroupTemplate): SnapshotNode[] {
  const own = new Set(template.daemonPods);
  const closed = [...upcoming]
    .filter(([, group]) => group === template.group.id)
    .flatMap(([name]) => snapshot.get(name) ?? [])
    .filter(({ pods }) => pods.every((pod) => own.has(pod)));
  for (const { node } of closed) snapshot.removeNode(node.name);
  return closed;
}
