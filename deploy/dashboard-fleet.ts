/** The rows of the dashboard about all clusters of one Prometheus. */
import { series, table, type Row } from './dashboard-words.ts';

/** One of our metrics in every chosen cluster. */
function all(metric: string, ...matchers: readonly string[]): string {
  return `aks_autoscaler_${metric}{${['cluster=~"$cluster"', ...matchers].join(',')}}`;
}

const POOL = 'by (cluster, node_group)';
const CLUSTER = 'by (cluster)';
const size = (kind: string): string => `max ${POOL} (${all('node_group_size', `kind="${kind}"`)})`;

export const FLEET_ROWS: readonly Row[] = [
  {
    title: 'Clusters',
    panels: [
      table('Clusters', 'One row for each cluster. A cluster whose daemon is gone has no row; the alert NotLooping names it.', [
        { expr: `time() - max ${CLUSTER} (${all('loop_last_completed_timestamp_seconds')})`, legend: 'Seconds since the last loop' },
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
      ]),
      table('Versions', 'Replicas by version.', [{ expr: `count by (cluster, version) (${all('build_info')})`, legend: 'Replicas' }]),
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
      series('Pending pods', 'All verdicts.', [{ expr: `sum ${CLUSTER} (${all('unschedulable_pods')})`, legend: '{{cluster}}' }]),
      series('Failed scale-ups', 'Per hour.', [
        { expr: `sum ${CLUSTER} (increase(${all('scale_up_failures_total')}[1h]))`, legend: '{{cluster}}' },
      ]),
      series(
        'Calls to Azure',
        'Calls per second.',
        [{ expr: `sum ${CLUSTER} (rate(${all('arm_calls_total')}[5m]))`, legend: '{{cluster}}' }],
        {
          unit: 'ops',
        },
      ),
    ],
  },
];
