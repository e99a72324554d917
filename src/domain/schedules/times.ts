/** When rules of schedules hold: each rule's times for the days around now. Must not know what rules say. */
import { DAY_MINUTES, dayAfter, instantOf, localTimeAt, MINUTE_MS, weekdayOf } from './local-time.ts';
import { maintenanceTimes, type MaintenanceTimes } from './maintenance.ts';
import type { DateSpan, ScheduleRule, Schedules, Span } from '../schedule-rules.ts';

/** The times of each rule, in the order of rules; complete between `fromMs` and `toMs`. */
export interface Timetable {
  readonly fromMs: number;
  readonly toMs: number;
  readonly spans: readonly (readonly Span[])[];
  /** The hours of AKS until `aksToMs`. undefined: they are not known, or matter to no group. */
  readonly aks: MaintenanceTimes | undefined;
  readonly aksToMs: number;
}

const DAY_MS = DAY_MINUTES * MINUTE_MS;
/** A week is shown ahead, and a rule may begin a day before. */
const DAYS_BACK = 2;
const DAYS_AHEAD = 10;
/** Windows of AKS may recur once a month. */
const AKS_DAYS_AHEAD = 62;

const known = new WeakMap<Schedules, Timetable>();

/** The times around now. Found once for each day: the same object until the day of UTC ends. */
export function timetableAt(schedules: Schedules, nowMs: number): Timetable {
  const dayStart = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const last = known.get(schedules);
  if (last?.fromMs === dayStart - DAYS_BACK * DAY_MS) return last;
  const table = timetable(schedules, { startMs: dayStart - DAYS_BACK * DAY_MS, endMs: dayStart + DAYS_AHEAD * DAY_MS });
  known.set(schedules, table);
  return table;
}

export function timetable({ rules, aks }: Schedules, { startMs, endMs }: Span): Timetable {
  const aksToMs = endMs + AKS_DAYS_AHEAD * DAY_MS;
  return {
    fromMs: startMs,
    toMs: endMs,
    spans: rules.map((rule) => spansOf(rule, { startMs, endMs })),
    aks: aks.known ? maintenanceTimes(aks.configurations, { startMs, endMs: aksToMs }) : undefined,
    aksToMs,
  };
}

/** The spans of a rule that overlap a time, in order; those that touch are one. */
function spansOf(rule: ScheduleRule, { startMs, endMs }: Span): readonly Span[] {
  const last = dayAfter(localTimeAt(endMs, rule.zone).day);
  const spans: Span[] = [];
  for (let day = dayAfter(localTimeAt(startMs, rule.zone).day, -2); day <= last; day = dayAfter(day)) {
    if (!isDayOf(rule, day)) continue;
    const span = spanOn(rule, day);
    const before = spans.at(-1);
    if (before !== undefined && span.startMs <= before.endMs) {
      spans[spans.length - 1] = { startMs: before.startMs, endMs: Math.max(before.endMs, span.endMs) };
    } else if (span.endMs > span.startMs) spans.push(span);
  }
  return spans.filter((span) => span.endMs > startMs && span.startMs < endMs);
}

function spanOn({ from, to, zone }: ScheduleRule, day: string): Span {
  const ends = to > from ? { day, minute: to } : { day: dayAfter(day), minute: to };
  return { startMs: instantOf({ day, minute: from }, zone), endMs: instantOf(ends, zone) };
}

/** Whether the rule begins on that day. */
function isDayOf({ weekdays, dates, except }: ScheduleRule, day: string): boolean {
  if (!weekdays.includes(weekdayOf(day)) || isIn(except, day)) return false;
  return dates === undefined || isIn(dates, day);
}

function isIn(spans: readonly DateSpan[], day: string): boolean {
  return spans.some(({ first, last }) => {
    const shown = first.length === day.length ? day : day.slice(5);
    // Days of every year may go beyond its end: 12-24 to 01-06.
    return first <= last ? shown >= first && shown <= last : shown >= first || shown <= last;
  });
}

export function spanAt(spans: readonly Span[], atMs: number): Span | undefined {
  return spans.find(({ startMs, endMs }) => startMs <= atMs && atMs < endMs);
}
