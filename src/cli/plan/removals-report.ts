/** What a plan says of removals: which nodes go, and of every node why it stays, since when, until when, and what that costs. */
import { podName } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import { explainNodes, totalsByBlocker, type ExplainedNode } from '../../planning/explain/unremovable-nodes.ts';
import type { PriceSources } from '../../domain/policy.ts';
import { compareBy } from '../../lib/comparison.ts';

export interface RemovalsAnswer {
  readonly removals: readonly {
    readonly node: string;
    readonly group: string;
    readonly kind: 'empty' | 'drain';
    readonly pods: readonly string[];
  }[];
  readonly unremovable: readonly { readonly node: string; readonly reason: string; readonly detail: string }[];
}

/** Beside the plain lists, for who wants to know more. Times are ISO; what is not known is absent. */
export interface RemovalsExplained {
  readonly nodes: readonly {
    readonly node: string;
    readonly group?: string;
    readonly verdict: 'goes' | 'stays';
    readonly reason?: string;
    readonly detail?: string;
    readonly blocker?: { readonly pod: string; readonly reason: string; readonly detail: string };
    /** Since when it could go. */
    readonly unneededSince?: string;
    /** When it is looked at again. Absent: in every loop. */
    readonly looksAgainAt?: string;
    /** 1 is full. */
    readonly utilization?: number;
  }[];
  readonly totals: readonly {
    readonly reason: string;
    readonly blockedBy?: string;
    readonly nodes: number;
    readonly cores: number;
    readonly memoryGib: number;
    readonly perHour?: number;
    readonly examples: readonly string[];
  }[];
}

/** Sorted by the node's name. */
export function removalsAnswer(plan: ScaleDownPlan, observation: Observation): RemovalsAnswer {
  const removals = plan.removals.map(({ node, group, pods }) => ({
    node,
    group,
    kind: pods.length === 0 ? ('empty' as const) : ('drain' as const),
    pods: pods.map(podName).sort(),
  }));
  const staying = explainNodes(plan, observation).flatMap((node) => (node.reason === undefined ? [] : [{ ...node, reason: node.reason }]));
  return {
    removals: removals.sort(compareBy((item) => item.node)),
    unremovable: staying.map((node) => ({ node: node.node, reason: node.reason, detail: detailOf(node) })),
  };
}

/** Nodes by name, totals by the cores that they hold, the most first. */
export function explainRemovals(plan: ScaleDownPlan, observation: Observation, prices: PriceSources): RemovalsExplained {
  return {
    nodes: explainNodes(plan, observation).map(({ node, group, verdict, reason, detail, blocker, utilization, ...times }) => ({
      node,
      verdict,
      ...present({ group, reason, detail, blocker, unneededSince: isoOf(times.unneededSinceMs), looksAgainAt: isoOf(times.recheckAtMs) }),
      ...present({ utilization: rounded(utilization) }),
    })),
    totals: totalsByBlocker(plan, observation, prices).map(({ blockedBy, perHour, cores, memoryGib, ...total }) => ({
      ...total,
      cores: rounded(cores) ?? 0,
      memoryGib: rounded(memoryGib) ?? 0,
      ...present({ blockedBy, perHour: rounded(perHour) }),
    })),
  };
}

function detailOf({ detail, blocker, utilization }: ExplainedNode): string {
  if (blocker !== undefined) {
    const said = `${blocker.pod}: ${blocker.reason}${blocker.detail === '' ? '' : ` (${blocker.detail})`}`;
    return detail === undefined ? said : `${detail}: ${said}`;
  }
  return detail ?? (utilization === undefined ? '' : `${Math.round(utilization * 1000) / 10} % in use`);
}

/** What began before the epoch began before anything that is known: a look has no history. */
function isoOf(ms: number | undefined): string | undefined {
  return ms === undefined || ms < 0 ? undefined : new Date(ms).toISOString();
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 10_000) / 10_000;
}

/** Without the keys whose value is not known. */
function present<Given extends object>(given: Given): { readonly [Key in keyof Given]?: Exclude<Given[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    readonly [Key in keyof Given]?: Exclude<Given[Key], undefined>;
  };
}
