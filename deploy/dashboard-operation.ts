/** The dashboard's rows about the autoscaler itself: Azure's answers and its own process. */
import { of, quantile, RATE, series, type Row } from './dashboard-words.ts';

/** For cases that the rows about capacity do not explain. */
export const OPERATION_ROWS: readonly Row[] = [
  {
    title: 'Azure',
    panels: [
      series(
        'Calls by operation',
        'At rest a few calls a minute for each pool.',
        [{ expr: `sum by (operation) (rate(${of('arm_calls_total')}${RATE}))`, legend: '{{operation}}' }],
        { unit: 'ops', stacked: true },
      ),
      series(
        'Refused and failed calls',
        'By HTTP status; error: no answer.',
        [
          {
            expr: `sum by (operation, status) (rate(${of('arm_calls_total', 'status!~"2.."')}${RATE}))`,
            legend: '{{operation}} {{status}}',
          },
        ],
        { unit: 'ops' },
      ),
      series('Remaining rate-limit tokens', 'As of the last answer.', [
        { expr: `min by (policy) (${of('arm_tokens_remaining')})`, legend: '{{policy}}' },
      ]),
      series(
        'Throttled for',
        'Time until the end that Azure named.',
        [{ expr: `clamp_min(max by (policy) (${of('arm_throttled_until_timestamp_seconds')}) - time(), 0)`, legend: '{{policy}}' }],
        { unit: 's' },
      ),
      series(
        'Time since the last read',
        'By kind; the VM sizes of a region are read once a day.',
        [{ expr: `time() - max by (kind) (${of('cache_agent_last_success_timestamp_seconds')})`, legend: '{{kind}}' }],
        { unit: 's' },
      ),
      series(
        'Share of the quotas in use',
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
        'Duration of a loop',
        '99th percentile, by step.',
        [{ expr: quantile(0.99, 'loop_duration_seconds', { window: RATE, by: 'step' }), legend: '{{step}}' }],
        { unit: 's' },
      ),
      series(
        'Loops by outcome',
        'With failed steps, and plans that ran out of time.',
        [
          { expr: `sum by (outcome) (rate(${of('loops_total')}${RATE}))`, legend: '{{outcome}}' },
          { expr: `sum by (step, kind) (rate(${of('loop_step_failures_total')}${RATE}))`, legend: '{{step}} {{kind}}' },
          { expr: `sum(rate(${of('plans_cut_short_total')}${RATE}))`, legend: 'plans cut short' },
        ],
        { unit: 'ops' },
      ),
      series(
        'Silence of the watches',
        'The daemon does not act on old data.',
        [{ expr: `max by (resource) (${of('watch_staleness_seconds')})`, legend: '{{resource}}' }],
        { unit: 's' },
      ),
      series('Memory', 'Resident memory of each replica.', [{ expr: of('resident_memory_bytes'), legend: '{{instance}}' }], {
        unit: 'bytes',
      }),
      series(
        'Longest event loop stall',
        'A lease must be renewed within ten seconds.',
        [{ expr: of('event_loop_delay_max_seconds'), legend: '{{instance}}' }],
        { unit: 's' },
      ),
      series(
        'Configuration warnings',
        'By kind; the log has a line for each.',
        [
          { expr: `sum by (kind) (${of('config_findings')})`, legend: '{{kind}}' },
          { expr: `max(${of('config_refused')})`, legend: 'refused' },
          { expr: `max(${of('config_awaiting_restart_keys')})`, legend: 'awaiting a restart' },
        ],
        { stacked: true },
      ),
    ],
  },
];
