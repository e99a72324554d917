/** Failures in time series: of nodes by kube-state-metrics, of increases by an autoscaler. */
import type { ObservedNode, ObservedRefusal } from '../../../lab/recordings/observed.ts';
import { poolOfGroup, whyByReason } from './autoscaler-events.ts';

/** Our own, by pool and reason. */
const OWN_FAILURES = 'aks_autoscaler_scale_up_failures_total';
/** Of the Cluster Autoscaler, by reason alone. */
const RIVAL_FAILURES = 'cluster_autoscaler_failed_scale_ups_total';
const NODE_CONDITION = 'kube_node_status_condition';

export const FAULT_METRICS = [NODE_CONDITION, OWN_FAILURES, RIVAL_FAILURES] as const;

/** Changes of one series. */
interface FaultSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly changes: readonly { readonly atMs: number; readonly value: number }[];
}

export class PrometheusFaults {
  readonly #refusals: ObservedRefusal[] = [];
  /** By reason. */
  readonly #withoutPool = new Map<string, number>();
  /** By node: when it was not ready, and ready again. */
  readonly #outages = new Map<string, { readonly fromMs: number; readonly untilMs: number }[]>();
  #hasFailures = false;

  /** Metrics that are not of failures are ignored. */
  add(series: FaultSeries): void {
    const { metric, labels } = series;
    if (metric === NODE_CONDITION) return this.#addCondition(series);
    if (metric !== OWN_FAILURES && metric !== RIVAL_FAILURES) return;
    const { reason = 'unknown', node_group: group } = labels;
    const why = whyByReason(reason);
    this.#hasFailures ||= metric === OWN_FAILURES;
    for (const { atMs, count } of increasesOf(series)) {
      if (group === undefined) this.#withoutPool.set(reason, (this.#withoutPool.get(reason) ?? 0) + count);
      else if (why !== undefined) this.#refusals.push({ atMs, pool: poolOfGroup(group), why, count });
    }
  }

  get refusals(): readonly ObservedRefusal[] {
    return this.#refusals;
  }

  /** The node at the times when it stopped being ready, and when it was ready again. */
  changesOf(node: ObservedNode): readonly { readonly atMs: number; readonly node: ObservedNode }[] {
    return (this.#outages.get(node.name) ?? []).flatMap(({ fromMs, untilMs }) => [
      { atMs: fromMs, node: { ...node, isLeaving: false, notReadySinceMs: fromMs } },
      { atMs: untilMs, node },
    ]);
  }

  /** What these series do not say, as sentences. */
  get notes(): readonly string[] {
    const counted = [...this.#withoutPool].map(([reason, count]) => `${reason}: ${count}`).join(', ');
    return [
      'Spot evictions, and nodes that were lost for good, are not in the series of an imported range: a node that an autoscaler removed looks like one that was evicted.',
      ...(this.#hasFailures ? [] : [`What Azure refused is not in the recording: the range has no ${OWN_FAILURES}.`]),
      ...(counted === ''
        ? []
        : [`The Cluster Autoscaler counted failed scale-ups (${counted}) without the names of pools: they are not in the recording.`]),
    ];
  }

  #addCondition({ labels, changes }: FaultSeries): void {
    const { node = '', condition, status } = labels;
    if (condition !== 'Ready' || status !== 'true') return;
    const spans = changes.flatMap(({ atMs, value }, at) => {
      const next = changes[at + 1];
      return value === 0 && at > 0 && next !== undefined ? [{ fromMs: atMs, untilMs: next.atMs }] : [];
    });
    this.#outages.set(node, [...(this.#outages.get(node) ?? []), ...spans]);
  }
}

/** A counter that falls began again at zero. */
function increasesOf({ changes }: FaultSeries): readonly { readonly atMs: number; readonly count: number }[] {
  return changes
    .slice(1)
    .map(({ atMs, value }, at) => {
      const before = changes[at]?.value ?? 0;
      return { atMs, count: value < before ? value : value - before };
    })
    .filter(({ count }) => count > 0);
}
