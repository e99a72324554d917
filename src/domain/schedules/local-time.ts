/**
 * Local time in a zone, from the platform's own time-zone data. A day is text (`2026-03-29`), a time of day is minutes after midnight, an instant
 * is milliseconds since the epoch. Must not know what happens at a time.
 */

export const MINUTE_MS = 60_000;
export const DAY_MINUTES = 1_440;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

export interface LocalTime {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** From 0 to 1439. */
  readonly minute: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  formats.set(zone, made);
  return made;
}

/** Whether the platform knows the zone, such as `Europe/Berlin` or `UTC`. An offset is no zone: it has no daylight saving. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** What clocks of the zone show, to the minute. @throws RangeError for an unknown zone */
export function localTimeAt(atMs: number, zone: string): LocalTime {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return {
    day: `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`,
    minute: Number(part('hour')) * 60 + Number(part('minute')),
  };
}

/**
 * The instant at which clocks of the zone show that time. A time that comes twice, when clocks are set back, means the first; one that never
 * comes, when they are set forward, means the moment at which they are. `minute` may be 1440: the end of the day.
 */
export function instantOf({ day, minute }: LocalTime, zone: string): number {
  const wanted = Date.parse(`${day}T00:00:00Z`) + minute * MINUTE_MS;
  // Whatever the change is, the offset a day before or a day after is the one that holds.
  const candidates = [offsetAt(wanted - DAY_MS, zone), offsetAt(wanted + DAY_MS, zone)].map((offset) => wanted - offset);
  const [earlier, later] = [Math.min(...candidates), Math.max(...candidates)];
  const shown = [earlier, later].find((atMs) => atMs + offsetAt(atMs, zone) === wanted);
  return shown ?? firstAtOrAfter(wanted, { earlier, later }, zone);
}

/** The first instant whose local time is not before the wanted one. */
function firstAtOrAfter(wanted: number, { earlier, later }: { readonly earlier: number; readonly later: number }, zone: string): number {
  let [before, after] = [earlier - DAY_MINUTES * MINUTE_MS, later];
  while (after - before > MINUTE_MS) {
    const middle = before + Math.floor((after - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (middle + offsetAt(middle, zone) >= wanted) after = middle;
    else before = middle;
  }
  return after;
}

/** What is added to UTC, in milliseconds. */
function offsetAt(atMs: number, zone: string): number {
  const { day, minute } = localTimeAt(atMs, zone);
  return Date.parse(`${day}T00:00:00Z`) + minute * MINUTE_MS - Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}

/** The day so many days later; days before for a negative number. */
export function dayAfter(day: string, days = 1): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** 0 is Sunday. */
export function weekdayOf(day: string): number {
  return new Date(`${day}T00:00:00Z`).getUTCDay();
}

/** `07:30`, or `24:00` for the end of the day. */
export function timeText(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

/** `19:30 Europe/Berlin`, with the day in front if that is not the day of `nowMs` there. */
export function localText(atMs: number, zone: string, nowMs: number): string {
  const { day, minute } = localTimeAt(atMs, zone);
  const today = localTimeAt(nowMs, zone).day;
  return `${day === today ? '' : `${day} `}${timeText(minute)} ${zone}`;
}
