/**
 * How long removals take after they are due, and how long nodes are not evaluated, under the Cluster Autoscaler's names.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import type { UnremovableNode, ScaleDownPlan } from '../../domain/plan.ts';
import { optionsOf, type Policy } from '../../domain/policy.ts';
import { unreadyForMsOf } from '../../planning/state/node-counts.ts';
import type { CompatibleMetrics } from '../../telemetry/cluster-autoscaler-metrics.ts';
import type { LoopListener, LoopReport } from '../../domain/loop-report.ts';

type Latencies = Pick<CompatibleMetrics, 'removalLatency' | 'skippedEvaluation' | 'pendingDeletions'>;

/** A node whose removal is due. */
interface Due {
  readonly atMs: number;
  /** The last reason that kept it unremovable. */
  readonly delay: string;
}

/** Nodes that this loop did not evaluate: an earlier verdict holds, or there was no time. */
const NOT_EVALUATED: ReadonlySet<UnremovableNode['reason']> = new Set(['RecentlyUnremovable', 'RemovalBudgetSpent']);
const NO_DELAY = 'none';

/** `policy` returns the rules that hold now. */
export function removalLatency(metrics: Latencies, policy: () => Policy): LoopListener {
  const due = new Map<NodeName, Due>();
  const skips = new Skips();
  return (report) => {
    const { observation, scaleDown, state } = report;
    metrics.pendingDeletions.set(state.deleting.size);
    for (const outcome of report.removed) {
      if (outcome.kind !== 'deleted') continue;
      observe(metrics, due.get(outcome.node), { atMs: outcome.atMs, deleted: true });
      due.delete(outcome.node);
    }
    if (observation === undefined || scaleDown === undefined) return;
    metrics.skippedEvaluation.set(skips.longestMs(scaleDown, report) / 1000);
    followDue({ due, observation, scaleDown, report, policy: policy() }, metrics);
  };
}

interface Following {
  readonly due: Map<NodeName, Due>;
  readonly observation: Observation;
  readonly scaleDown: ScaleDownPlan;
  readonly report: LoopReport;
  readonly policy: Policy;
}

function followDue({ due, observation, scaleDown, report, policy }: Following, metrics: Latencies): void {
  const { nowMs, cluster } = observation;
  if (due.size + scaleDown.unneeded.size === 0) return;
  const reasons = new Map(scaleDown.kept.map(({ node, reason }) => [node, reason]));
  for (const [node, sinceMs] of scaleDown.unneeded) {
    const atMs = sinceMs + waitMs(node, observation, policy);
    const delay = reasons.get(node) ?? NO_DELAY;
    if (atMs < nowMs) due.set(node, { atMs: due.get(node)?.atMs ?? atMs, delay });
  }
  const leaving = new Set([...report.state.deleting.keys(), ...scaleDown.removals.map(({ node }) => node)]);
  for (const [node, entry] of due) {
    if (scaleDown.unneeded.has(node) || leaving.has(node)) continue;
    due.delete(node);
    // A node that disappeared was not needed again, so nothing is measured.
    if (cluster.nodes.has(node)) observe(metrics, { ...entry, delay: reasons.get(node) ?? entry.delay }, { atMs: nowMs, deleted: false });
  }
}

/** The unneeded time of the node's group and state, milliseconds. */
function waitMs(name: NodeName, observation: Observation, policy: Policy): number {
  const node = observation.cluster.nodes.get(name);
  const group = observation.cloud.groups.find(({ id }) => id === observation.cloud.groupOfNode.get(name));
  if (node === undefined || group === undefined || node.readiness.ready) return optionsOf(group, policy).unneededForMs;
  return unreadyForMsOf(node, group, observation, policy);
}

function observe(metrics: Latencies, due: Due | undefined, end: { readonly atMs: number; readonly deleted: boolean }) {
  if (due === undefined || end.atMs <= due.atMs) return;
  metrics.removalLatency.observe({ deleted: String(end.deleted), delay_reason: due.delay }, (end.atMs - due.atMs) / 1000);
}

interface LastPlan {
  readonly plan: ScaleDownPlan;
  readonly atMs: number;
}

/** Which nodes wait for their next evaluation, and since when. Most nodes of a cluster do not, so these alone are remembered. */
class Skips {
  #since: ReadonlyMap<NodeName, number> = new Map();
  #last: LastPlan | undefined;

  /** Milliseconds since the evaluation of the node that has waited longest; 0 if this loop evaluated all. */
  longestMs(plan: ScaleDownPlan, { startedAtMs }: LoopReport): number {
    const skipped = plan.kept.filter(({ reason }) => NOT_EVALUATED.has(reason)).map(({ node }) => node);
    const isNew = skipped.some((node) => !this.#since.has(node));
    const [evaluated, evaluatedAtMs] = [isNew ? nodesOf(this.#last?.plan) : NO_NODES, this.#last?.atMs ?? startedAtMs];
    this.#since = new Map(
      skipped.map((node) => [node, this.#since.get(node) ?? (evaluated.has(node) ? evaluatedAtMs : startedAtMs)] as const),
    );
    this.#last = { plan, atMs: startedAtMs };
    return [...this.#since.values()].reduce((longest, atMs) => Math.max(longest, startedAtMs - atMs), 0);
  }
}

const NO_NODES: ReadonlySet<NodeName> = new Set();

function nodesOf(plan: ScaleDownPlan | undefined): ReadonlySet<NodeName> {
  return plan === undefined ? NO_NODES : new Set([...plan.kept.map(({ node }) => node), ...plan.unneeded.keys()]);
}
