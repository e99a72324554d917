/** The rows of the dashboard about all clusters of one Prometheus. */
import { series, table, type Query, type Row } from './dashboard-words.ts';

/** One of our metrics in every chosen cluster. */
function all(metric: string, ...matchers: readonly string[]): string {
  return `aks_autoscaler_${metric}{${['cluster=~"$cluster"', ...matchers].join(',')}}`;
}

// By job, too: a dry run beside the daemon of its cluster counts the same nodes.
const POOL = 'by (cluster, job, node_group)';
const CLUSTER = 'by (cluster, job)';
const LEGEND = '{{cluster}} {{job}}';
const size = (kind: string): string => `max ${POOL} (${all('node_group_size', `kind="${kind}"`)})`;

/** Said of panels that show nothing where the rules are not installed. */
const RECORDED = "Recorded by the chart's prometheusRule.";
const WAIT = 'pod_unschedulable_to_bound_seconds:p90_1h';

/** A series of recording-rules.ts. */
function recorded(name: string): readonly Query[] {
  return [{ expr: `cluster_job:aks_autoscaler_${name}{cluster=~"$cluster"}`, legend: LEGEND }];
}

export const FLEET_ROWS: readonly Row[] = [
  {
    title: 'Clusters',
    panels: [
      table(
        'Clusters',
        'One row for each daemon. One that is gone keeps its row for a day, with the time since its last loop alone.',
        [
          {
            expr: `time() - max ${CLUSTER} (max_over_time(${all('loop_last_completed_timestamp_seconds')}[1d]))`,
            legend: 'Seconds since the last loop',
          },
          {
            expr: `max ${CLUSTER} (${all('oldest_unschedulable_pod_age_seconds', 'verdict=~"helped|coming"')})`,
            legend: 'Oldest pod that can be helped (s)',
          },
          { expr: `sum ${CLUSTER} (${all('unschedulable_pods')})`, legend: 'Pending pods' },
          { expr: `sum ${CLUSTER} (${all('nodes')})`, legend: 'Nodes' },
          { expr: `sum ${CLUSTER} (${all('node_group_frozen')})`, legend: 'Frozen pools' },
          { expr: `sum ${CLUSTER} (${all('stockouts_active')})`, legend: 'Out of stock' },
          { expr: `sum ${CLUSTER} (${all('wasted_cores')})`, legend: 'Wasted cores' },
          { expr: `max ${CLUSTER} (${all('dry_run')})`, legend: 'Dry run' },
        ],
        8,
      ),
      table(
        'Versions',
        'Replicas by version.',
        [{ expr: `count by (cluster, job, version) (${all('build_info')})`, legend: 'Replicas' }],
        6,
      ),
    ],
  },
  {
    title: 'Pools',
    panels: [
      table('Pools', 'One row for each pool.', [
        { expr: size('target'), legend: 'Target' },
        { expr: size('ready'), legend: 'Ready' },
        { expr: size('upcoming'), legend: 'Upcoming' },
        { expr: size('min'), legend: 'Minimum' },
        { expr: size('max'), legend: 'Maximum' },
        { expr: `max ${POOL} (${all('node_group_frozen')})`, legend: 'Frozen' },
      ]),
    ],
  },
  {
    title: 'Over time',
    panels: [
      series('Pending pods', 'All verdicts.', [{ expr: `sum ${CLUSTER} (${all('unschedulable_pods')})`, legend: LEGEND }]),
      series('Failed scale-ups', 'Per hour.', [
        { expr: `sum ${CLUSTER} (increase(${all('scale_up_failures_total')}[1h]))`, legend: LEGEND },
      ]),
      series('Calls to Azure', 'Calls per second.', [{ expr: `sum ${CLUSTER} (rate(${all('arm_calls_total')}[5m]))`, legend: LEGEND }], {
        unit: 'ops',
      }),
    ],
  },
  {
    title: 'Over weeks',
    panels: [
      series('Nodes', `All nodes. ${RECORDED}`, recorded('nodes:sum')),
      series('Wait for a node', `Until pods of scale-ups were bound: 90th percentile of an hour. ${RECORDED}`, recorded(WAIT), {
        unit: 's',
      }),
      series('Pods that waited', `All verdicts. ${RECORDED}`, recorded('unschedulable_pods:sum')),
      series('Wasted money per hour', `Sizes with a price only. ${RECORDED}`, recorded('wasted_cost_per_hour:sum')),
      series('Scale-ups that failed', `In the hour before. ${RECORDED}`, recorded('scale_up_failures:increase1h')),
      series('Calls to Azure per second', `Calls per second. ${RECORDED}`, recorded('arm_calls:rate5m'), { unit: 'ops' }),
    ],
  },
];
