/**
 * The JSON documents under /debug: one loop with its input, decisions and state, and the agents. Contains chosen fields only:
 * no labels, annotations or addresses of pods and nodes. Texts from outside are cleared of credentials. Pure.
 */
import { blockTexts } from '../domain/group-blocks.ts';
import { withoutCredentials } from '../api/documents/redacted.ts';
import type { AgentStatus } from '../cache/agents/agent-state.ts';
import { nodeGroupId, podName } from '../domain/ids.ts';
import type { LoopReport } from '../domain/loop-report.ts';
import type { BrokenPromise } from '../domain/loop-state.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { Observation } from '../domain/observation.ts';
import type { Pod } from '../domain/pod.ts';
import type { TemplateReport } from '../azure/templates/template-report.ts';
import { defined } from '../lib/defined.ts';
import { describeDifference } from '../planning/explain/template-differences.ts';
import { explainNodes, totalsByBlocker } from '../planning/explain/unremovable-nodes.ts';
import { inFlightByGroup } from '../planning/state/increases/increase-records.ts';
import { isoTime } from '../lib/duration.ts';

/** A longer list is cut, and the rest is counted. */
const MOST_ROWS = 5_000;

export function snapshotOf(report: LoopReport): object {
  const { observation, rounds, scaleDown, state, failures, prices } = report;
  return withoutCredentials({
    loop: {
      id: report.loopId,
      trigger: report.trigger,
      startedAt: isoTime(report.startedAtMs),
      durationMs: report.durationMs,
      outcome: report.outcome,
      failures: failures.map(({ step, error }) => ({ step, kind: error.kind, message: error.message })),
    },
    observation: observation === undefined ? null : observationDocument(observation),
    scaleUp: rounds.map(({ plan, increases }) => ({
      summary: plan.summary,
      notes: plan.notes.map(({ text }) => text),
      options: plan.options.map(({ cost, ...option }) => ({ ...option, perHour: cost?.perHour })),
      skipped: plan.skipped,
      pods: capped([...plan.verdicts].map(([pod, verdict]) => ({ pod: podName(pod), verdict }))),
      increases: increases.map(({ increase, outcome }) => ({
        group: increase.group,
        from: increase.from,
        to: increase.to,
        cause: increase.cause,
        pods: increase.pods.length,
        outcome: outcome.kind,
        ...(outcome.kind === 'refused' ? { reason: outcome.reason } : {}),
        ...(outcome.kind === 'failed' ? { kind: outcome.error.kind, message: outcome.error.message } : {}),
      })),
    })),
    scaleDown:
      scaleDown === undefined || observation === undefined
        ? null
        : {
            summary: scaleDown.summary,
            inhibited: scaleDown.inhibited,
            nodes: capped(explainNodes(scaleDown, observation)),
            totals: totalsByBlocker(scaleDown, observation, prices),
          },
    state: {
      backoffs: Object.fromEntries([...state.backoffs].map(([group, { untilMs, cause }]) => [group, { until: isoTime(untilMs), cause }])),
      stockouts: state.stockouts.map(({ scope, code, untilMs }) => ({ ...scope, code, until: isoTime(untilMs) })),
      increases: [...inFlightByGroup(state).values()],
      deleting: [...state.deleting].map(([node, { group, sinceMs }]) => ({ node, group, since: isoTime(sinceMs) })),
    },
  });
}

/**
 * The templates as the cloud has them, each with what a real node disproved of it. `inForce`: plans use the corrected template. Otherwise
 * one node is requested to try the template again.
 */
export function templatesOf(
  templates: readonly TemplateReport[],
  report: Pick<LoopReport, 'state' | 'observation'> | undefined,
): readonly object[] {
  return templates.map((template) => {
    const id = nodeGroupId(template.group);
    const used = report?.observation?.cloud.groups.find((group) => group.id === id)?.template?.corrected;
    const correction = describeCorrection(report?.state.broken.get(id), used !== undefined);
    const zoneCorrection = describeCorrection(report?.state.brokenZones.get(id), used?.zones !== undefined);
    return { ...template, ...defined({ correction, zoneCorrection }) };
  });
}

function describeCorrection(promise: BrokenPromise | undefined, inForce: boolean): object | undefined {
  if (promise === undefined) return undefined;
  const { difference, nodes, sinceMs, untilMs } = promise;
  const { node, ...parts } = difference;
  return {
    text: describeDifference(difference),
    from: { node, alsoShownBy: nodes.filter((name) => name !== node) },
    since: isoTime(sinceMs),
    until: isoTime(untilMs),
    inForce,
    ...parts,
  };
}

function observationDocument({ cluster, cloud, nowMs }: Observation): object {
  return {
    at: isoTime(nowMs),
    stalenessMs: cluster.stalenessMs,
    counts: {
      nodes: cluster.nodes.size,
      pods: [...cluster.podsByNode.values()].reduce((sum, pods) => sum + pods.length, 0),
      pendingPods: cluster.pendingPods.length,
      disruptionBudgets: cluster.disruptionBudgets.length,
    },
    pendingPods: capped(cluster.pendingPods.map(pendingPodDocument)),
    groups: cloud.groups.map(groupDocument),
    scaleUpBlocked: cloud.scaleUpBlocked,
    scaleDownBlocked: cloud.scaleDownBlocked,
    quotas: cloud.quotas,
  };
}

function pendingPodDocument(pod: Pod): object {
  return { pod: podName(pod), unschedulableSince: pod.unschedulable === undefined ? undefined : isoTime(pod.unschedulable.sinceMs) };
}

const GROUP_FIELDS = [
  'id',
  'kind',
  'minSize',
  'maxSize',
  'target',
  'vmSize',
  'priority',
  'zones',
] as const satisfies readonly (keyof NodeGroup)[];

function groupDocument(group: NodeGroup): object {
  const fields = Object.fromEntries(GROUP_FIELDS.map((field) => [field, group[field]]));
  const { deletionsWait: _left, ...blocks } = blockTexts(group.blocks);
  const instances: Record<string, number> = {};
  for (const { state } of group.instances ?? []) instances[state] = (instances[state] ?? 0) + 1;
  return { ...fields, ...blocks, instances, template: group.template?.source };
}

function capped(rows: readonly unknown[]): readonly unknown[] {
  return rows.length <= MOST_ROWS ? rows : [...rows.slice(0, MOST_ROWS), `and ${rows.length - MOST_ROWS} more`];
}

type AgentTimes = Pick<AgentStatus, 'lastStartMs' | 'lastSuccessMs' | 'lastRestMs' | 'nextDueMs'> & { readonly id: string };

/** The agents, with each time in milliseconds for programs and as ISO text for people. */
export function agentReport(agents: readonly AgentTimes[]): readonly object[] {
  return agents.map(({ lastStartMs, lastSuccessMs, lastRestMs, nextDueMs, ...rest }) => ({
    ...rest,
    lastStart: roundedTime(lastStartMs),
    lastStartMs: wholeMs(lastStartMs),
    lastSuccess: roundedTime(lastSuccessMs),
    lastSuccessMs: wholeMs(lastSuccessMs),
    lastRest: roundedTime(lastRestMs),
    lastRestMs: wholeMs(lastRestMs),
    nextDue: roundedTime(nextDueMs),
    nextDueMs: wholeMs(nextDueMs),
  }));
}

/** undefined: the agent has never run, or is never due. */
function wholeMs(ms: number | undefined): number | undefined {
  return ms === undefined || !Number.isFinite(ms) ? undefined : Math.round(ms);
}

function roundedTime(ms: number | undefined): string | undefined {
  const rounded = wholeMs(ms);
  return rounded === undefined ? undefined : new Date(rounded).toISOString();
}
