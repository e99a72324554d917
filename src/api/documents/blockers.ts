/** Nodes that are not removed, by what blocks them, with the cores, GiB and money that each blocker holds; and the nodes themselves. */
import type { BlockingPodReason } from '../../domain/reasons.ts';
import { defined } from '../../lib/defined.ts';
import { priceOf } from '../../planning/expanders/node-price.ts';
import type { RemovalFix } from '../../planning/explain/advice/fix.ts';
import type { FixStep } from '../../planning/explain/changes/change.ts';
import { rowKey } from '../../planning/explain/removal-advice/waste.ts';
import { type ExplainedNode, explainNodes, totalsByBlocker } from '../../planning/explain/unremovable-nodes.ts';
import { type DocumentInput, knownTime, roundMoney, sum } from './document-input.ts';

type NodeReason = NonNullable<ExplainedNode['reason']>;

/** In words for people, and in few. */
const TITLES: Readonly<Record<NodeReason, string>> = {
  ScaleDownDisabledAnnotation: 'Scale-down is disabled on the node',
  ScaleDownUnreadyDisabled: 'Not ready, and such nodes are not removed',
  NotAutoscaled: 'In no managed pool',
  NotUnneededLongEnough: 'Not unneeded for long enough',
  NotUnreadyLongEnough: 'Not unready for long enough',
  NodeGroupMinSizeReached: 'Pool is at its minimum',
  AtomicScaleDownFailed: 'Its pool is removed as a whole or not at all',
  MinimalResourceLimitExceeded: 'The cluster is at its minimum of cores or memory',
  CurrentlyBeingDeleted: 'Being removed',
  NotUnderutilized: 'In use',
  RecentlyUnremovable: 'Unremovable at its last check',
  NoPlaceToMovePods: 'Its pods fit nowhere else',
  RoomKeptFree: 'Its room is kept free for pods to come',
  BlockedByPod: 'A pod blocks it',
  BlockedByOnCompletionPod: 'A pod runs to its end first',
  GroupFrozen: 'Its pool is frozen',
  GroupCoolingDown: 'Its pool cools down',
  PodsBlockedByMaximum: 'Pods wait for its pool',
  ZoneDown: 'Another zone is down',
  GroupUnconfirmed: 'Its pool is unknown',
  InstanceUnknown: 'Its instance is unknown',
  InstanceProtected: 'Its instance is protected',
  CapacityReserved: 'A capacity reservation pays it anyway',
  RemovalBudgetSpent: 'The limit of removals is reached',
  RepackInProgress: 'Pods move to it or from it, or did lately',
  UnexpectedError: 'A check failed',
  Inhibited: 'This loop removes nothing',
};

const POD_TITLES: Readonly<Record<BlockingPodReason, string>> = {
  ControllerNotFound: 'Controller of a pod not found',
  MinReplicasReached: 'Too few replicas of a workload',
  NotReplicated: 'Pod without a controller',
  LocalStorageRequested: 'Pod with local storage',
  NotSafeToEvictAnnotation: 'Pod is annotated as not safe to evict',
  DoNotDisruptAnnotation: 'Pod is annotated as not to be disrupted',
  UnmovableKubeSystemPod: 'Unmovable pod of kube-system',
  GangMinimum: 'Pods that must run together',
  NotEnoughPdb: 'PDB allows no disruption',
  NoPlaceFound: 'A pod fits nowhere else',
  UnexpectedError: 'A check failed',
};

/** Nodes that nothing could save: they are needed, leave already, or are not ours. */
const NOT_WASTE: ReadonlySet<NodeReason> = new Set(['NotUnderutilized', 'RoomKeptFree', 'CurrentlyBeingDeleted', 'NotAutoscaled']);

export interface BlockerRow {
  /** The reason, and the reason of the blocking pods after a comma. */
  readonly id: string;
  readonly title: string;
  readonly reason: string;
  readonly blockedBy?: string;
  readonly nodes: number;
  readonly cores: number;
  readonly memoryGib: number;
  /** Of the nodes, in the currency of the price list. Absent unless each has a price. */
  readonly perHour?: number;
  /** The part of it for capacity that no pod requests, of the nodes with a price: what the metric `wasted_cost_per_hour` has. */
  readonly wastedPerHour?: number;
  readonly examples: readonly string[];
  /** The change that frees most of the nodes. Absent if none was simulated that works. */
  readonly fix?: RemovalFixDocument;
}

/** Only what was simulated and works. */
interface RemovalFixDocument {
  readonly text: string;
  /** What would be removed with it and is not without it. */
  readonly frees: { readonly nodes: number; readonly cores: number; readonly memoryGib: number; readonly perHour?: number };
  readonly steps: readonly FixStep[];
}

export interface WasteDocument {
  readonly rows: readonly BlockerRow[];
  readonly nodes: number;
  readonly cores: number;
  readonly memoryGib: number;
  readonly perHour?: number;
  /** Nodes that are in use, being removed or not managed: with `nodes` they are all nodes of the cluster. */
  readonly otherNodes: number;
  readonly totalNodes: number;
  /** Why this loop removes nothing. Absent if it may. */
  readonly inhibited?: string;
}

/** undefined: removals were not decided. */
export function wasteDocument({ report, policy, wasteFixes }: DocumentInput): WasteDocument | undefined {
  const { observation, scaleDown } = report;
  if (scaleDown === undefined) return undefined;
  const rows = totalsByBlocker(scaleDown, observation, policy.scaleUp)
    .filter(({ reason }) => !NOT_WASTE.has(reason))
    .map(({ reason, blockedBy, nodes, cores, memoryGib, perHour, wastedPerHour, examples }) => ({
      id: blockedBy === undefined ? reason : `${reason},${blockedBy}`,
      title: titleOf(reason, blockedBy),
      reason,
      nodes,
      cores: rounded(cores),
      memoryGib: rounded(memoryGib),
      examples,
      ...defined({
        blockedBy,
        perHour: roundMoney(perHour),
        wastedPerHour: roundMoney(wastedPerHour),
        fix: fixDocument(wasteFixes?.get(rowKey({ reason, blockedBy }))),
      }),
    }))
    .sort((left, right) => (right.perHour ?? 0) - (left.perHour ?? 0) || right.cores - left.cores);
  const nodes = sum(rows.map((row) => row.nodes));
  const isPriced = rows.every(({ perHour }) => perHour !== undefined);
  return {
    rows,
    nodes,
    cores: rounded(sum(rows.map(({ cores }) => cores))),
    memoryGib: rounded(sum(rows.map(({ memoryGib }) => memoryGib))),
    otherNodes: observation.cluster.nodes.size - nodes,
    totalNodes: observation.cluster.nodes.size,
    ...defined({
      perHour: isPriced && rows.length > 0 ? roundMoney(sum(rows.map(({ perHour }) => perHour ?? 0))) : undefined,
      inhibited: scaleDown.inhibited,
    }),
  };
}

function fixDocument(fix: RemovalFix | undefined): RemovalFixDocument | undefined {
  if (fix === undefined) return undefined;
  const { nodes, cores, memoryGib, perHour } = fix.proof;
  const frees = { nodes, cores: rounded(cores), memoryGib: rounded(memoryGib), ...defined({ perHour: roundMoney(perHour) }) };
  return { text: fix.text, frees, steps: fix.steps };
}

function titleOf(reason: NodeReason, blockedBy: BlockingPodReason | undefined): string {
  return blockedBy === undefined ? TITLES[reason] : POD_TITLES[blockedBy];
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

export interface NodeRow {
  readonly name: string;
  readonly pool?: string;
  readonly verdict: 'goes' | 'stays';
  readonly reason?: string;
  readonly title: string;
  /** Complete, with a full stop. */
  readonly sentence: string;
  readonly blocker?: { readonly pod: string; readonly rule: string; readonly detail: string };
  /** The highest share of allocatable that is requested, from 0 to 1. */
  readonly utilization?: number;
  readonly unneededSince?: string;
  readonly nextCheck?: string;
  readonly perHour?: number;
  readonly ready: boolean;
}

/** `reason` is the id of a blocker. */
export interface NodeQuery {
  readonly reason?: string | undefined;
  readonly pool?: string | undefined;
}

/** By name. */
export function nodeRows(input: DocumentInput, { reason, pool }: NodeQuery): readonly NodeRow[] {
  const { observation, scaleDown } = input.report;
  if (scaleDown === undefined) return [];
  return explainNodes(scaleDown, observation)
    .filter((node) => pool === undefined || node.group === pool)
    .filter((node) => reason === undefined || idOf(node) === reason)
    .map((node) => nodeRow(node, input));
}

function idOf({ reason, blocker }: ExplainedNode): string {
  return blocker === undefined ? (reason ?? '') : `${reason ?? ''},${blocker.reason}`;
}

function nodeRow(explained: ExplainedNode, { report: { observation }, policy }: DocumentInput): NodeRow {
  const { node, group, verdict, reason, blocker, utilization, sentence } = explained;
  const pool = observation.cloud.groups.find(({ id }) => id === group);
  return {
    name: node,
    verdict,
    title: reason === undefined ? 'Being removed' : titleOf(reason, blocker?.reason),
    sentence: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`,
    ready: observation.cluster.nodes.get(node)?.readiness.ready ?? false,
    ...defined({
      pool: group,
      reason,
      blocker: blocker === undefined ? undefined : { pod: blocker.pod, rule: blocker.reason, detail: blocker.detail },
      utilization: utilization === undefined ? undefined : Math.round(utilization * 1000) / 1000,
      unneededSince: knownTime(explained.unneededSinceMs),
      nextCheck: knownTime(explained.recheckAtMs),
      perHour: pool === undefined ? undefined : roundMoney(priceOf(policy.scaleUp, pool)),
    }),
  };
}
