/** Schedules as people write them: days, times of day, dates and calendars. Files of calendars are read in `sources/calendar-files.ts`. */
import * as z from 'zod';
import { MAX_POOL_NODES } from '../../domain/platform-limits.ts';
import type { DateSpan, ScheduleRule, ScheduleStatements } from '../../domain/schedule-rules.ts';
import { defined } from '../../lib/defined.ts';
import { isZone } from '../../domain/schedules/local-time.ts';
import { headroomOfPool } from './headroom.ts';
import { duration, parseDuration, text, wholeNumber } from './value-types.ts';

const MOST_RULES = 100;
const MOST_DATES = 1_000;

const ZONE = 'a time zone such as Europe/Berlin or UTC';
const zone = text(ZONE).refine(isZone, { error: ZONE });

const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const DAYS = 'days such as Mon-Fri or Sat,Sun';

const days = z.union([z.string(), z.array(z.string())], { error: DAYS }).transform((written, context): readonly number[] => {
  const parts = (typeof written === 'string' ? written.split(',') : written).map((part) => part.trim().toLowerCase());
  const found = parts.map(daysOf);
  if (parts.length > 0 && found.every((each) => each !== undefined)) return [...new Set(found.flat())].sort((a, b) => a - b);
  context.addIssue({ code: 'custom', message: DAYS });
  return z.NEVER;
});

/** One day or a range, which may go over Sunday. */
function daysOf(part: string): readonly number[] | undefined {
  const [first = '', last = first, ...more] = part.split('-').map((name) => name.trim());
  const [from, to] = [DAY_NAMES.indexOf(first), DAY_NAMES.indexOf(last)];
  if (from === -1 || to === -1 || more.length > 0) return undefined;
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, offset) => (from + offset) % 7);
}

const TIME = 'a time of day in quotes, such as "07:30", from "00:00" to "24:00"';
const time = z.string({ error: TIME }).transform((written, context) => {
  const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(written.trim()) ?? [];
  const minutes = Number(hour) * 60 + Number(minute);
  if (Number(minute) < 60 && minutes <= 1440) return minutes;
  context.addIssue({ code: 'custom', message: TIME });
  return z.NEVER;
});

const DATES = 'dates such as "2026-12-24", "2026-12-24..2027-01-06" or, in every year, "12-24", or the name of a calendar';

/** Dates, or the name of a calendar that has them. */
type WrittenDates = DateSpan | { readonly calendar: string };

const date = text(DATES).transform((written, context): WrittenDates => {
  const [first = '', last = first, ...more] = written.split('..').map((part) => part.trim());
  if (/^[a-z][a-z0-9_-]*$/i.test(written)) return { calendar: written };
  if (more.length === 0 && isDay(first) && isDay(last) && first.length === last.length && (first.length === 5 || first <= last))
    return { first, last };
  context.addIssue({ code: 'custom', message: DATES });
  return z.NEVER;
});

/** `2026-12-24`, or `12-24`. */
function isDay(written: string): boolean {
  // A leap year, so that 02-29 is a day of some years.
  const whole = /^\d{2}-\d{2}$/.test(written) ? `2024-${written}` : written;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(whole)) return false;
  const atMs = Date.parse(`${whole}T00:00:00Z`);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(whole);
}

const dates = z
  .union([date.transform((one) => [one]), z.array(date).max(MOST_DATES, { error: `at most ${MOST_DATES} dates` })], { error: DATES })
  .transform((given): readonly WrittenDates[] => given);

/** YAML 1.1, which Helm reads, takes `on` and `off` for true and false. */
function onOff<const More extends readonly string[]>(more: More) {
  const accepts = ['on', 'off', ...more];
  const error = `one of ${accepts.join(', ')}`;
  return z
    .union([z.boolean(), z.string()], { error })
    .transform((written) => (typeof written === 'boolean' ? (written ? 'on' : 'off') : written.trim().toLowerCase()))
    .pipe(z.enum(['on', 'off', ...more], { error }));
}

const AHEAD = 'a duration such as 30s or 5m, of at most 12h';
const ahead = z.string({ error: AHEAD }).transform((written, context) => {
  const ms = parseDuration(written.trim());
  if (ms !== undefined && ms <= 12 * 3_600_000) return ms;
  context.addIssue({ code: 'custom', message: AHEAD });
  return z.NEVER;
});

const POOLS = 'names of pools, scale sets or POOL/SIZE, with * and ?';
const size = wholeNumber(0, MAX_POOL_NODES).optional();

const rule = z
  .strictObject({
    pools: z
      .array(text(POOLS), { error: `a list of ${POOLS}` })
      .min(1, { error: `a list of ${POOLS}` })
      .optional(),
    days: days.optional(),
    dates: dates.optional(),
    except: dates.optional(),
    from: time.optional(),
    to: time.optional(),
    zone: zone.optional(),
    ahead: ahead.optional(),
    min: size,
    max: size,
    headroom: headroomOfPool.optional(),
    scaleDown: onOff(['only']).optional(),
    repack: onOff([]).optional(),
    pause: z.boolean({ error: 'true or false' }).optional(),
  })
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
    error: 'a minimum that is not above max',
    path: ['min'],
  })
  .refine((given) => Object.keys(statementsOf(given)).length > 0, {
    error: 'a rule with at least one of min, max, headroom, scaleDown, repack, pause',
  });

type Statements = { readonly [Matter in keyof ScheduleStatements]: ScheduleStatements[Matter] | undefined };

function statementsOf({ min, max, headroom, scaleDown, repack, pause }: Statements): ScheduleStatements {
  return defined({ min, max, headroom, scaleDown, repack, pause });
}

const MAINTENANCE = 'one of ignore, avoid, only';
/** What removals do with the hours of AKS's maintenance. */
export const maintenanceUse = z.enum(['ignore', 'avoid', 'only'], { error: MAINTENANCE });

const calendar = z
  .strictObject({
    name: text('a name of letters, digits, - and _').regex(/^[a-z][a-z0-9_-]*$/i, { error: 'a name of letters, digits, - and _' }),
    dates: dates.optional(),
    file: text('a path of an iCalendar file').optional(),
  })
  .refine(({ dates: listed, file }) => (listed === undefined) !== (file === undefined), { error: 'a calendar with either dates or file' })
  .refine(({ dates: listed = [] }) => listed.every((each) => 'first' in each), { error: DATES, path: ['dates'] });

const ALL_DAYS = [0, 1, 2, 3, 4, 5, 6];
const CALENDAR = 'the name of a calendar in schedules.calendars, or dates such as "2026-12-24"';

export const schedules = z
  .strictObject({
    zone: zone.default('UTC'),
    ahead: duration(0),
    maintenance: maintenanceUse.default('ignore'),
    calendars: z.array(calendar, { error: 'a list of {name, dates} or {name, file}' }).default([]),
    rules: z
      .array(rule, { error: 'a list of rules such as {pools: [general], days: Mon-Fri, from: "07:30", to: "19:30", min: 6}' })
      .max(MOST_RULES, { error: `at most ${MOST_RULES} rules` })
      .default([]),
  })
  .superRefine(({ calendars, rules }, context) => {
    const names = calendars.map(({ name }) => name);
    names.forEach((name, index) => {
      if (names.indexOf(name) !== index)
        context.addIssue({ code: 'custom', path: ['calendars', index, 'name'], message: 'a name that no other calendar has' });
    });
    rules.forEach((each, index) => {
      for (const key of ['dates', 'except'] as const) {
        const unknown = (each[key] ?? []).some((one) => 'calendar' in one && !names.includes(one.calendar));
        if (unknown) context.addIssue({ code: 'custom', path: ['rules', index, key], message: CALENDAR });
      }
    });
  })
  .prefault({})
  .transform((given) => ({
    calendars: given.calendars,
    maintenance: given.maintenance,
    rules: given.rules.map((each, index) => ({
      number: index + 1,
      pools: (each.pools ?? []).map((name) => name.toLowerCase()),
      zone: each.zone ?? given.zone,
      weekdays: each.days ?? ALL_DAYS,
      dates: each.dates,
      except: each.except ?? [],
      from: each.from ?? 0,
      to: each.to ?? 1440,
      aheadMs: each.ahead ?? given.ahead,
      says: statementsOf(each),
    })),
  }));

export type WrittenSchedules = z.infer<typeof schedules>;

/** Replaces the names of calendars by their dates. `datesIn`: the dates of the calendars that are files, by path. */
export function rulesWithDates(
  { calendars, rules }: Pick<WrittenSchedules, 'calendars' | 'rules'>,
  datesIn: ReadonlyMap<string, readonly DateSpan[]>,
): readonly ScheduleRule[] {
  const known = new Map(
    calendars.map(({ name, dates: listed = [], file }) => [
      name,
      file === undefined ? listed.flatMap((each) => ('first' in each ? [each] : [])) : (datesIn.get(file) ?? []),
    ]),
  );
  const resolved = (written: readonly WrittenDates[]): readonly DateSpan[] =>
    written.flatMap((each) => ('calendar' in each ? (known.get(each.calendar) ?? []) : [each]));
  return rules.map((each) => ({
    ...each,
    dates: each.dates === undefined ? undefined : resolved(each.dates),
    except: resolved(each.except),
  }));
}
