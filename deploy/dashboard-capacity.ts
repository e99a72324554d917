/** The rows of the dashboard on what the autoscaler is there for: pods, pools, their growth and their removals. */
import { HOUR, of, POOLS, quantile, series, stat, type Row } from './dashboard-words.ts';

/** In the order in which they are read when something is wrong. */
export const CAPACITY_ROWS: readonly Row[] = [
  {
    title: 'Is it working?',
    panels: [
      stat(
        'Since the last loop',
        'Seconds since a loop completed; the scan interval is usual.',
        `time() - max(${of('loop_last_completed_timestamp_seconds')})`,
        's',
      ),
      stat(
        'Oldest pod that could be helped',
        'The number that pages: pods that no limit and no failure stands in the way of.',
        `max(${of('oldest_unschedulable_pod_age_seconds', 'verdict=~"helped|coming"')})`,
        's',
      ),
      stat(
        'Pools left alone',
        'Frozen: being deleted, upgraded, unreadable or locked; the status says which.',
        `sum(${of('node_group_frozen')})`,
      ),
      stat(
        'Odd in the configuration',
        'Rules and names that match nothing, pools that no rule covers, sizes without a price, unreadable rules.',
        `sum(${of('config_findings')}) + max(${of('config_refused')})`,
      ),
      series(
        'Pending pods by verdict',
        'What the autoscaler makes of each pod that waits.',
        [{ expr: `sum by (verdict) (${of('unschedulable_pods')})`, legend: '{{verdict}}' }],
        { stacked: true },
      ),
      series(
        'Age of the oldest pod by verdict',
        'Impossible ones may stay for ever; helped and coming ones may not.',
        [{ expr: `max by (verdict) (${of('oldest_unschedulable_pod_age_seconds', 'verdict!="ignored"')})`, legend: '{{verdict}}' }],
        { unit: 's' },
      ),
      series('Nodes by state', 'Of the whole cluster.', [{ expr: `sum by (state) (${of('nodes')})`, legend: '{{state}}' }], {
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
        'Used part of the maximum',
        'At 100 % pods wait for somebody to raise it.',
        [
          {
            expr: `sum by (node_group) (${of('node_group_size', 'kind="target"', POOLS)}) / sum by (node_group) (${of('node_group_size', 'kind="max"', POOLS)})`,
            legend: '{{node_group}}',
          },
        ],
        { unit: 'percentunit', width: 12 },
      ),
      series(
        'Nodes to come',
        'Asked for and not joined yet.',
        [{ expr: `sum by (node_group) (${of('node_group_size', 'kind="upcoming"', POOLS)})`, legend: '{{node_group}}' }],
        { stacked: true },
      ),
      series('Who counts differently', 'AKS, the list of machines and the nodes against what they should be.', [
        { expr: `sum by (node_group, kind) (${of('node_group_drift', POOLS)})`, legend: '{{node_group}} {{kind}}' },
      ]),
      series(
        'Changed by others',
        'Capacity that somebody else wrote, and writes of ours that met it.',
        [
          { expr: `sum by (node_group) (increase(${of('cache_external_changes_total', POOLS)}${HOUR}))`, legend: '{{node_group}} changed' },
          { expr: `sum by (node_group) (increase(${of('conflicts_total', POOLS)}${HOUR}))`, legend: '{{node_group}} conflict' },
        ],
        { unit: 'short' },
      ),
    ],
  },
  {
    title: 'Growth',
    panels: [
      series(
        'From unschedulable to bound',
        'Half of the pods, and nine of ten.',
        [
          {
            expr: quantile(0.5, 'pod_unschedulable_to_bound_seconds', { window: HOUR, by: 'node_group', matchers: [POOLS] }),
            legend: '{{node_group}} half',
          },
          {
            expr: quantile(0.9, 'pod_unschedulable_to_bound_seconds', { window: HOUR, by: 'node_group', matchers: [POOLS] }),
            legend: '{{node_group}} nine of ten',
          },
        ],
        { unit: 's' },
      ),
      series(
        'Where the time goes',
        'Mean of each stage.',
        [
          {
            expr: `sum by (node_group, stage) (increase(${of('node_group_scale_up_stage_seconds_sum', POOLS)}${HOUR})) / sum by (node_group, stage) (increase(${of('node_group_scale_up_stage_seconds_count', POOLS)}${HOUR}))`,
            legend: '{{node_group}} {{stage}}',
          },
        ],
        { unit: 's' },
      ),
      series(
        'From unschedulable to the write',
        'What the autoscaler itself takes: nine of ten pods.',
        [{ expr: quantile(0.9, 'pod_unschedulable_to_write_seconds', { window: HOUR }), legend: 'nine of ten' }],
        { unit: 's' },
      ),
      series(
        'Capacity writes by outcome',
        'Conflicts are planned again at once; refused is a guard of ours.',
        [{ expr: `sum by (outcome) (increase(${of('scale_ups_total', POOLS)}${HOUR}))`, legend: '{{outcome}}' }],
        { unit: 'short', stacked: true },
      ),
      series('What was in the way', 'Quota, stock, subnet, policy, identity, bootstrap: see the runbook of each.', [
        {
          expr: `sum by (node_group, reason) (increase(${of('scale_up_failures_total', POOLS)}${HOUR})) > 0`,
          legend: '{{node_group}} {{reason}}',
        },
      ]),
      series('Out of stock', 'Sizes, zones and priorities that are not asked for at present.', [
        { expr: `sum(${of('stockouts_active')})`, legend: 'out of stock' },
      ]),
    ],
  },
  {
    title: 'Removals and waste',
    panels: [
      series(
        'Nodes that stay, by reason',
        'Why each node is not removed.',
        [{ expr: `sum by (reason) (${of('kept_nodes')})`, legend: '{{reason}}' }],
        { stacked: true },
      ),
      series(
        'Wasted cores by blocker',
        'Cores that no pod asks for on nodes that stay.',
        [{ expr: `sum by (reason, blocker) (${of('wasted_cores')})`, legend: '{{reason}} {{blocker}}' }],
        { stacked: true },
      ),
      series(
        'Wasted money per hour by blocker',
        'Of sizes with a price, in its currency.',
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
        'Removals given up',
        'By the step that did not succeed; the node was put back.',
        [{ expr: `sum by (step) (increase(${of('scale_down_failures_total', POOLS)}${HOUR}))`, legend: '{{step}}' }],
        { stacked: true },
      ),
      series(
        'Wasted memory by blocker',
        'As cores.',
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
        'Announced, per hour.',
        [{ expr: `sum by (node_group) (increase(${of('preempted_nodes_total', POOLS)}${HOUR}))`, legend: '{{node_group}}' }],
        { stacked: true },
      ),
      series(
        'Their pods',
        'Evicted in time, or still there at the end of the notice.',
        [{ expr: `sum by (outcome) (increase(${of('preempted_pods_total')}${HOUR}))`, legend: '{{outcome}}' }],
        { stacked: true },
      ),
      series(
        'Left of the notice',
        'When the first pod was sent away; half of the nodes.',
        [{ expr: quantile(0.5, 'preemption_notice_seconds', { window: HOUR }), legend: 'half' }],
        { unit: 's' },
      ),
    ],
  },
];
