/** The hours in which AKS works by itself: when they are, and what they say of removals. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type MaintenanceConfiguration,
  type MaintenanceRecurrence,
  type MaintenanceWindow,
  NO_SCHEDULES,
  type Schedules,
} from '../../../src/domain/schedule-rules.ts';
import { scheduleAhead } from '../../../src/domain/schedules/ahead.ts';
import { maintenanceTimes } from '../../../src/domain/schedules/maintenance.ts';
import { scheduleOf, type ScheduledGroup } from '../../../src/domain/schedules/schedules.ts';
import { casesOf } from '../../support/property-runs.ts';
import { schedulesOf } from '../../support/schedules.ts';

const HOUR = 3_600_000;
const ms = (text: string): number => Date.parse(`${text}Z`);
const text = (atMs: number): string => new Date(atMs).toISOString().slice(5, 16);

function configuration(given: Partial<MaintenanceConfiguration>): MaintenanceConfiguration {
  return { name: 'default', hours: [], except: [], ...given };
}
function windowed(recurrence: MaintenanceRecurrence, more: Partial<MaintenanceWindow> = {}): MaintenanceConfiguration {
  return configuration({ window: { recurrence, hours: 4, offsetMinutes: 0, startMinute: 120, except: [], ...more } });
}
const spansIn = (found: readonly { startMs: number; endMs: number }[]) =>
  found.map(({ startMs, endMs }) => `${text(startMs)} ${text(endMs)}`);
const NOVEMBER = { startMs: ms('2026-11-01T00:00'), endMs: ms('2026-12-01T00:00') };
/** A Thursday and a Friday. */
const DAYS = { startMs: ms('2026-11-26T00:00'), endMs: ms('2026-11-28T00:00') };

describe('the hours of AKS', () => {
  it.each<readonly [string, MaintenanceConfiguration, typeof DAYS, readonly string[]]>([
    ['hours of the week', configuration({ hours: [5, 6, 7].map((hour) => ({ weekday: 4, hour })) }), DAYS, ['11-26T05:00 11-26T08:00']],
    [
      'hours of the week without times that are not allowed',
      configuration({
        hours: [5, 6, 7].map((hour) => ({ weekday: 4, hour })),
        except: [{ startMs: ms('2026-11-26T06:15'), endMs: ms('2026-11-26T06:45') }],
      }),
      DAYS,
      ['11-26T05:00 11-26T06:15', '11-26T06:45 11-26T08:00'],
    ],
    ['no hours: AKS may work at any time', configuration({}), DAYS, []],
    ['every day', windowed({ kind: 'days', every: 1 }), DAYS, ['11-26T02:00 11-26T06:00', '11-27T02:00 11-27T06:00']],
    ['from the first day on', windowed({ kind: 'days', every: 1 }, { startDay: '2026-11-27' }), DAYS, ['11-27T02:00 11-27T06:00']],
    [
      'by an offset, over midnight of UTC',
      windowed({ kind: 'weeks', every: 1, weekday: 5 }, { offsetMinutes: 330 }),
      DAYS,
      ['11-26T20:30 11-27T00:30'],
    ],
    [
      'from the day before',
      windowed({ kind: 'days', every: 1 }, { startMinute: 22 * 60, hours: 8 }),
      { startMs: ms('2026-11-26T00:00'), endMs: ms('2026-11-26T12:00') },
      ['11-25T22:00 11-26T06:00'],
    ],
    [
      'not on excepted days, whose end is included',
      windowed({ kind: 'days', every: 1 }, { except: [{ first: '2026-11-20', last: '2026-11-26' }] }),
      DAYS,
      ['11-27T02:00 11-27T06:00'],
    ],
    [
      'excepted days by the offset',
      windowed({ kind: 'days', every: 1 }, { offsetMinutes: 120, hours: 24, except: [{ first: '2026-11-26', last: '2026-11-26' }] }),
      DAYS,
      ['11-25T00:00 11-25T22:00', '11-26T22:00 11-28T00:00'].slice(1),
    ],
    [
      'every second week from the first day',
      windowed({ kind: 'weeks', every: 2, weekday: 0 }, { startDay: '2026-11-01' }),
      NOVEMBER,
      ['11-01T02:00 11-01T06:00', '11-15T02:00 11-15T06:00', '11-29T02:00 11-29T06:00'],
    ],
    ['every third day', windowed({ kind: 'days', every: 3 }, { startDay: '2026-11-24' }), DAYS, ['11-27T02:00 11-27T06:00']],
    ['a day of the month', windowed({ kind: 'day-of-month', every: 1, day: 15 }), NOVEMBER, ['11-15T02:00 11-15T06:00']],
    [
      'a day of every third month',
      windowed({ kind: 'day-of-month', every: 3, day: 15 }, { startDay: '2026-08-15' }),
      NOVEMBER,
      ['11-15T02:00 11-15T06:00'],
    ],
    ['a month between', windowed({ kind: 'day-of-month', every: 3, day: 15 }, { startDay: '2026-09-15' }), NOVEMBER, []],
    ['the first Monday', windowed({ kind: 'weekday-of-month', every: 1, week: 1, weekday: 1 }), NOVEMBER, ['11-02T02:00 11-02T06:00']],
    ['the fourth Sunday', windowed({ kind: 'weekday-of-month', every: 1, week: 4, weekday: 0 }), NOVEMBER, ['11-22T02:00 11-22T06:00']],
    ['the last Sunday', windowed({ kind: 'weekday-of-month', every: 1, week: 'last', weekday: 0 }), NOVEMBER, ['11-29T02:00 11-29T06:00']],
  ])('%s', (_, given, around, expected) => {
    const { possible, certain } = maintenanceTimes([given], around);
    expect(spansIn(possible)).toEqual(expected);
    expect(certain).toEqual(possible);
  });

  it.each<readonly [string, MaintenanceConfiguration, number]>([
    ['an interval without a first day', windowed({ kind: 'weeks', every: 2, weekday: 0 }), 5],
    ['an interval from another day of the week', windowed({ kind: 'weeks', every: 2, weekday: 0 }, { startDay: '2026-10-28' }), 5],
    ['an interval from a day after that of its month', windowed({ kind: 'day-of-month', every: 2, day: 3 }, { startDay: '2026-10-20' }), 1],
    ['a day that the month does not have', windowed({ kind: 'day-of-month', every: 1, day: 31 }), 1],
  ])('on days that are not certain: %s', (_, given, count) => {
    const { possible, certain } = maintenanceTimes([given], NOVEMBER);
    expect([possible.length, certain.length]).toEqual([count, 0]);
  });

  it('of several configurations are one', () => {
    const both = [windowed({ kind: 'days', every: 1 }), windowed({ kind: 'days', every: 1 }, { startMinute: 300 })];
    expect(spansIn(maintenanceTimes(both, { ...DAYS, endMs: ms('2026-11-26T12:00') }).possible)).toEqual(['11-26T02:00 11-26T09:00']);
  });
});

const GROUP: ScheduledGroup = { names: ['general'], min: 1, max: 10, bootMs: 0, maintenance: undefined };
const NIGHTLY: Schedules = { ...NO_SCHEDULES, aks: { known: true, configurations: [windowed({ kind: 'days', every: 1 })] } };
const UNSURE: Schedules = { ...NO_SCHEDULES, aks: { known: true, configurations: [windowed({ kind: 'days', every: 2 })] } };
const NONE: Schedules = { ...NO_SCHEDULES, aks: { known: true, configurations: [] } };
const UNKNOWN: Schedules = { ...NO_SCHEDULES, aks: { known: false, reason: 'no right' } };
const AT = ms('2026-11-26T12:00');
const NIGHT = ms('2026-11-26T03:00');

describe('removals of a group', () => {
  it.each<readonly [string, Schedules, 'avoid' | 'only' | undefined, number, string | undefined]>([
    ['that ignores them', NIGHTLY, undefined, NIGHT, undefined],
    ['that avoids them, outside', NIGHTLY, 'avoid', AT, undefined],
    ['that avoids them, inside until their end', NIGHTLY, 'avoid', NIGHT, '11-26T06:00'],
    ['that keeps to them, outside until the next ones', NIGHTLY, 'only', AT, '11-27T02:00'],
    ['that keeps to them, inside', NIGHTLY, 'only', NIGHT, undefined],
    ['that avoids what is possible', UNSURE, 'avoid', NIGHT, '11-26T06:00'],
    ['that keeps to what is certain', UNSURE, 'only', NIGHT, '02-06T00:00'],
    ['that avoids none', NONE, 'avoid', AT, undefined],
    ['that keeps to none', NONE, 'only', AT, '02-06T00:00'],
  ])('%s', (_, schedules, maintenance, nowMs, until) => {
    const found = scheduleOf(schedules, { ...GROUP, maintenance }, nowMs);
    expect(found?.scaleDown && text(found.scaleDown.untilMs)).toBe(until);
    expect(found?.scaleDown?.rule).toBe(until === undefined ? undefined : 'maintenance');
    expect(found?.hoursUnknown).toBeUndefined();
  });

  it('wait while the hours are not known, and only where they matter', () => {
    expect(scheduleOf(UNKNOWN, { ...GROUP, maintenance: 'avoid' }, AT)).toMatchObject({ hoursUnknown: 'no right' });
    expect(scheduleOf(UNKNOWN, { ...GROUP, maintenance: 'only' }, AT)).toMatchObject({ hoursUnknown: 'no right' });
    expect(scheduleOf(NO_SCHEDULES, { ...GROUP, maintenance: 'only' }, AT)).toMatchObject({ hoursUnknown: 'they were not read' });
    expect(scheduleOf(UNKNOWN, GROUP, AT)).toBeUndefined();
  });

  it('are kept by a rule or by the hours, whichever lasts longer, and no rule lifts the hours', () => {
    const { rules } = schedulesOf('rules: [{from: "02:30", to: "05:00", scaleDown: off}, {pools: [other], scaleDown: off}]');
    const found = scheduleOf({ ...NIGHTLY, rules }, { ...GROUP, maintenance: 'avoid' }, NIGHT);
    expect(found?.scaleDown).toMatchObject({ rule: 'maintenance', untilMs: ms('2026-11-26T06:00') });
    const lifted = schedulesOf('rules: [{scaleDown: on}]').rules;
    expect(scheduleOf({ ...NIGHTLY, rules: lifted }, { ...GROUP, maintenance: 'avoid' }, NIGHT)?.scaleDown?.rule).toBe('maintenance');
  });

  it('have steps ahead at the begin and the end of the hours', () => {
    const steps = scheduleAhead(NIGHTLY, { ...GROUP, maintenance: 'avoid' }, { startMs: AT, endMs: AT + 36 * HOUR });
    expect(steps.map(({ atMs, schedule }) => [text(atMs), schedule.scaleDown?.value])).toEqual([
      ['11-26T12:00', undefined],
      ['11-27T02:00', 'off'],
      ['11-27T06:00', undefined],
    ]);
  });
});

const weekday = fc.integer({ min: 0, max: 6 });
const every = fc.integer({ min: 1, max: 4 });
const recurrence: fc.Arbitrary<MaintenanceRecurrence> = fc.oneof(
  fc.record({ kind: fc.constant('days' as const), every }),
  fc.record({ kind: fc.constant('weeks' as const), every, weekday }),
  fc.record({ kind: fc.constant('day-of-month' as const), every, day: fc.integer({ min: 1, max: 31 }) }),
  fc.record({
    kind: fc.constant('weekday-of-month' as const),
    every,
    week: fc.constantFrom<(1 | 2 | 3 | 4 | 'last')[]>(1, 2, 4, 'last'),
    weekday,
  }),
);

it('no time is both one that removals keep to and one that they avoid, and certain hours are possible ones', () => {
  fc.assert(
    fc.property(
      recurrence,
      fc.constantFrom(undefined, '2026-11-01', '2026-10-07'),
      fc.integer({ min: -720, max: 840 }),
      fc.integer({ min: 0, max: 60 * 24 * 60 }),
      (recurring, startDay, offsetMinutes, minutes) => {
        const nowMs = NOVEMBER.startMs + minutes * 60_000;
        const configurations = [windowed(recurring, { offsetMinutes, ...(startDay === undefined ? {} : { startDay }) })];
        const schedules: Schedules = { ...NO_SCHEDULES, aks: { known: true, configurations } };
        const isOff = (maintenance: 'avoid' | 'only'): boolean =>
          scheduleOf(schedules, { ...GROUP, maintenance }, nowMs)?.scaleDown !== undefined;
        return isOff('avoid') || isOff('only');
      },
    ),
    casesOf(13, 200),
  );
});
