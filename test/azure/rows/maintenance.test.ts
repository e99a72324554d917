/** Maintenance configurations as AKS documents them, and other forms, which are not taken for configurations without hours. */
import { describe, expect, it } from 'vitest';
import { projectMaintenance } from '../../../src/azure/rows/maintenance.ts';

const WINDOW = { schedule: { daily: { intervalDays: 1 } }, durationHours: 4, utcOffset: '+05:30', startTime: '00:30' };
/** As Azure's JSON may hold it, whatever the model says. */
const from = (properties: object) => projectMaintenance({ name: 'default', ...properties });

describe('a maintenance configuration', () => {
  it.each([
    [{}, {}],
    [{ timeInWeek: null, notAllowedTime: null, maintenanceWindow: null }, {}],
    [
      { timeInWeek: [{ day: 'Monday', hourSlots: [1, 2] }, { day: 'Sunday' }] },
      {
        hours: [
          { weekday: 1, hour: 1 },
          { weekday: 1, hour: 2 },
        ],
      },
    ],
    [
      { notAllowedTime: [{ start: new Date('2026-11-26T03:00:00Z'), end: new Date('2026-11-30T12:00:00Z') }] },
      { except: [{ startMs: Date.parse('2026-11-26T03:00:00Z'), endMs: Date.parse('2026-11-30T12:00:00Z') }] },
    ],
    [
      { maintenanceWindow: WINDOW },
      { window: { recurrence: { kind: 'days', every: 1 }, hours: 4, offsetMinutes: 330, startMinute: 30, except: [] } },
    ],
    [
      {
        maintenanceWindow: {
          ...WINDOW,
          schedule: { weekly: { intervalWeeks: 3, dayOfWeek: 'Friday' } },
          utcOffset: '-08:00',
          startDate: new Date('2026-11-06'),
          notAllowedDates: [{ start: new Date('2026-12-23'), end: new Date('2027-01-05') }],
        },
      },
      {
        window: {
          recurrence: { kind: 'weeks', every: 3, weekday: 5 },
          hours: 4,
          offsetMinutes: -480,
          startMinute: 30,
          startDay: '2026-11-06',
          except: [{ first: '2026-12-23', last: '2027-01-05' }],
        },
      },
    ],
    [
      { maintenanceWindow: { ...WINDOW, schedule: { absoluteMonthly: { intervalMonths: 3, dayOfMonth: 15 } } } },
      { window: { recurrence: { kind: 'day-of-month', every: 3, day: 15 } } },
    ],
    [
      {
        maintenanceWindow: {
          ...WINDOW,
          utcOffset: null,
          schedule: { relativeMonthly: { intervalMonths: 1, weekIndex: 'Last', dayOfWeek: 'Monday' } },
        },
      },
      { window: { recurrence: { kind: 'weekday-of-month', every: 1, week: 'last', weekday: 1 }, offsetMinutes: 0 } },
    ],
  ])('%j', (given, expected) => {
    expect(from(given)).toMatchObject({ name: 'default', hours: [], except: [], ...expected });
  });

  it.each([
    ['another kind of schedule', { schedule: { yearly: { intervalYears: 1 } } }],
    ['no schedule', { schedule: {} }],
    ['another week', { schedule: { relativeMonthly: { intervalMonths: 1, weekIndex: 'Fifth', dayOfWeek: 'Monday' } } }],
    ['another day', { schedule: { weekly: { intervalWeeks: 1, dayOfWeek: 'Someday' } } }],
    ['an interval that is no number', { schedule: { daily: {} } }],
    ['no duration', { durationHours: undefined }],
    ['a time of day that does not exist', { startTime: '25:00' }],
    ['an offset by name', { utcOffset: 'Europe/Berlin' }],
    ['a date that is none', { startDate: new Date('soon') }],
  ])('is not understood with %s', (_, part) => {
    expect(() => from({ maintenanceWindow: { ...WINDOW, ...part } })).toThrow(/"default" has an undocumented form/);
  });

  it('is not understood with hours that no day has', () => {
    expect(() => from({ timeInWeek: [{ day: 'Monday', hourSlots: [24] }] })).toThrow(/undocumented form/);
    expect(() => from({ timeInWeek: [{ hourSlots: [1] }] })).toThrow(/undocumented form/);
  });
});
