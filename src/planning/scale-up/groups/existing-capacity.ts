/**
 * Pods that fit on present or upcoming nodes need no new node. Places them in the caller's fork, in the caller's order: the
 * pods that remain need new nodes. `packing/pack-upcoming.ts` packs pods on upcoming nodes by size.
 */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import type { Pod, PodShape } from '../../../domain/pod.ts';
import type { PodVerdict } from '../../../domain/reasons.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import { newNodeFrom, simulatedNodeName, type GroupTemplate } from './template-node.ts';
import { packingName } from '../pods/equivalence-groups.ts';
import type { TryLimits } from '../pods/try-limits.ts';
import type { RuleClasses } from '../../../scheduling/snapshot/interdependent-shapes.ts';
import type { UpcomingNodes } from './upcoming-nodes.ts';
import { zonePart } from '../../../domain/node-template.ts';
import { rotate } from '../../../lib/collections.ts';
import { fitsStatically } from '../../../scheduling/snapshot/node-only-fit.ts';
import { tryInFork } from '../../../scheduling/snapshot/snapshot.ts';

export interface UpcomingGroupNodes {
  readonly template: GroupTemplate;
  readonly upcoming: UpcomingNodes;
}

/** What one try of a plan places pods on, and where it has placed them. Changes with every pod. */
export interface ExistingCapacity {
  readonly snapshot: ClusterSnapshot;
  readonly tries: Pick<TryLimits, 'startSearch'>;
  /** Shapes whose place depends on other pods' places. */
  readonly interdependent: RuleClasses;
  readonly verdicts: Map<Pod, PodVerdict>;
  /** Whether pods may be placed on a present node. */
  readonly isUsable: (node: NodeName) => boolean;
  /** Present nodes that are ready for so short a time that kube-scheduler may not have filled them yet. */
  readonly fresh: Map<NodeName, NodeGroupId>;
  /** Nodes of the snapshot that stand for upcoming nodes. */
  readonly upcoming: Map<NodeName, NodeGroupId>;
  /** Upcoming nodes that have registered. Empty unless pods are nominated for them. */
  readonly joined: ReadonlySet<NodeName>;
  /** Nodes of the snapshot that this plan requests. */
  readonly planned: Map<NodeName, NodeGroupId>;
  /** Upcoming nodes whose zone is unknown: each becomes a node of a zone that its first pod allows. */
  readonly undecided: UndecidedNodes[];
  /** Of every group with upcoming or fresh nodes, in the order of the groups. */
  readonly newNodeTemplates: Map<NodeGroupId, GroupTemplate>;
}

interface UndecidedNodes {
  readonly template: GroupTemplate;
  left: number;
  /** How many have a zone by now. */
  decided: number;
}

/** Why pods wait whose places could not be searched in time. */
export const TIME_IS_UP = 'the time limit of one plan was reached';

/** Each of them may be searched on all nodes. */
const PODS_PER_STEP = 16;

type FindNode = (capacity: ExistingCapacity, pod: Pod) => NodeName | undefined;

/** A copy on which decisions can be tried. The snapshot is shared: the caller forks it. */
export function copyCapacity(capacity: ExistingCapacity): ExistingCapacity {
  return {
    ...capacity,
    verdicts: new Map(capacity.verdicts),
    upcoming: new Map(capacity.upcoming),
    planned: new Map(capacity.planned),
    undecided: capacity.undecided.map((pool) => ({ ...pool })),
  };
}

/** Puts the upcoming nodes into the snapshot, which has the fresh ones. */
export function addUpcomingNodes(capacity: ExistingCapacity, coming: readonly UpcomingGroupNodes[]): void {
  for (const { template, upcoming } of coming) {
    const { id } = template.group;
    if (!capacity.newNodeTemplates.has(id)) capacity.newNodeTemplates.set(id, template);
    for (const name of upcoming.fresh) capacity.fresh.set(name, id);
    for (const name of upcoming.unready) replaceUnreadyNode(capacity, name, template);
    let undecided = 0;
    for (const zone of upcoming.unregistered) {
      const variant = variantIn(template, zone);
      if (variant === undefined) undecided += 1;
      else addUpcomingNode(capacity, newNodeFrom(variant, upcomingNodeName(capacity, template)), template);
    }
    if (undecided > 0) capacity.undecided.push({ template, left: undecided, decided: 0 });
  }
}

/**
 * Places the pods in their order, where they fit; returns those that found no place. Pods that the time limit leaves out
 * are not among these: they wait for the next loop.
 */
export function placeOnCapacity(capacity: ExistingCapacity, pods: readonly Pod[]): SlicedWork<readonly Pod[]> {
  return placeWhere(findNodeFor, capacity, pods);
}

/** The same, on present nodes alone, and not on fresh ones. */
export function placeOnFilledNodes(capacity: ExistingCapacity, pods: readonly Pod[]): SlicedWork<readonly Pod[]> {
  const { fresh, isUsable } = capacity;
  return placeWhere(findPresentNode, { ...capacity, isUsable: (node) => isUsable(node) && !fresh.has(node) }, pods);
}

function* placeWhere(findNode: FindNode, capacity: ExistingCapacity, pods: readonly Pod[]): SlicedWork<readonly Pod[]> {
  const { interdependent, verdicts } = capacity;
  const left: Pod[] = [];
  const names = new Map<PodShape, string>();
  /** `name of refused pods that are interchangeable -> pods placed by then`. Another placed pod may admit an interdependent one. */
  const refused = new Map<string, number>();
  let placed = 0;
  let searched = 0;
  /** The shape of the pod that was refused last, until a pod is placed: the pods of a group come one after the other. */
  let refusedNow: PodShape | undefined;
  for (const pod of pods) {
    const { shape } = pod;
    if (shape === refusedNow) {
      left.push(pod);
      continue;
    }
    if (searched++ % PODS_PER_STEP === 0) yield;
    const name = names.get(shape) ?? packingName(shape, interdependent);
    names.set(shape, name);
    const before = refused.get(name);
    const hopeless = before !== undefined && (before === placed || !interdependent.has(shape.key));
    if (!hopeless && !capacity.tries.startSearch()) {
      verdicts.set(pod, { kind: 'waiting', detail: TIME_IS_UP, leftOut: 'search' });
      continue;
    }
    const node = hopeless ? undefined : findNode(capacity, pod);
    if (node === undefined) {
      if (!hopeless) refused.set(name, placed);
      refusedNow = shape;
      left.push(pod);
      continue;
    }
    capacity.snapshot.addPod(pod, node);
    placed += 1;
    refusedNow = undefined;
    verdicts.set(pod, placedVerdict(capacity, node));
  }
  return left;
}

export function placedVerdict({ upcoming, planned, joined }: ExistingCapacity, node: NodeName): PodVerdict {
  const coming = upcoming.get(node);
  if (coming !== undefined) return { kind: 'fits-upcoming-node', group: coming, ...(joined.has(node) ? { node } : {}) };
  const requested = planned.get(node);
  return requested === undefined ? { kind: 'fits-present-node', node } : { kind: 'triggered', group: requested };
}

function findNodeFor(capacity: ExistingCapacity, pod: Pod): NodeName | undefined {
  const { snapshot, upcoming, planned } = capacity;
  const present = findPresentNode(capacity, pod);
  // An upcoming node already has the pods of its DaemonSets.
  if (present !== undefined || pod.daemonSet) return present;
  return (
    (upcoming.size > 0 ? snapshot.findNode(pod, (node) => upcoming.has(node)) : undefined) ??
    placeInUndecidedZone(capacity, pod) ??
    (planned.size > 0 ? snapshot.findNode(pod, (node) => planned.has(node)) : undefined)
  );
}

function findPresentNode({ snapshot, upcoming, isUsable }: ExistingCapacity, pod: Pod): NodeName | undefined {
  return snapshot.findNode(pod, (node) => !upcoming.has(node) && isUsable(node));
}

/**
 * Decides the zone of one more upcoming node of `group`, or of any group, so that the pod fits there; returns that node. Zones take turns,
 * as they do for new nodes.
 */
export function placeInUndecidedZone(capacity: ExistingCapacity, pod: Pod, group?: NodeGroupId): NodeName | undefined {
  for (const pool of capacity.undecided) {
    if (pool.left === 0 || (group !== undefined && pool.template.group.id !== group)) continue;
    const variants = pool.template.variants.filter((variant) => fitsStatically(pod.shape, variant));
    for (const variant of rotate(variants, pool.decided)) {
      const node = newNodeFrom(variant, upcomingNodeName(capacity, pool.template));
      const tryNode = (): boolean => {
        addUpcomingNode(capacity, node, pool.template);
        return capacity.snapshot.check(pod, node.name).length === 0;
      };
      if (tryInFork(capacity.snapshot, tryNode, Boolean)) {
        pool.left -= 1;
        pool.decided += 1;
        return node.name;
      }
      capacity.upcoming.delete(node.name);
    }
  }
  return undefined;
}

/** A node that has joined but is not ready yet counts as the ready node that it becomes, with the pods that it has. */
function replaceUnreadyNode(capacity: ExistingCapacity, name: NodeName, template: GroupTemplate): void {
  const present = capacity.snapshot.get(name);
  const variant = variantIn(template, present?.node.labels['topology.kubernetes.io/zone']) ?? template.variants[0];
  if (present === undefined || variant === undefined) return;
  capacity.snapshot.removeNode(name);
  const hasStatic = template.template.staticPods.length > 0;
  const pods = [...present.pods.filter((pod) => !pod.daemonSet && !(hasStatic && pod.mirror)), ...template.daemonPods];
  capacity.snapshot.addNode({ ...newNodeFrom(variant, name), labels: { ...variant.labels, ...present.node.labels } }, pods);
  capacity.upcoming.set(name, template.group.id);
}

function addUpcomingNode(capacity: ExistingCapacity, node: Node, template: GroupTemplate): void {
  capacity.snapshot.addNode(node, template.daemonPods);
  capacity.upcoming.set(node.name, template.group.id);
}

function upcomingNodeName(capacity: ExistingCapacity, template: GroupTemplate): NodeName {
  return simulatedNodeName(`upcoming-${template.group.id}-${capacity.upcoming.size}`);
}

/** Undefined if the group has several zones and the node's zone is unknown. */
function variantIn(template: GroupTemplate, zone: string | undefined): Node | undefined {
  if (template.variants.length === 1) return template.variants[0];
  const at = zone === undefined ? -1 : template.template.zones.findIndex((other) => zonePart(other) === zonePart(zone));
  return template.variants[at];
}
