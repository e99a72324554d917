/**
 * Packs pods on nodes that kube-scheduler has not filled yet as the estimates of new nodes do: by size, node after node. The pods for
 * which such nodes were requested come first. Must not know how groups grow.
 */
import { isReal, type Pod } from '../../../domain/pod.ts';
import type { NodeGroupId, NodeName, PodUid } from '../../../domain/ids.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { fitsStatically } from '../../../scheduling/snapshot/node-only-fit.ts';
import { type SnapshotNode, tryInFork } from '../../../scheduling/snapshot/snapshot.ts';
import {
  type ExistingCapacity,
  placedVerdict,
  placeInUndecidedZone,
  placeOnCapacity,
  placeOnFilledNodes,
} from '../groups/existing-capacity.ts';
import { type GroupTemplate, variantsForPods } from '../groups/template-node.ts';
import { type EquivalenceGroup, groupPods } from '../pods/equivalence-groups.ts';
import { packingOrder } from './estimate.ts';

const ZONE = 'topology.kubernetes.io/zone';

interface AwaitedPodsInput {
  /** Pods that need no other node, with the group from which they are awaited. */
  readonly awaited: ReadonlyMap<PodUid, NodeGroupId>;
  /** Whether these pods are the last ones to get a place. */
  readonly areLast: boolean;
}

/**
 * Places the pods on present nodes in order of precedence, and packs those that remain on nodes that kube-scheduler has not filled yet;
 * returns the others. Awaited pods come first, on the nodes of their group. They need no other node, even if they were packed differently
 * before.
 */
export function* placeAndPack(
  capacity: ExistingCapacity,
  toPlace: readonly Pod[],
  { awaited, areLast }: AwaitedPodsInput,
): SlicedWork<readonly Pod[]> {
  const { verdicts, fresh, joined, newNodeTemplates } = capacity;
  if (newNodeTemplates.size === 0 && awaited.size === 0) return yield* placeOnCapacity(capacity, toPlace);
  const daemons = toPlace.filter((pod) => pod.daemonSet);
  const daemonsLeft = yield* placeOnCapacity(capacity, daemons);
  const pods = toPlace.filter((pod) => !pod.daemonSet);
  const own = findServedPods(capacity, pods.filter(isReal), awaited);
  for (const [group, some] of own) for (const pod of some) verdicts.set(pod, { kind: 'fits-upcoming-node', group });
  const served = new Set([...own.values()].flat());
  const others = pods.filter((pod) => !served.has(pod));
  // Who has which place matters to other pods, to the removal of present nodes, and to nominations.
  if (areLast && others.length === 0 && fresh.size + joined.size === 0) return daemonsLeft;
  const placeless: Pod[] = [];
  for (const [group, some] of own) for (const pod of yield* packOwnPods(capacity, some, group)) placeless.push(pod);
  const toPack = yield* placeOnFilledNodes(capacity, withoutFollowers(capacity, others, placeless));
  const unplaced = yield* packOn(capacity, toPack, [...newNodeTemplates.values()]);
  // Pods that were packed may admit others, also to present nodes; and a registered node may offer more than its template.
  const left = yield* placeOnCapacity(capacity, unplaced);
  return [...daemonsLeft, ...withoutPlanned(capacity, left, awaited)];
}

/** Without awaited pods that exist only in plans: any pod may have their room, so they come last, but they need no other node. */
function withoutPlanned(capacity: ExistingCapacity, pods: readonly Pod[], awaited: ReadonlyMap<PodUid, NodeGroupId>): readonly Pod[] {
  const served = new Set<Pod>();
  for (const [group, some] of findServedPods(
    capacity,
    pods.filter((pod) => !isReal(pod)),
    awaited,
  )) {
    for (const pod of some) {
      served.add(pod);
      capacity.verdicts.set(pod, { kind: 'fits-upcoming-node', group });
    }
  }
  return pods.filter((pod) => !served.has(pod));
}

/**
 * Without pods that obey the same rules between pods as one that is served but has no place yet: its place will decide theirs. They are
 * served with it.
 */
function withoutFollowers({ interdependent, verdicts }: ExistingCapacity, pods: readonly Pod[], placeless: readonly Pod[]): readonly Pod[] {
  if (placeless.length === 0) return pods;
  const leading = new Set(placeless);
  const following = new Set<Pod>();
  for (const group of groupPods([...placeless, ...pods], interdependent)) {
    const leader = group.pods.find((pod) => leading.has(pod));
    const verdict = leader === undefined ? undefined : verdicts.get(leader);
    if (!group.interdependent || verdict === undefined) continue;
    for (const pod of group.pods) {
      following.add(pod);
      verdicts.set(pod, verdict);
    }
  }
  return pods.filter((pod) => !following.has(pod));
}

/** The awaited pods by group, without those that no new node of the group serves: their zone is another, or its template changed. */
function findServedPods(
  capacity: ExistingCapacity,
  pods: readonly Pod[],
  awaited: ReadonlyMap<PodUid, NodeGroupId>,
): ReadonlyMap<NodeGroupId, readonly Pod[]> {
  const served = new Map<NodeGroupId, Pod[]>();
  for (const pod of pods) {
    const id = awaited.get(pod.uid);
    if (id === undefined) continue;
    const known = served.get(id);
    if (known === undefined) served.set(id, [pod]);
    else known.push(pod);
  }
  return new Map([...served].map(([id, own]) => [id, fittingPods(capacity, groupPods(own, capacity.interdependent), id)]));
}

function fittingPods(capacity: ExistingCapacity, groups: readonly EquivalenceGroup[], id: NodeGroupId): readonly Pod[] {
  const template = capacity.newNodeTemplates.get(id);
  if (template === undefined) return groups.flatMap((group) => group.pods);
  const isUndecided = capacity.undecided.some((pool) => pool.template === template && pool.left > 0);
  const nodes = newNodesOf(capacity, template).flatMap((name) => capacity.snapshot.get(name)?.node ?? []);
  const byZone = [...new Map(nodes.map((node) => [node.labels[ZONE], node])).values()];
  return groups
    .filter((group) => variantsForPods(group, template) !== 0)
    .filter(({ shape }) => isUndecided || byZone.some((node) => fitsStatically(shape, node)))
    .flatMap((group) => group.pods);
}

/** Returns pods without a place: kube-scheduler gave their room to others, or their nodes came to other zones than planned. */
function* packOwnPods(capacity: ExistingCapacity, pods: readonly Pod[], id: NodeGroupId): SlicedWork<readonly Pod[]> {
  const template = capacity.newNodeTemplates.get(id);
  return yield* placeOnFilledNodes(capacity, template === undefined ? pods : yield* packOn(capacity, pods, [template]));
}

/** Returns the pods that found no place. */
function* packOn(capacity: ExistingCapacity, pods: readonly Pod[], templates: readonly GroupTemplate[]): SlicedWork<readonly Pod[]> {
  const placed = yield* pack(capacity, pods, templates);
  for (const [pod, node] of placed) capacity.verdicts.set(pod, placedVerdict(capacity, node));
  return pods.filter((pod) => !placed.has(pod));
}

/**
 * Leaves the placed pods in the snapshot, with their nodes as the result. If pods depend on each other, empty nodes are added only when
 * the earlier ones are full, as in an estimate.
 */
function* pack(
  capacity: ExistingCapacity,
  pods: readonly Pod[],
  templates: readonly GroupTemplate[],
): SlicedWork<ReadonlyMap<Pod, NodeName>> {
  const placed = new Map<Pod, NodeName>();
  const groups = groupPods(pods, capacity.interdependent);
  const isOneByOne = groups.some((group) => group.interdependent);
  const toFill = templates.map((template) => ({ template, closed: isOneByOne ? closeEmptyNodes(capacity, template) : [] }));
  for (const nodes of toFill) yield* packGroup(capacity, groups, nodes, placed);
  for (const { closed } of toFill) for (const { node, pods: own } of closed) capacity.snapshot.addNode(node, own);
  return placed;
}

interface GroupNodes {
  readonly template: GroupTemplate;
  /** Nodes that are not in the snapshot yet. */
  readonly closed: SnapshotNode[];
}

/** Packs as many of the pods as fit on the new nodes of one group, and removes them from `groups`. */
function* packGroup(
  capacity: ExistingCapacity,
  groups: readonly EquivalenceGroup[],
  { template, closed }: GroupNodes,
  placed: Map<Pod, NodeName>,
): SlicedWork<void> {
  const { snapshot } = capacity;
  const absent = new Set(closed.map(({ node }) => node.name));
  const nodes = newNodesOf(capacity, template).filter((name) => !absent.has(name));
  for (const { group } of packingOrder(groups, template)) {
    let from = 0;
    let count = 0;
    yield;
    for (const pod of group.pods) {
      const at = snapshot.firstFit(pod, nodes, from);
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
      return snapshot.firstFit(pod, [node.name]) === 0;
    };
    return tryInFork(snapshot, tryNode, Boolean);
  });
  const [opened] = at < 0 ? [] : closed.splice(at, 1);
  const name = opened?.node.name ?? placeInUndecidedZone(capacity, pod, template.group.id);
  if (name !== undefined) nodes.push(name);
  return name;
}

/** The group's upcoming and fresh nodes. */
function newNodesOf({ upcoming, fresh }: ExistingCapacity, { group }: GroupTemplate): readonly NodeName[] {
  return [...fresh, ...upcoming].filter(([, owner]) => owner === group.id).map(([name]) => name);
}

/** Removes the group's new nodes that hold no pod but those of every such node; returns them in their order. */
function closeEmptyNodes(capacity: ExistingCapacity, template: GroupTemplate): SnapshotNode[] {
  const { snapshot } = capacity;
  const own = new Set(template.daemonPods);
  const closed = newNodesOf(capacity, template)
    .flatMap((name) => snapshot.get(name) ?? [])
    .filter(({ pods }) => pods.every((pod) => own.has(pod) || pod.daemonSet || pod.mirror));
  for (const { node } of closed) snapshot.removeNode(node.name);
  return closed;
}
