/** The rows of the dashboard on how the autoscaler itself fares: what Azure answers it, and its own process. */
import { of, quantile, RATE, series, type Row } from './dashboard-words.ts';

/** What is looked at when the rows on capacity do not explain it. */
export const OPERATION_ROWS: readonly Row[] = [
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
        [{ expr: quantile(0.99, 'loop_duration_seconds', { window: RATE, by: 'step' }), legend: '{{step}}' }],
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
