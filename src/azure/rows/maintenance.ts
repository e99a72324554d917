/** AKS's maintenance configurations as decisions need them. A form that is not documented makes all of them unknown. Pure. */
import type { MaintenanceConfiguration as RawConfiguration, MaintenanceWindow as RawWindow } from '@azure/arm-containerservice';
import type {
  DateSpan,
  MaintenanceConfiguration,
  MaintenanceRecurrence,
  MaintenanceWindow,
  WeekOfMonth,
} from '../../domain/schedule-rules.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { defined } from '../../lib/defined.ts';

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const WEEKS: Readonly<Record<string, WeekOfMonth>> = { first: 1, second: 2, third: 3, fourth: 4, last: 'last' };

/** @throws AutoscalerError of kind `unavailable` if a part of it has an undocumented form. */
export function projectMaintenance(raw: RawConfiguration): MaintenanceConfiguration {
  const name = raw.name ?? '';
  const read = new Reader(name);
  return {
    name,
    hours: (raw.timeInWeek ?? []).flatMap(({ day, hourSlots }) =>
      (hourSlots ?? []).map((hour) => ({ weekday: read.weekday(day), hour: read.number(hour, 0, 23, 'hourSlots') })),
    ),
    except: (raw.notAllowedTime ?? []).map(({ start, end }) => ({
      startMs: read.instant(start, 'notAllowedTime'),
      endMs: read.instant(end, 'notAllowedTime'),
    })),
    ...defined({ window: raw.maintenanceWindow && windowOf(raw.maintenanceWindow, read) }),
  };
}

function windowOf(
  { schedule, durationHours, utcOffset, startDate, startTime, notAllowedDates }: RawWindow,
  read: Reader,
): MaintenanceWindow {
  return {
    recurrence: recurrenceOf(schedule, read),
    hours: read.number(durationHours, 1, 24, 'durationHours'),
    offsetMinutes: read.offset(utcOffset ?? '+00:00'),
    startMinute: read.minute(startTime, 'startTime'),
    except: (notAllowedDates ?? []).map(({ start, end }): DateSpan => ({
      first: read.day(start, 'notAllowedDates'),
      last: read.day(end, 'notAllowedDates'),
    })),
    ...(startDate === undefined || startDate === null ? {} : { startDay: read.day(startDate, 'startDate') }),
  };
}

function recurrenceOf({ daily, weekly, absoluteMonthly, relativeMonthly }: RawWindow['schedule'], read: Reader): MaintenanceRecurrence {
  const every = (value: unknown): number => read.number(value, 1, 1000, 'schedule');
  if (daily) return { kind: 'days', every: every(daily.intervalDays) };
  if (weekly) return { kind: 'weeks', every: every(weekly.intervalWeeks), weekday: read.weekday(weekly.dayOfWeek) };
  if (absoluteMonthly)
    return {
      kind: 'day-of-month',
      every: every(absoluteMonthly.intervalMonths),
      day: read.number(absoluteMonthly.dayOfMonth, 1, 31, 'dayOfMonth'),
    };
  if (!relativeMonthly) throw read.unknown('schedule');
  const week = WEEKS[relativeMonthly.weekIndex?.toLowerCase() ?? ''];
  if (week === undefined) throw read.unknown('weekIndex');
  return { kind: 'weekday-of-month', every: every(relativeMonthly.intervalMonths), week, weekday: read.weekday(relativeMonthly.dayOfWeek) };
}

/** Reads the parts of one configuration; each throws for a value that Azure does not document. */
class Reader {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  unknown(part: string): AutoscalerError {
    return new AutoscalerError(
      { kind: 'unavailable', effect: 'none' },
      `the maintenance configuration "${this.#name}" has an undocumented form (${part})`,
    );
  }

  number(value: unknown, least: number, most: number, part: string): number {
    // guard: a maintenance configuration that is not understood is not taken for one without hours
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) throw this.unknown(part);
    return value;
  }

  weekday(value: string | undefined): number {
    return this.number(WEEKDAYS.indexOf(value?.toLowerCase() ?? ''), 0, 6, 'day of week');
  }

  instant(value: Date | undefined, part: string): number {
    return this.number(value?.getTime(), 0, Number.MAX_SAFE_INTEGER, part);
  }

  day(value: Date, part: string): string {
    return new Date(this.instant(value, part)).toISOString().slice(0, 10);
  }

  minute(text: string | undefined, part: string): number {
    const [, hour, minute] = /^(\d{2}):(\d{2})$/.exec(text ?? '') ?? [];
    return 60 * this.number(Number(hour), 0, 23, part) + this.number(Number(minute), 0, 59, part);
  }

  offset(text: string): number {
    const sign = text.startsWith('-') ? -1 : 1;
    return sign * this.minute(text.slice(1), 'utcOffset');
  }
}
