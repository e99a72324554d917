/**
 * What Prometheus records once a minute for each daemon, so that a dashboard draws weeks of many clusters without reading every sample.
 * Alerts do not use them: they must work where these rules are not installed.
 */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

/** The labels of one daemon, which every recorded series has. */
const DAEMON = 'cluster, namespace, job';

/** `cluster_job:METRIC:OPERATION`, as the conventions of Prometheus name what labels are left and what was done. */
const named = (metric: string, operation: string): string => `cluster_job:aks_autoscaler_${metric}:${operation}`;

const sumOf = (metric: string): RecordingRule => ({
  record: named(metric, 'sum'),
  expr: `sum by (${DAEMON}) (aks_autoscaler_${metric})`,
});

export const RECORDING_RULES: readonly RecordingRule[] = [
  sumOf('nodes'),
  sumOf('unschedulable_pods'),
  sumOf('wasted_cost_per_hour'),
  {
    record: named('pod_unschedulable_to_bound_seconds', 'p90_1h'),
    expr: `histogram_quantile(0.9, sum by (${DAEMON}, le) (increase(aks_autoscaler_pod_unschedulable_to_bound_seconds_bucket[1h])))`,
  },
  {
    record: named('scale_up_failures', 'increase1h'),
    expr: `sum by (${DAEMON}) (increase(aks_autoscaler_scale_up_failures_total[1h]))`,
  },
  { record: named('arm_calls', 'rate5m'), expr: `sum by (${DAEMON}) (rate(aks_autoscaler_arm_calls_total[5m]))` },
];

/** The name of their group, beside that of the alerts. */
export const RECORDING_GROUP = 'aks-autoscaler-recorded';
