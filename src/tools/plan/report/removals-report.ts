/** The report on removals: the nodes to remove, and for every other node why it is unremovable, since when, until when, and its cost. */
import { podName } from '../../../domain/ids.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Removal, ScaleDownPlan } from '../../../domain/plan.ts';
import type { WasteRow } from '../../../planning/explain/removal-advice/waste.ts';
import type { RemovalFix } from '../../../planning/explain/advice/fix.ts';
import { explainNodes, type ExplainedNode } from '../../../planning/explain/unremovable-nodes.ts';
import type { PriceSources } from '../../../domain/policy.ts';
import { savedByRemovals } from '../../../planning/expanders/node-price.ts';
import { compareBy } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';

export interface RemovalsReport {
  readonly removals: readonly {
    readonly node: string;
    readonly group: string;
    readonly kind: 'empty' | 'drain';
    readonly pods: readonly string[];
    readonly cause: Removal['cause'];
    /** The condition that makes it sick. Absent unless that is the cause. */
    readonly condition?: string;
    /** Its instance is reimaged, and it comes back. Absent unless that is so. */
    readonly reimages?: true;
    /** The share of allocatable that is requested; 1 is full. */
    readonly utilization: number;
    /** What its removal saves, in the currency of the prices. Absent if the price is unknown, and of a node that comes back. */
    readonly perHour?: number;
  }[];
  readonly unremovable: readonly { readonly node: string; readonly reason: string; readonly detail: string }[];
}

/** Details beside the plain lists. Times are ISO; unknown values are absent. */
export interface RemovalsExplained {
  readonly nodes: readonly {
    readonly node: string;
    readonly group?: string;
    readonly verdict: 'goes' | 'stays';
    readonly reason?: string;
    readonly detail?: string;
    readonly blocker?: { readonly pod: string; readonly reason: string; readonly detail: string };
    /** Since when the node is unneeded. */
    readonly unneededSince?: string;
    /** The next check. If absent, every loop checks the node. */
    readonly looksAgainAt?: string;
    /** The share of allocatable that is requested; 1 is full. */
    readonly utilization?: number;
  }[];
  readonly totals: readonly {
    readonly reason: string;
    readonly blockedBy?: string;
    readonly nodes: number;
    readonly cores: number;
    readonly memoryGib: number;
    readonly perHour?: number;
    /** The part of it for capacity that no pod requests, of the nodes with a price: the metric of wasted cost. */
    readonly wastedPerHour?: number;
    readonly examples: readonly string[];
    /** Of the fixes that were tried, the one that frees most nodes. Absent if none works, or time alone removes the nodes. */
    readonly fix?: RemovalFix;
  }[];
}

/** Sorted by node name. */
export function reportRemovals(plan: ScaleDownPlan, observation: Observation, prices: PriceSources): RemovalsReport {
  const groups = new Map(observation.cloud.groups.map((group) => [group.id, group]));
  const pricedGroups = plan.removals.map(({ group }) => groups.get(group) ?? { vmSize: '', priority: 'Regular' as const });
  const saved = savedByRemovals(pricedGroups, prices, observation);
  const removals = plan.removals.map(({ node, group, pods, cause, condition, reimages, utilization }, at) => ({
    node,
    group,
    kind: pods.length === 0 ? ('empty' as const) : ('drain' as const),
    pods: pods.map(podName).sort(),
    cause,
    utilization: rounded(utilization) ?? 0,
    ...defined({ condition, reimages, perHour: reimages === true ? undefined : rounded(saved[at]) }),
  }));
  const unremovable = explainNodes(plan, observation).flatMap((node) =>
    node.reason === undefined ? [] : [{ ...node, reason: node.reason }],
  );
  return {
    removals: removals.sort(compareBy((item) => item.node)),
    unremovable: unremovable.map((node) => ({ node: node.node, reason: node.reason, detail: detailOf(node) })),
  };
}

/** Nodes by name; totals by cores, largest first. */
export function explainRemovals(plan: ScaleDownPlan, observation: Observation, totals: readonly WasteRow[]): RemovalsExplained {
  return {
    nodes: explainNodes(plan, observation).map(({ node, group, verdict, reason, detail, blocker, utilization, ...times }) => ({
      node,
      verdict,
      ...defined({ group, reason, detail, blocker, unneededSince: isoOf(times.unneededSinceMs), looksAgainAt: isoOf(times.recheckAtMs) }),
      ...defined({ utilization: rounded(utilization) }),
    })),
    totals: totals.map(({ blockedBy, perHour, wastedPerHour, cores, memoryGib, ...total }) => ({
      ...total,
      cores: rounded(cores) ?? 0,
      memoryGib: rounded(memoryGib) ?? 0,
      ...defined({ blockedBy, perHour: rounded(perHour), wastedPerHour: rounded(wastedPerHour) }),
    })),
  };
}

function detailOf({ detail, blocker, utilization }: ExplainedNode): string {
  if (blocker !== undefined) {
    const sentence = `${blocker.pod}: ${blocker.reason}${blocker.detail === '' ? '' : ` (${blocker.detail})`}`;
    return detail === undefined ? sentence : `${detail}: ${sentence}`;
  }
  return detail ?? (utilization === undefined ? '' : `utilization ${Math.round(utilization * 1000) / 10} %`);
}

/** Times before the epoch stand for an unknown history (see assumed-history.ts) and are left out. */
function isoOf(ms: number | undefined): string | undefined {
  return ms === undefined || ms < 0 ? undefined : new Date(ms).toISOString();
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 10_000) / 10_000;
}
