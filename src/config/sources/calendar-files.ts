/** Dates of an iCalendar file (RFC 5545), as calendars of public holidays have them: events of whole days, once or every year. */
import type { DateSpan } from '../../domain/schedule-rules.ts';
import { dayAfter } from '../../domain/schedules/local-time.ts';

export interface CalendarDates {
  readonly dates: readonly DateSpan[];
  /** How many events are no whole days, so that they are left out. */
  readonly left: number;
}

const MOST_EVENTS = 5_000;

/** Returns the dates, or why the text is no calendar whose dates are certain. */
export function datesOfCalendar(text: string): CalendarDates | string {
  // A long line goes on in the next one, which begins with a space.
  const lines = text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/);
  if (
    lines[0]
      ?.replace(/^\uFEFF/, '')
      .trim()
      .toUpperCase() !== 'BEGIN:VCALENDAR'
  )
    return 'it is not an iCalendar file';
  const dates: DateSpan[] = [];
  let left = 0;
  for (const event of eventsIn(lines)) {
    const found = spanOf(event);
    if (typeof found === 'string') return found;
    if (found === undefined) left += 1;
    else dates.push(found);
    if (dates.length > MOST_EVENTS) return `it has more than ${MOST_EVENTS} events`;
  }
  return dates.length === 0 ? 'it has no event of a whole day' : { dates, left };
}

type Event = ReadonlyMap<string, string>;

/** The properties of each event by name, without parameters. */
function eventsIn(lines: readonly string[]): readonly Event[] {
  const events: Map<string, string>[] = [];
  let inner: string[] = [];
  for (const line of lines) {
    const [, name = '', value = ''] = /^([A-Za-z-]+)(?:;[^:]*)?:(.*)$/.exec(line.trim()) ?? [];
    const property = name.toUpperCase();
    if (property === 'BEGIN') {
      inner.push(value.trim().toUpperCase());
      if (inner.at(-1) === 'VEVENT') events.push(new Map());
    } else if (property === 'END') inner = inner.slice(0, -1);
    // Alarms inside of an event have properties of the same names.
    else if (inner.at(-1) === 'VEVENT' && property !== '') events.at(-1)?.set(property, value.trim());
  }
  return events;
}

/** undefined: the event is no whole day, or was called off. A text: why the file is refused. */
function spanOf(event: Event): DateSpan | undefined | string {
  const replaced = dayOf(event.get('RECURRENCE-ID'));
  // The day that is replaced is among those of the repeated event, and would hold.
  if (replaced !== undefined) return `it has another event in place of a repeated one on ${replaced}; list its days one by one`;
  const first = dayOf(event.get('DTSTART'));
  if (first === undefined || event.get('STATUS')?.toUpperCase() === 'CANCELLED') return undefined;
  const last = lastDayOf(event, first);
  const length = event.get('DURATION') ?? '';
  if (last === undefined) return `the length of its event of ${first} is not whole days (${length})`;
  const repeats = event.get('RRULE');
  if (repeats === undefined && !event.has('RDATE')) return { first, last };
  // Holidays that move, such as "the fourth Thursday", are listed year by year in such files; others would be wrong days.
  if (!/^FREQ=YEARLY(;INTERVAL=1)?$/i.test(repeats ?? '') || event.has('EXDATE') || event.has('RDATE'))
    return `its event of ${first} repeats in a way that is not supported (${repeats ?? 'RDATE'}); list its days one by one`;
  return { first: first.slice(5), last: last.slice(5) };
}

/** The last whole day. undefined: the length is not understood. */
function lastDayOf(event: Event, first: string): string | undefined {
  // The end of an event of whole days is the day after it.
  const end = dayOf(event.get('DTEND'));
  const length = event.get('DURATION');
  if (end !== undefined || length === undefined) return end === undefined || end <= first ? first : dayAfter(end, -1);
  const [, number, unit = ''] = /^\+?P(\d{1,3})([DW])$/i.exec(length) ?? [];
  return number === undefined ? undefined : dayAfter(first, Math.max(1, Number(number) * (unit.toUpperCase() === 'W' ? 7 : 1)) - 1);
}

function dayOf(written = ''): string | undefined {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(written) ?? [];
  const text = `${year}-${month}-${day}`;
  return year === undefined || Number.isNaN(Date.parse(`${text}T00:00:00Z`)) ? undefined : text;
}
