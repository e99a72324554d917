/**
 * A scale-down plan in words and sums. For every node: removed or unremovable, why, since when and when it is checked next. For
 * every kind of blocker: the cores, GiB and money that it holds back. Pure; must not know how a plan is made.
 */
import { compareText } from '../../lib/comparison.ts';
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Blocker, UnremovableNode, Removal, ScaleDownPlan } from '../../domain/plan.ts';
import type { BlockingPodReason, UnremovableReason } from '../../domain/reasons.ts';
import { CPU, MEMORY } from '../../domain/resources.ts';
import { priceOf } from '../expanders/node-price.ts';
import { nodeListFacts } from '../facts/node-list-facts.ts';
import { unusedCapacity } from './unused-capacity.ts';
import { NO_PRICES, type PriceSources } from '../../domain/policy.ts';
import { formatDuration } from '../../lib/duration.ts';
import { formatPercent } from './amounts.ts';

const GIB = 2 ** 30;
/** Nodes that a total names: a table has no space for more. */
const EXAMPLES = 3;

/** Why a node is not removed. `Inhibited`: the node could be removed, but this loop removes nothing. */
type UnremovableOrInhibited = UnremovableReason | 'Inhibited';

export interface ExplainedNode {
  readonly node: NodeName;
  /** undefined: the node belongs to no managed group. */
  readonly group: NodeGroupId | undefined;
  readonly verdict: 'goes' | 'stays';
  /** undefined for a node that is removed. */
  readonly reason: UnremovableOrInhibited | undefined;
  readonly blocker: Blocker | undefined;
  /** What the reason alone does not say. */
  readonly detail: string | undefined;
  /** Since when the node is unneeded, milliseconds since the epoch. undefined: it is needed. */
  readonly unneededSinceMs: number | undefined;
  /** When the node is checked next, milliseconds since the epoch. undefined: in every loop. */
  readonly recheckAtMs: number | undefined;
  /** 1 is full. undefined: not computed. */
  readonly utilization: number | undefined;
  /** One sentence, without the node's name. */
  readonly sentence: string;
}

/** The sum over the nodes of one kind of blocker. Nodes of unmanaged groups do not count. */
export interface BlockerTotal {
  readonly reason: UnremovableOrInhibited;
  /** The reason of the blocking pods, if pods block. */
  readonly blockedBy: BlockingPodReason | undefined;
  readonly nodes: number;
  readonly cores: number;
  readonly memoryGib: number;
  /** In the currency of the price table. undefined unless every node has a price. */
  readonly perHour: number | undefined;
  /** What of that is for capacity that no pod requests, of the nodes with a price. undefined if none has one. The metric of wasted cost. */
  readonly wastedPerHour: number | undefined;
  /** The first few nodes by name. */
  readonly examples: readonly NodeName[];
}

/** Every node of the observation, by name. */
export function explainNodes(plan: ScaleDownPlan, observation: Observation): readonly ExplainedNode[] {
  const removals = new Map(plan.removals.map((removal) => [removal.node, removal]));
  const kept = new Map(plan.kept.map((entry) => [entry.node, entry]));
  return [...observation.cluster.nodes.keys()].sort(compareText).map((node) => {
    const removal = removals.get(node);
    const entry = kept.get(node);
    const reason = removal === undefined ? (entry?.reason ?? 'Inhibited') : undefined;
    return {
      node,
      group: observation.cloud.groupOfNode.get(node),
      verdict: removal === undefined ? 'stays' : 'goes',
      reason,
      blocker: entry?.blocker,
      detail: removal === undefined && entry === undefined ? plan.inhibited : explainDetail(entry),
      unneededSinceMs: plan.unneeded.get(node),
      recheckAtMs: entry?.recheckAtMs,
      utilization: removal?.utilization ?? entry?.utilization,
      sentence: removal === undefined ? describeUnremovable(entry, plan, observation.nowMs) : describeRemoval(removal, observation.nowMs),
    };
  });
}

/** The kinds of blockers; the one with the most cores comes first. A check that is remembered counts under its own reason. */
export function totalsByBlocker(plan: ScaleDownPlan, observation: Observation, prices: PriceSources = NO_PRICES): readonly BlockerTotal[] {
  const { podsByNode } = observation.cluster;
  const kept = new Map(plan.kept.map((entry) => [entry.node, entry]));
  const totals = new Map<string, Sum>();
  const priceOfGroup = new Map(observation.cloud.groups.map((group) => [group.id, priceOf(prices, group)]));
  // Without the sentences of `explainNodes`: this is done in each loop.
  for (const { node, group } of managedNodes(plan, observation)) {
    const { reason: found = 'Inhibited', cause: reason = found, blocker } = kept.get(node.name) ?? NOT_KEPT;
    const key = `${reason} ${blocker?.reason ?? ''}`;
    const total = totals.get(key) ?? emptyTotal(reason, blocker);
    totals.set(key, total);
    addNode(total, node, { price: priceOfGroup.get(group), share: unusedCapacity(node, podsByNode.get(node.name)).share });
  }
  return [...totals.values()].sort(
    (left, right) =>
      right.cores - left.cores || compareText(left.reason, right.reason) || compareText(left.blockedBy ?? '', right.blockedBy ?? ''),
  );
}

const NOT_KEPT: Partial<UnremovableNode> = {};

interface ManagedNode {
  readonly node: Node;
  readonly group: NodeGroupId;
}

/** Those that are not removed, by name. */
function* managedNodes({ removals }: ScaleDownPlan, { cluster, cloud }: Observation): Generator<ManagedNode> {
  const groups = new Set(cloud.groups.map(({ id }) => id));
  const removed = new Set(removals.map(({ node }) => node));
  for (const name of nodeListFacts(cluster.nodes).names) {
    const node = cluster.nodes.get(name);
    const group = cloud.groupOfNode.get(name);
    if (node !== undefined && group !== undefined && groups.has(group) && !removed.has(name)) yield { node, group };
  }
}

type Sum = { -readonly [Key in keyof BlockerTotal]: BlockerTotal[Key] };

function emptyTotal(reason: UnremovableOrInhibited, blocker: Blocker | undefined): Sum {
  return { reason, blockedBy: blocker?.reason, nodes: 0, cores: 0, memoryGib: 0, perHour: 0, wastedPerHour: undefined, examples: [] };
}

interface NodeCost {
  readonly price: number | undefined;
  /** Of the node that no pod requests. */
  readonly share: number;
}

function addNode(total: Sum, node: Node, { price, share }: NodeCost): void {
  total.nodes += 1;
  total.cores += (node.capacity[CPU] ?? 0) / 1000;
  total.memoryGib += (node.capacity[MEMORY] ?? 0) / GIB;
  total.perHour = total.perHour === undefined || price === undefined ? undefined : total.perHour + price;
  if (price !== undefined) total.wastedPerHour = (total.wastedPerHour ?? 0) + price * share;
  if (total.examples.length < EXAMPLES) total.examples = [...total.examples, node.name];
}

type Removed = Pick<Removal, 'cause' | 'reimages' | 'utilization'> & { readonly condition?: string | undefined };

/** `empty`, `requested 21 %`, `sick, XIDErrors=True, reimaged`. */
export function describeRemovalCause({ cause, condition, reimages, utilization }: Removed): string {
  switch (cause) {
    case 'empty':
      return 'empty';
    case 'unready':
      return 'not ready';
    case 'underutilized':
      return `requested ${Math.round(utilization * 100)} %`;
    case 'repacked':
      return 'part of a repack';
    case 'sick':
      return `${condition === undefined ? 'sick' : `sick, ${condition}`}${reimages === true ? ', reimaged' : ''}`;
  }
}

function describeRemoval(removal: Removal, nowMs: number): string {
  const pods = removal.pods.length === 0 ? '' : `, ${removal.pods.length} pods must move`;
  const isUnneeded = removal.cause !== 'sick' && removal.cause !== 'repacked';
  const since = isUnneeded ? `, unneeded for ${formatDuration(nowMs - removal.unneededSinceMs)}` : '';
  const head = removal.reimages === true ? 'to be reimaged' : 'to be removed';
  return `${head}: ${describeRemovalCause({ ...removal, reimages: undefined })}${since}${pods}`;
}

function describeUnremovable(entry: UnremovableNode | undefined, plan: ScaleDownPlan, nowMs: number): string {
  if (entry === undefined) return `not removed: ${plan.inhibited ?? 'not evaluated'}`;
  const { blocker, recheckAtMs, utilization } = entry;
  const parts = [`unremovable: ${entry.reason}`];
  const detail = explainDetail(entry);
  if (detail !== undefined) parts.push(detail);
  if (blocker !== undefined) parts.push(`pod ${blocker.pod}: ${blocker.reason} (${blocker.detail})`);
  if (utilization !== undefined && entry.threshold === undefined) parts.push(`utilization ${Math.round(utilization * 100)} %`);
  const sinceMs = plan.unneeded.get(entry.node);
  if (sinceMs !== undefined) parts.push(`unneeded for ${formatDuration(nowMs - sinceMs)}`);
  if (recheckAtMs !== undefined) parts.push(`next check in ${formatDuration(recheckAtMs - nowMs)}`);
  return parts.join(', ');
}

/** The meaning of a reason, if the plan adds no detail. */
const MEANING: Partial<Record<UnremovableReason, string>> = {
  CurrentlyBeingDeleted: 'its removal is in progress',
  NotAutoscaled: 'it belongs to no managed node group',
  InstanceUnknown: 'no instance of its group is known for this node',
  ScaleDownDisabledAnnotation: 'cluster-autoscaler.kubernetes.io/scale-down-disabled: "true"',
  ScaleDownUnreadyDisabled: 'it is not ready, and scaleDown.unreadyEnabled is false',
  GroupUnconfirmed: 'its node group is unknown',
};

/** What the reason alone does not say, without the blocking pod. undefined: nothing. */
export function explainDetail(entry: UnremovableNode | undefined): string | undefined {
  if (entry === undefined) return undefined;
  const { reason, detail, utilization, threshold } = entry;
  if (detail !== undefined || utilization === undefined || threshold === undefined) return detail ?? MEANING[reason];
  return `utilization ${formatPercent(utilization)}, above the threshold of ${formatPercent(threshold)}`;
}
