/**
 * One loop as a document for a person at a terminal: what it saw, what it decided and why, what it remembers. Made from
 * chosen fields, so that nothing of a pod's or node's content (labels, annotations, addresses) gets in, and texts that came
 * from outside are cleared of what looks like a credential. Pure.
 */
import type { AgentStatus } from '../cache/agents/agent-state.ts';
import { podName } from '../domain/ids.ts';
import type { LoopReport } from '../domain/loop-report.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { Observation } from '../domain/observation.ts';
import type { Pod } from '../domain/pod.ts';
import { explainNodes, totalsByBlocker } from '../planning/explain/unremovable-nodes.ts';

/** Beyond so many of a kind the rest is a number. */
const MOST_ROWS = 5_000;

export function snapshotOf(report: LoopReport): object {
  const { observation, rounds, scaleDown, state, failures, prices } = report;
  return redacted({
    loop: {
      id: report.loopId,
      trigger: report.trigger,
      startedAt: time(report.startedAtMs),
      durationMs: report.durationMs,
      outcome: report.outcome,
      failures: failures.map(({ step, error }) => ({ step, kind: error.kind, message: error.message })),
    },
    observation: observation === undefined ? null : seen(observation),
    scaleUp: rounds.map(({ plan, increases }) => ({
      summary: plan.summary,
      notes: (plan.notes ?? []).map(({ text }) => text),
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
      backoffs: Object.fromEntries([...state.backoffs].map(([group, { untilMs, cause }]) => [group, { until: time(untilMs), cause }])),
      stockouts: state.stockouts.map(({ scope, code, untilMs }) => ({ ...scope, code, until: time(untilMs) })),
      increases: [...state.increases.values()],
      deleting: [...state.deleting].map(([node, { group, sinceMs }]) => ({ node, group, since: time(sinceMs) })),
    },
  }) as object;
}

function seen({ cluster, cloud, nowMs }: Observation): object {
  return {
    at: time(nowMs),
    stalenessMs: cluster.stalenessMs,
    counts: {
      nodes: cluster.nodes.size,
      pods: [...cluster.podsByNode.values()].reduce((sum, pods) => sum + pods.length, 0),
      pendingPods: cluster.pendingPods.length,
      disruptionBudgets: cluster.disruptionBudgets.length,
    },
    pendingPods: capped(cluster.pendingPods.map((pod) => pendingPod(pod))),
    groups: cloud.groups.map(group),
    scaleUpBlocked: cloud.scaleUpBlocked,
    scaleDownBlocked: cloud.scaleDownBlocked,
    quotas: cloud.quotas ?? [],
  };
}

function pendingPod(pod: Pod): object {
  return { pod: podName(pod), unschedulableSince: pod.unschedulable === undefined ? undefined : time(pod.unschedulable.sinceMs) };
}

function group({
  id,
  kind,
  minSize,
  maxSize,
  target,
  instances,
  vmSize,
  priority,
  zones,
  frozen,
  growthHeld,
  template,
}: NodeGroup): object {
  const states: Record<string, number> = {};
  for (const { state } of instances ?? []) states[state] = (states[state] ?? 0) + 1;
  const known = template === undefined ? undefined : template.source;
  return { id, kind, minSize, maxSize, target, vmSize, priority, zones, frozen, growthHeld, instances: states, template: known };
}

function capped(rows: readonly unknown[]): readonly unknown[] {
  return rows.length <= MOST_ROWS ? rows : [...rows.slice(0, MOST_ROWS), `and ${rows.length - MOST_ROWS} more`];
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

const CREDENTIALS: readonly RegExp[] = [
  // A JSON web token, wherever it stands.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /\bBearer\s+[\w.~+/-]+=*/gi,
  /\b(?:client_secret|client_assertion|access_token|password|sig|AccountKey)=[^&\s"']+/gi,
];

function redacted(value: unknown): unknown {
  if (typeof value === 'string') return CREDENTIALS.reduce((text, pattern) => text.replace(pattern, '[redacted]'), value);
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, redacted(part)]));
}

type Told = Pick<AgentStatus, 'lastStartMs' | 'lastSuccessMs' | 'nextDueMs'> & { readonly id: string };

/** What is known of the agents as a document for a person at a terminal: the times, which programs read in ms, in words too. Pure. */
export function agentReport(agents: readonly Told[]): readonly object[] {
  return agents.map(({ lastStartMs, lastSuccessMs, nextDueMs, ...rest }) => ({
    ...rest,
    lastStart: roundedTime(lastStartMs),
    lastStartMs: whole(lastStartMs),
    lastSuccess: roundedTime(lastSuccessMs),
    lastSuccessMs: whole(lastSuccessMs),
    nextDue: roundedTime(nextDueMs),
    nextDueMs: whole(nextDueMs),
  }));
}

/** An agent that has never run, or is never due, has no such time. */
function whole(ms: number | undefined): number | undefined {
  return ms === undefined || !Number.isFinite(ms) ? undefined : Math.round(ms);
}

function roundedTime(ms: number | undefined): string | undefined {
  const rounded = whole(ms);
  return rounded === undefined ? undefined : new Date(rounded).toISOString();
}
