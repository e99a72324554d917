/** What schedules change next: the times at which what they say of a group becomes another. Must not know who asks. */
import { isDeepStrictEqual } from 'node:util';
import { isRuleFor, type GroupSchedule, type Schedules, type Span } from '../schedule-rules.ts';
import { scheduleOf, type ScheduledGroup } from './schedules.ts';
import { timetable } from './times.ts';

/** What holds from a time on. The first step is what holds at the start. */
export interface ScheduleStep {
  readonly atMs: number;
  readonly min: number;
  readonly max: number;
  readonly schedule: GroupSchedule;
}

const DAY_MS = 86_400_000;

/** The steps in order; empty if nothing is about the group. */
export function scheduleAhead(schedules: Schedules, group: ScheduledGroup, { startMs, endMs }: Span): readonly ScheduleStep[] {
  const table = timetable(schedules, { startMs: startMs - 2 * DAY_MS, endMs: endMs + 2 * DAY_MS });
  const times = schedules.rules.flatMap((rule, index) => {
    if (!isRuleFor(rule, group.names)) return [];
    const leadMs = rule.says.min === undefined ? 0 : group.bootMs + rule.aheadMs;
    return (table.spans[index] ?? []).flatMap((span) => [span.startMs - leadMs, span.startMs, span.endMs]);
  });
  const { possible = [], certain = [] } = group.maintenance === undefined ? {} : (table.aks ?? {});
  times.push(...[...possible, ...certain].flatMap((span) => [span.startMs, span.endMs]));
  const steps: ScheduleStep[] = [];
  for (const atMs of [...new Set([startMs, ...times.filter((each) => each > startMs && each < endMs)])].sort((one, other) => one - other)) {
    const schedule = scheduleOf(schedules, group, atMs, table);
    if (schedule === undefined) return [];
    const step = { atMs, min: schedule.min?.value ?? group.min, max: schedule.max?.value ?? group.max, schedule };
    const before = steps.at(-1);
    if (before === undefined || !isDeepStrictEqual(essence(before), essence(step))) steps.push(step);
  }
  return steps;
}

/** What people and plans notice: not which of two rules says the same. */
function essence({ min, max, schedule }: ScheduleStep): readonly unknown[] {
  const { headroom, repack, scaleDown, pause, hoursUnknown } = schedule;
  return [min, max, hoursUnknown, ...[headroom, repack, scaleDown, pause].map((said) => said?.value)];
}
