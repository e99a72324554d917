/**
 * What the Grafana dashboard shows: rows of panels, each panel its queries. Every query is of one daemon (`$job`), and those of
 * pools can be narrowed to some (`$node_group`). A test holds each name and label against the catalogue.
 */
export interface Query {
  readonly expr: string;
  /** What Grafana writes beside the line; labels stand in double braces. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** What to see in it, for who has never looked. */
  readonly help: string;
  readonly kind: 'timeseries' | 'stat';
  readonly unit: 'short' | 's' | 'bytes' | 'percentunit' | 'ops' | 'dateTimeAsIso';
  readonly stacked?: true;
  /** Of 24 columns. */
  readonly width: 6 | 8 | 12;
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const RATE = '[$__rate_interval]';
/** Scale-ups are rare: over the usual window their panels would be empty most of the time. */
const HOUR = '[1h]';

/** A metric of ours with the dashboard's filters, and further matchers. */
function of(metric: string, ...matchers: readonly string[]): string {
  return `aks_autoscaler_${metric}{${['job="$job"', ...matchers].join(',')}}`;
}

const POOLS = 'node_group=~"$node_group"';

function quantile(part: number, metric: string, by: string, window: string, ...matchers: readonly string[]): string {
  const labels = by === '' ? 'le' : `le, ${by}`;
  return `histogram_quantile(${part}, sum by (${labels}) (increase(${of(`${metric}_bucket`, ...matchers)}${window})))`;
}

function series(title: string, help: string, queries: readonly Query[], rest: Partial<Panel> = {}): Panel {
  return { title, help, kind: 'timeseries', unit: 'short', width: 8, queries, ...rest };
}

function stat(title: string, help: string, expr: string, unit: Panel['unit'] = 'short'): Panel {
  return { title, help, kind: 'stat', unit, width: 6, queries: [{ expr, legend: '' }] };
}

export const ROWS: readonly Row[] = [
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
          { expr: quantile(0.5, 'pod_unschedulable_to_bound_seconds', 'node_group', HOUR, POOLS), legend: '{{node_group}} half' },
          { expr: quantile(0.9, 'pod_unschedulable_to_bound_seconds', 'node_group', HOUR, POOLS), legend: '{{node_group}} nine of ten' },
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
        [{ expr: quantile(0.9, 'pod_unschedulable_to_write_seconds', '', HOUR), legend: 'nine of ten' }],
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
        [{ expr: quantile(0.5, 'preemption_notice_seconds', '', HOUR), legend: 'half' }],
        { unit: 's' },
      ),
    ],
  },
  {
    title: 'Azure',
    panels: [
      series(
        'Calls by operation',
        'At rest a few a minute for each pool.',
        [{ expr: `sum by (operation) (rate(${of('arm_calls_total')}${RATE}))`, legend: '{{operation}}' }],
        { unit: 'ops', stacked: true },
      ),
      series(
        'Refused and failed calls',
        'By HTTP status; error is no answer.',
        [
          {
            expr: `sum by (operation, status) (rate(${of('arm_calls_total', 'status!~"2.."')}${RATE}))`,
            legend: '{{operation}} {{status}}',
          },
        ],
        { unit: 'ops' },
      ),
      series('Left of the budgets', 'As the last answer said.', [
        { expr: `min by (policy) (${of('arm_tokens_remaining')})`, legend: '{{policy}}' },
      ]),
      series(
        'Held back for',
        'Until the time that Azure named.',
        [{ expr: `clamp_min(max by (policy) (${of('arm_throttled_until_timestamp_seconds')}) - time(), 0)`, legend: '{{policy}}' }],
        { unit: 's' },
      ),
      series(
        'Since the last read',
        'By kind; the sizes of a region are read once a day.',
        [{ expr: `time() - max by (kind) (${of('cache_agent_last_success_timestamp_seconds')})`, legend: '{{kind}}' }],
        { unit: 's' },
      ),
      series(
        'Used part of the quotas',
        'Cores of the subscription in the region.',
        [{ expr: `sum by (quota) (${of('quota_used_cores')}) / sum by (quota) (${of('quota_limit_cores')})`, legend: '{{quota}}' }],
        { unit: 'percentunit' },
      ),
    ],
  },
  {
    title: 'The daemon',
    panels: [
      series(
        'Length of a loop',
        'Ninety-nine of a hundred, by step.',
        [{ expr: quantile(0.99, 'loop_duration_seconds', 'step', RATE), legend: '{{step}}' }],
        { unit: 's' },
      ),
      series(
        'Loops by outcome',
        'And steps that failed.',
        [
          { expr: `sum by (outcome) (rate(${of('loops_total')}${RATE}))`, legend: '{{outcome}}' },
          { expr: `sum by (step, kind) (rate(${of('loop_step_failures_total')}${RATE}))`, legend: '{{step}} {{kind}}' },
          { expr: `sum(rate(${of('plans_cut_short_total')}${RATE}))`, legend: 'plans cut short' },
        ],
        { unit: 'ops' },
      ),
      series(
        'Silence of the watches',
        'Old news is not acted on.',
        [{ expr: `max by (resource) (${of('watch_staleness_seconds')})`, legend: '{{resource}}' }],
        { unit: 's' },
      ),
      series('Memory', 'Of each replica.', [{ expr: of('resident_memory_bytes'), legend: '{{instance}}' }], { unit: 'bytes' }),
      series(
        'Longest stall',
        'A lease must be renewed within ten seconds.',
        [{ expr: of('event_loop_delay_max_seconds'), legend: '{{instance}}' }],
        { unit: 's' },
      ),
      series(
        'Odd in the configuration',
        'By kind; the log has a line for each.',
        [
          { expr: `sum by (kind) (${of('config_findings')})`, legend: '{{kind}}' },
          { expr: `max(${of('config_refused')})`, legend: 'refused' },
          { expr: `max(${of('config_awaiting_restart_keys')})`, legend: 'waits for a restart' },
        ],
        { stacked: true },
      ),
    ],
  },
];
