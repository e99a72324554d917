/** The dashboard's rows about pods, pools, scale-ups and removals. */
import { HOUR, of, POOLS, quantile, series, stat, type Row } from './dashboard-words.ts';

/** In the order in which an operator reads them during an incident. */
export const CAPACITY_ROWS: readonly Row[] = [
  {
    title: 'Is it working?',
    panels: [
      stat(
        'Since the last loop',
        'Seconds since a loop completed. Normal: up to the scan interval.',
        `time() - max(${of('loop_last_completed_timestamp_seconds')})`,
        's',
      ),
      stat(
        'Oldest pod that can be helped',
        'The number that pages: the age of the oldest pod that no limit and no failure blocks.',
        `max(${of('oldest_unschedulable_pod_age_seconds', 'verdict=~"helped|coming"')})`,
        's',
      ),
      stat(
        'Frozen pools',
        'Pools that are being deleted or upgraded, unreadable or locked; the status has the reason.',
        `sum(${of('node_group_frozen')})`,
      ),
      stat(
        'Configuration warnings',
        'Rules and names that match nothing, pools that no rule covers, sizes without a price, unreadable rules.',
        `sum(${of('config_findings')}) + max(${of('config_refused')})`,
      ),
      series(
        'Pending pods by verdict',
        'The verdict on each pending pod.',
        [{ expr: `sum by (verdict) (${of('unschedulable_pods')})`, legend: '{{verdict}}' }],
        { stacked: true },
      ),
      series(
        'Age of the oldest pod by verdict',
        'Impossible pods may wait for ever; helped and coming ones may not.',
        [{ expr: `max by (verdict) (${of('oldest_unschedulable_pod_age_seconds', 'verdict!="ignored"')})`, legend: '{{verdict}}' }],
        { unit: 's' },
      ),
      series('Nodes by state', 'All nodes of the cluster.', [{ expr: `sum by (state) (${of('nodes')})`, legend: '{{state}}' }], {
        stacked: true,
      }),
    ],
  },
  {
    title: 'Pools',
    panels: [
      series(
        'Target and ready',
        'Ready follows target within minutes.',
        [
          { expr: `sum by (node_group) (${of('node_group_size', 'kind="target"', POOLS)})`, legend: '{{node_group}} target' },
          { expr: `sum by (node_group) (${of('node_group_size', 'kind="ready"', POOLS)})`, legend: '{{node_group}} ready' },
        ],
        { width: 12 },
      ),
      series(
        'Share of the maximum in use',
        'At 100 % pods wait until the maximum is raised.',
        [
          {
            expr: `sum by (node_group) (${of('node_group_size', 'kind="target"', POOLS)}) / sum by (node_group) (${of('node_group_size', 'kind="max"', POOLS)})`,
            legend: '{{node_group}}',
          },
        ],
        { unit: 'percentunit', width: 12 },
      ),
      series(
        'Upcoming nodes',
        'Requested and not joined yet.',
        [{ expr: `sum by (node_group) (${of('node_group_size', 'kind="upcoming"', POOLS)})`, legend: '{{node_group}}' }],
        { stacked: true },
      ),
      series('Size differences', 'The count of AKS, the listed instances and the nodes, minus the expected number.', [
        { expr: `sum by (node_group, kind) (${of('node_group_drift', POOLS)})`, legend: '{{node_group}} {{kind}}' },
      ]),
      series(
        'Changes by other writers',
        'Capacity that another writer changed, and our writes that met such a change.',
        [
          { expr: `sum by (node_group) (increase(${of('cache_external_changes_total', POOLS)}${HOUR}))`, legend: '{{node_group}} changed' },
          { expr: `sum by (node_group) (increase(${of('conflicts_total', POOLS)}${HOUR}))`, legend: '{{node_group}} conflict' },
        ],
        { unit: 'short' },
      ),
    ],
  },
  {
    title: 'Scale-ups',
    panels: [
      series(
        'From unschedulable to bound',
        'Median and 90th percentile of the pods.',
        [
          {
            expr: quantile(0.5, 'pod_unschedulable_to_bound_seconds', { window: HOUR, by: 'node_group', matchers: [POOLS] }),
            legend: '{{node_group}} p50',
          },
          {
            expr: quantile(0.9, 'pod_unschedulable_to_bound_seconds', { window: HOUR, by: 'node_group', matchers: [POOLS] }),
            legend: '{{node_group}} p90',
          },
        ],
        { unit: 's' },
      ),
      series(
        'Duration of each stage',
        'Mean, by stage of a scale-up.',
        [
          {
            expr: `sum by (node_group, stage) (increase(${of('node_group_scale_up_stage_seconds_sum', POOLS)}${HOUR})) / sum by (node_group, stage) (increase(${of('node_group_scale_up_stage_seconds_count', POOLS)}${HOUR}))`,
            legend: '{{node_group}} {{stage}}',
          },
        ],
        { unit: 's' },
      ),
      series(
        'From unschedulable to the capacity write',
        'The share of the autoscaler itself: 90th percentile of the pods.',
        [{ expr: quantile(0.9, 'pod_unschedulable_to_write_seconds', { window: HOUR }), legend: 'p90' }],
        { unit: 's' },
      ),
      series(
        'Capacity writes by outcome',
        'Conflicts are replanned at once. Refused: stopped by a guard before the call.',
        [{ expr: `sum by (outcome) (increase(${of('scale_ups_total', POOLS)}${HOUR}))`, legend: '{{outcome}}' }],
        { unit: 'short', stacked: true },
      ),
      series('Failures by reason', 'Quota, stock, subnet, policy, identity, bootstrap: the runbook has a row for each.', [
        {
          expr: `sum by (node_group, reason) (increase(${of('scale_up_failures_total', POOLS)}${HOUR})) > 0`,
          legend: '{{node_group}} {{reason}}',
        },
      ]),
      series('Out of stock', 'Sizes, zones and priorities that are not requested at present.', [
        { expr: `sum(${of('stockouts_active')})`, legend: 'out of stock' },
      ]),
    ],
  },
  {
    title: 'Removals and waste',
    panels: [
      series(
        'Unremovable nodes by reason',
        'Why nodes are not removed.',
        [{ expr: `sum by (reason) (${of('kept_nodes')})`, legend: '{{reason}}' }],
        { stacked: true },
      ),
      series(
        'Wasted cores by blocker',
        'Cores that no pod requests on unremovable nodes.',
        [{ expr: `sum by (reason, blocker) (${of('wasted_cores')})`, legend: '{{reason}} {{blocker}}' }],
        { stacked: true },
      ),
      series(
        'Wasted money per hour by blocker',
        'Sizes with a price only, in the currency of the prices.',
        [{ expr: `sum by (reason, blocker) (${of('wasted_cost_per_hour')})`, legend: '{{reason}} {{blocker}}' }],
        { stacked: true },
      ),
      series(
        'Nodes removed',
        'By cause.',
        [{ expr: `sum by (cause) (increase(${of('scaled_down_nodes_total', POOLS)}${HOUR}))`, legend: '{{cause}}' }],
        { stacked: true },
      ),
      series(
        'Abandoned removals',
        'By the step that failed; the node was restored.',
        [{ expr: `sum by (step) (increase(${of('scale_down_failures_total', POOLS)}${HOUR}))`, legend: '{{step}}' }],
        { stacked: true },
      ),
      series(
        'Wasted memory by blocker',
        'Memory that no pod requests on unremovable nodes.',
        [{ expr: `sum by (reason, blocker) (${of('wasted_memory_bytes')})`, legend: '{{reason}} {{blocker}}' }],
        { unit: 'bytes', stacked: true },
      ),
    ],
  },
  {
    title: 'Spot',
    panels: [
      series(
        'Nodes that Azure takes back',
        'Announced preemptions per hour.',
        [{ expr: `sum by (node_group) (increase(${of('preempted_nodes_total', POOLS)}${HOUR}))`, legend: '{{node_group}}' }],
        { stacked: true },
      ),
      series(
        'Pods on preempted nodes',
        'Evicted in time, or still there at the end of the notice.',
        [{ expr: `sum by (outcome) (increase(${of('preempted_pods_total')}${HOUR}))`, legend: '{{outcome}}' }],
        { stacked: true },
      ),
      series(
        'Remaining notice',
        'Time left when the first pod was evicted; median of the nodes.',
        [{ expr: quantile(0.5, 'preemption_notice_seconds', { window: HOUR }), legend: 'p50' }],
        { unit: 's' },
      ),
    ],
  },
];
