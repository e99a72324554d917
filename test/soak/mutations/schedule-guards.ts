/** Guards of schedules: no rule moves a limit too far, and what holds by a rule is obeyed by plans and once more by each write. */
import type { GuardTable } from './guard.ts';

export const SCHEDULE_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/domain/schedules/schedules.test.ts',
    quick: true,
    guards: [
      { title: "a rule moves no limit of a pool outside of the pool's own", change: ['Math.min(Math.max(value, least), most)', 'value'] },
      { title: 'no minimum of a rule passes a maximum', change: ['Math.min(inside(min.value), top?.value ?? most)', 'inside(min.value)'] },
      {
        title: 'nodes that were prepared do not lose their minimum because they came sooner than others',
        change: [
          'Math.max(1, Math.ceil((summarizeDurations(times)?.p90Ms ?? 0) / STEP_MS)) * STEP_MS',
          'summarizeDurations(times)?.p90Ms ?? STEP_MS',
        ],
      },
      { title: 'outside of the windows for removals nothing is removed', change: 'always' },
    ],
  },
  {
    test: 'test/domain/schedules/maintenance.test.ts',
    quick: true,
    guards: [
      'a window whose first day is not known is not relied upon',
      {
        title: 'what keeps nodes longest is what is said of removals',
        change: ['lastToEnd(removalsOff(now, moment), removalsOffByAks(maintenance, table, nowMs))', 'removalsOff(now, moment)'],
      },
      'while the hours of AKS are not known, nothing is removed where they matter',
      'nodes are not removed in the hours of AKS where these are avoided',
      { title: 'nodes are not removed outside of the hours of AKS where removals keep to them', change: 'always' },
    ],
  },
  {
    test: 'test/azure/rows/maintenance.test.ts',
    quick: true,
    guards: ['a maintenance configuration that is not understood is not taken for one without hours'],
  },
  {
    test: 'test/azure/inventory/maintenance-readings.test.ts',
    quick: true,
    guards: [
      { title: 'hours of AKS that were read more than a day ago are not known', change: [' && nowMs - this.#read.atMs <= STALE_MS'] },
    ],
  },
  {
    test: 'test/tools/plan/plan.test.ts',
    guards: [
      { title: 'no fix raises the maximum of a pool where a schedule holds it', row: 'plan with schedules' },
      { title: 'no fix lowers the minimum of a pool where a schedule holds it', row: 'plan with schedules' },
    ],
  },
  {
    test: 'test/contract/azure-schedules.test.ts',
    guards: [
      { title: 'plans see the limits that schedules set', change: ['limitsIn(group, schedule)', 'limitsIn(group, undefined)'] },
      { title: 'what a schedule pauses is not written', change: ['schedules.of(group, nowMs)', 'undefined'] },
      {
        title: 'an increase that waited for its turn obeys the maximum of a schedule',
        change: ['{ ...group, ...deps.limitsOf(group) }', 'group'],
      },
      'a minimum that rose while a deletion waited is obeyed',
    ],
  },
];
