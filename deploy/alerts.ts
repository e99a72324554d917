/**
 * The nine alerts, critical ones for a page and warnings for the working day. None fires on a healthy cluster, except that
 * AksCountDiffers names a danger that lasts until AKS's count is brought in step. A pod that waits
 * for a decision of people (a maximum, a quota) is not a failure of the autoscaler and raises no alert.
 */
import type { JsonMap } from './notation.ts';
import { RECORDING_GROUP, RECORDING_RULES } from './recording-rules.ts';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** How long the expression must hold, as Prometheus writes durations. */
  readonly for: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

export interface AlertGroup {
  readonly name: string;
  readonly rules: readonly AlertRule[];
}

/** The default place of the runbooks: this repository. */
const RUNBOOKS = 'docs/runbooks';

interface Alert {
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  readonly for: string;
  readonly summary: string;
  readonly description: string;
}

const PREFIX = 'AksAutoscaler';
/** The labels of one daemon, whichever of its replicas leads. `cluster` is empty where one Prometheus watches one cluster. */
const DAEMON = 'cluster, namespace, job';
const BY = `by (${DAEMON})`;
const LAST_LOOP = 'aks_autoscaler_loop_last_completed_timestamp_seconds';

const ALERTS: readonly Alert[] = [
  {
    name: 'NotLooping',
    severity: 'critical',
    for: '5m',
    // A replica that waits for leadership serves 0, so the leader's time is the largest.
    // The second part: a daemon that was there within a day and is gone, whatever other clusters report.
    expr:
      `time() - max ${BY} (${LAST_LOOP}) > 600 or ` +
      `(max ${BY} (max_over_time(${LAST_LOOP}[1d])) unless on (${DAEMON}) ${LAST_LOOP}) or absent(${LAST_LOOP})`,
    summary: 'The autoscaler makes no decisions.',
    description: 'No replica has completed a loop for ten minutes, or no replica exists. Until one does, no node is added or removed.',
  },
  {
    name: 'PodsWaitTooLong',
    severity: 'critical',
    for: '5m',
    expr:
      `max ${BY} (aks_autoscaler_oldest_unschedulable_pod_age_seconds{verdict=~"helped|coming"} ` +
      `unless on (${DAEMON}, instance) (aks_autoscaler_dry_run == 1)) > 900`,
    summary: 'A pod that a new node could serve has waited for {{ $value | humanizeDuration }}.',
    description:
      'No decision of people blocks it, neither a maximum nor a quota, and no pool that it fits backs off: nodes are ' +
      'requested and do not come, or come and do not take it.',
  },
  {
    name: 'ScaleUpsFail',
    severity: 'warning',
    for: '0m',
    expr: `sum ${BY.replace(')', ', node_group, reason)')} (increase(aks_autoscaler_scale_up_failures_total[1h])) > 1.5`,
    summary: 'Scale-ups of {{ $labels.node_group }} fail: {{ $labels.reason }}.',
    description: 'More than one increase of the pool failed within an hour for the same reason. Other pools are tried instead.',
  },
  {
    name: 'AzureUnreadable',
    severity: 'warning',
    for: '5m',
    expr:
      `time() - max ${BY.replace(')', ', kind)')} ` +
      '(aks_autoscaler_cache_agent_last_success_timestamp_seconds{kind=~"scaleSets|instances|vms|agentPools"}) > 900',
    summary: 'Azure has not been read for {{ $value | humanizeDuration }} ({{ $labels.kind }}).',
    description: 'Nodes are still added from the last known data, within limits. No node is removed, because a removal needs a fresh read.',
  },
  {
    name: 'AzureThrottles',
    severity: 'warning',
    for: '15m',
    // The timestamp stays after the throttling ends, until a call succeeds: this bridges gaps between two periods of throttling.
    expr: `max ${BY.replace(')', ', policy)')} (aks_autoscaler_arm_throttled_until_timestamp_seconds) > time() - 300`,
    summary: 'Azure throttles calls of {{ $labels.policy }}: too many requests.',
    description: 'Calls of that kind have been throttled for a quarter of an hour. Scale-ups and removals are late.',
  },
  {
    name: 'SizesDiffer',
    severity: 'warning',
    for: '30m',
    expr:
      `abs(aks_autoscaler_node_group_drift{kind=~"instances|nodes"}) > 0 and on (${DAEMON}, instance, node_group) ` +
      'changes(aks_autoscaler_node_group_size{kind="target"}[30m]) == 0',
    summary: 'The number of {{ $labels.kind }} of {{ $labels.node_group }} is not the expected one (difference: {{ $value }}).',
    description:
      'The pool has had no new increase for half an hour, and still its capacity, its instances and its nodes are not the same number.',
  },
  {
    name: 'AksCountDiffers',
    severity: 'warning',
    for: '60m',
    // Above 0 an operation of AKS would only add nodes, which are removed when they are not needed.
    expr: `min ${BY.replace(')', ', node_group)')} (aks_autoscaler_node_group_drift{kind="agent-pool"}) < 0`,
    summary: 'The next AKS operation on {{ $labels.node_group }} would delete nodes without a drain (difference: {{ $value }}).',
    description:
      "AKS's own count of the pool has been below its size for an hour. An upgrade, a changed label, a new node image and some changes " +
      'of the cluster set the size to that count. Bring it in step before any such command.',
  },
  {
    name: 'PoolHeld',
    severity: 'warning',
    for: '5m',
    // The metric begins at ten minutes, and an upgrade of a large pool may take an hour.
    expr: `max ${BY} (aks_autoscaler_longest_node_group_hold_seconds) > 3600`,
    summary: 'A pool cannot change for {{ $value | humanizeDuration }}.',
    description:
      'One state holds it: an upgrade, an operation or a deletion without an end, or a pool that cannot be read. Its nodes are neither added ' +
      'nor removed meanwhile. The event NodeGroupHeld and the status ConfigMap name the pool and the state.',
  },
  {
    name: 'RemovalsWait',
    severity: 'warning',
    for: '60m',
    // A pause has an end. Where it has none, something that says when it ends cannot be read.
    expr: `max ${BY.replace(')', ', node_group)')} (aks_autoscaler_node_group_paused_until_timestamp_seconds{direction="scale-down"}) == Inf`,
    summary: 'No node of {{ $labels.node_group }} is removed, and nothing says until when.',
    description:
      "AKS's maintenance windows, or the pause of a person, cannot be read for an hour, and what they say decides whether nodes may go. " +
      'The pool still grows. explain pool, an event and the log name the reason.',
  },
  {
    name: 'GpusIdle',
    severity: 'warning',
    for: '60m',
    expr: `max ${BY} (aks_autoscaler_idle_gpu_cost_per_hour) > 0`,
    summary: 'GPU nodes without a pod that uses a GPU cost {{ $value }} per hour.',
    description:
      'For an hour there have been nodes whose GPUs no pod requests. The amount is in the currency of the prices. Either the nodes ' +
      'are not removable, or their pool has a minimum size.',
  },
];

/** Name of the runbook, without its folder. */
export function runbookOf(alert: string): string {
  return `${alert.replace(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase()}.md`;
}

/** Groups in the form of a rule file. `runbooks`: the address of the runbooks, without a slash at the end. */
export function alertGroups(runbooks: string = RUNBOOKS): readonly AlertGroup[] {
  const rules = ALERTS.map(({ name, severity, expr, summary, description, for: lasting }): AlertRule => {
    const alert = `${PREFIX}${name}`;
    const annotations = { summary, description, runbook_url: `${runbooks}/${runbookOf(alert)}` };
    return { alert, expr, for: lasting, labels: { severity }, annotations };
  });
  return [{ name: 'aks-autoscaler', rules }];
}

/** The whole of a rule file: the alerts, and what is recorded. */
export function ruleFile(runbooks: string = RUNBOOKS): JsonMap {
  const alerts = alertGroups(runbooks).map(({ name, rules }) => ({ name, rules: rules.map((rule) => ({ ...rule })) }));
  return { groups: [...alerts, { name: RECORDING_GROUP, rules: RECORDING_RULES.map((rule) => ({ ...rule })) }] };
}
