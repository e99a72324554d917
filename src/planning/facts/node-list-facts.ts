/**
 * Facts of the nodes of a view, found once: the view keeps its map while no node changed. Most nodes of a large cluster are ready and stay, so
 * what is about the others costs what these cost. The room has facts of lists that several parts of planning read. Must not know what follows
 * from a fact.
 */
import { arePublished } from '../../domain/devices.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { NodeName } from '../../domain/ids.ts';
import { isQuarantined, type Node } from '../../domain/node.ts';
import { CORDONED_BEFORE_TAINT, TO_BE_DELETED_TAINT } from '../../domain/taints.ts';
import { compareText } from '../../lib/comparison.ts';

type Nodes = ClusterView['nodes'];

/** The lists are in the order of the view. */
interface NodeListSummary {
  /** Sorted. */
  readonly names: readonly NodeName[];
  readonly unready: readonly Node[];
  /** With any taint. */
  readonly tainted: readonly Node[];
  /** With the deletion taint, or the one that is written before it. */
  readonly deletionTainted: readonly Node[];
  /** Announced to be taken back by Azure, at whatever time. */
  readonly preempted: readonly Node[];
  /** Being deleted, or one of the two above. All other nodes stay, as far as the cluster shows. */
  readonly departing: readonly Node[];
  readonly suspended: readonly Node[];
  /** For which drivers publish devices. */
  readonly withDevices: readonly Node[];
  /** Not ready, or cordoned. */
  readonly closed: readonly Node[];
  /** With a condition that rules about sick nodes name. */
  readonly withConditions: readonly Node[];
  /** Left aside by AKS at an upgrade. */
  readonly quarantined: readonly Node[];
}

const known = new WeakMap<Nodes, NodeListSummary>();

export function nodeListFacts(nodes: Nodes): NodeListSummary {
  const found = known.get(nodes) ?? findFacts(nodes);
  known.set(nodes, found);
  return found;
}

type Lists = { [List in Exclude<keyof NodeListSummary, 'names'>]: Node[] };

/** In one walk: in a large cluster that changes, this is asked of thousands of nodes in every loop. */
function findFacts(nodes: Nodes): NodeListSummary {
  const lists: Lists = {
    unready: [],
    tainted: [],
    deletionTainted: [],
    preempted: [],
    departing: [],
    suspended: [],
    withDevices: [],
    closed: [],
    withConditions: [],
    quarantined: [],
  };
  for (const node of nodes.values()) add(node, lists);
  return { names: [...nodes.keys()].sort(compareText), ...lists };
}

function add(node: Node, lists: Lists): void {
  const isLeaving = hasDeletionTaint(node);
  if (node.taints.length > 0) lists.tainted.push(node);
  if (isLeaving) lists.deletionTainted.push(node);
  if (node.preemption !== undefined) lists.preempted.push(node);
  if (isLeaving || node.preemption !== undefined || node.deletionAtMs !== undefined) lists.departing.push(node);
  if (node.conditions.length > 0) lists.withConditions.push(node);
  if (arePublished(node.devices)) lists.withDevices.push(node);
  addUnusual(node, lists);
}

function addUnusual(node: Node, lists: Lists): void {
  if (!node.readiness.ready) lists.unready.push(node);
  if (!node.readiness.ready || node.unschedulable) lists.closed.push(node);
  if (node.suspended) lists.suspended.push(node);
  if (isQuarantined(node)) lists.quarantined.push(node);
}

function hasDeletionTaint({ taints }: Node): boolean {
  return taints.some(({ key }) => key === TO_BE_DELETED_TAINT || key === CORDONED_BEFORE_TAINT);
}
