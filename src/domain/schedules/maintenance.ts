/**
 * When AKS works on a cluster by itself: the hours of its maintenance configurations, and whether removals of a group keep out of them or keep to
 * them. Must not know how configurations are read.
 */
import { DAY_MINUTES, dayAfter, MINUTE_MS, weekdayOf } from './local-time.ts';
import type { MaintenanceConfiguration, MaintenanceRecurrence, MaintenanceWindow, Span, WeekOfMonth } from '../schedule-rules.ts';

/** Times of AKS, in order. Where its rules leave open on which days a window begins, every such day is possible and none is certain. */
export interface MaintenanceTimes {
  readonly possible: readonly Span[];
  readonly certain: readonly Span[];
}

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

/** The times that overlap a span. */
export function maintenanceTimes(configurations: readonly MaintenanceConfiguration[], around: Span): MaintenanceTimes {
  const found = configurations.map((each) => ({
    hours: spansOfHours(each, around),
    windows: each.window && spansOf(each.window, around),
    each,
  }));
  const all = (isCertain: boolean): readonly Span[] =>
    merged(
      found
        .flatMap(({ hours, windows = [], each }) => {
          const spans = windows.flatMap(({ span, certain }) => (isCertain && !certain ? [] : [span]));
          return without([...hours, ...spans], each.except);
        })
        .filter(({ startMs, endMs }) => endMs > around.startMs && startMs < around.endMs),
    );
  return { possible: all(false), certain: all(true) };
}

function spansOfHours({ hours }: MaintenanceConfiguration, { startMs, endMs }: Span): readonly Span[] {
  if (hours.length === 0) return [];
  const spans: Span[] = [];
  for (let dayMs = Math.floor(startMs / DAY_MS) * DAY_MS; dayMs < endMs; dayMs += DAY_MS) {
    const weekday = new Date(dayMs).getUTCDay();
    for (const { hour } of hours.filter((each) => each.weekday === weekday))
      spans.push({ startMs: dayMs + hour * HOUR_MS, endMs: dayMs + (hour + 1) * HOUR_MS });
  }
  return spans;
}

interface Occurrence {
  readonly span: Span;
  readonly certain: boolean;
}

function spansOf(window: MaintenanceWindow, { startMs, endMs }: Span): readonly Occurrence[] {
  const { hours, offsetMinutes, startMinute, except } = window;
  const instantOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) - offsetMinutes * MINUTE_MS;
  const dayOf = (atMs: number): string => new Date(atMs + offsetMinutes * MINUTE_MS).toISOString().slice(0, 10);
  const closed = except.map(({ first, last }) => ({ startMs: instantOf(first), endMs: instantOf(dayAfter(last)) }));
  const found: Occurrence[] = [];
  // A window may begin on one day and end on the next.
  for (let day = dayAfter(dayOf(startMs), -1), last = dayOf(endMs); day <= last; day = dayAfter(day)) {
    const begins = beginsOn(window, day);
    if (begins === 'no') continue;
    const beginMs = instantOf(day) + startMinute * MINUTE_MS;
    for (const span of without([{ startMs: beginMs, endMs: beginMs + hours * HOUR_MS }], closed))
      found.push({ span, certain: begins === 'yes' });
  }
  return found;
}

/** `maybe`: AKS does not document from which day intervals count, or that is not known. */
function beginsOn({ recurrence, startDay }: MaintenanceWindow, day: string): 'yes' | 'maybe' | 'no' {
  if (startDay !== undefined && day < startDay) return 'no';
  const found = occurrenceNear(recurrence, day);
  if (found.day !== day) return 'no';
  if (!found.exact) return 'maybe';
  if (recurrence.every === 1) return 'yes';
  // guard: a window whose first day is not known is not relied upon
  if (startDay === undefined || occurrenceNear(recurrence, startDay).day !== startDay) return 'maybe';
  return periodsBetween(recurrence, startDay, day) % recurrence.every === 0 ? 'yes' : 'no';
}

/** The day of the recurrence in the day, week or month of that day, whatever its interval. `exact`: the month has the day. */
function occurrenceNear(recurrence: MaintenanceRecurrence, day: string): { readonly day: string; readonly exact: boolean } {
  switch (recurrence.kind) {
    case 'days':
      return { day, exact: true };
    case 'weeks':
      return { day: dayAfter(day, recurrence.weekday - weekdayOf(day)), exact: true };
    case 'day-of-month': {
      const days = Number(lastOfMonth(day).slice(8));
      return { day: dayAfter(`${day.slice(0, 7)}-01`, Math.min(recurrence.day, days) - 1), exact: recurrence.day <= days };
    }
    case 'weekday-of-month':
      return { day: weekdayOfMonth(recurrence, day), exact: true };
  }
}

function lastOfMonth(day: string): string {
  return dayAfter(`${dayAfter(`${day.slice(0, 7)}-28`, 7).slice(0, 7)}-01`, -1);
}

function weekdayOfMonth({ week, weekday }: { readonly week: WeekOfMonth; readonly weekday: number }, day: string): string {
  if (week === 'last') {
    const last = lastOfMonth(day);
    return dayAfter(last, -((weekdayOf(last) - weekday + 7) % 7));
  }
  const first = `${day.slice(0, 7)}-01`;
  return dayAfter(first, ((weekday - weekdayOf(first) + 7) % 7) + (week - 1) * 7);
}

function periodsBetween({ kind }: MaintenanceRecurrence, from: string, to: string): number {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
  if (kind === 'days') return days;
  if (kind === 'weeks') return days / 7;
  const monthOf = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
  return monthOf(to) - monthOf(from);
}

/** What is left of the spans outside of others. */
function without(spans: readonly Span[], closed: readonly Span[]): readonly Span[] {
  return closed.reduce<readonly Span[]>(
    (left, { startMs, endMs }) =>
      left.flatMap((span) =>
        [
          { startMs: span.startMs, endMs: Math.min(span.endMs, startMs) },
          { startMs: Math.max(span.startMs, endMs), endMs: span.endMs },
        ].filter((part) => part.endMs > part.startMs),
      ),
    spans,
  );
}

/** In order; those that touch are one. */
function merged(spans: readonly Span[]): readonly Span[] {
  const found: Span[] = [];
  for (const span of spans.toSorted((left, right) => left.startMs - right.startMs)) {
    const before = found.at(-1);
    if (before === undefined || span.startMs > before.endMs) found.push(span);
    else found[found.length - 1] = { startMs: before.startMs, endMs: Math.max(before.endMs, span.endMs) };
  }
  return found;
}
