import { describe, expect, it } from 'vitest';
import { dayAfter, instantOf, isZone, localText, localTimeAt, weekdayOf } from '../../../src/domain/schedules/local-time.ts';

const at = (zone: string, day: string, time: string): string => {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return new Date(instantOf({ day, minute: hour * 60 + minute }, zone)).toISOString().slice(0, 16);
};

describe('the instant of a local time', () => {
  it.each([
    ['UTC', '2026-03-29', '02:30', '2026-03-29T02:30'],
    ['Europe/Berlin', '2026-01-15', '07:30', '2026-01-15T06:30'],
    ['Europe/Berlin', '2026-07-15', '07:30', '2026-07-15T05:30'],
    // Set forward at 02:00 on 29 March: the time that never comes is the moment of the change.
    ['Europe/Berlin', '2026-03-29', '01:59', '2026-03-29T00:59'],
    ['Europe/Berlin', '2026-03-29', '02:00', '2026-03-29T01:00'],
    ['Europe/Berlin', '2026-03-29', '02:30', '2026-03-29T01:00'],
    ['Europe/Berlin', '2026-03-29', '03:00', '2026-03-29T01:00'],
    ['Europe/Berlin', '2026-03-29', '07:30', '2026-03-29T05:30'],
    ['Europe/Berlin', '2026-03-29', '00:00', '2026-03-28T23:00'],
    ['Europe/Berlin', '2026-03-29', '24:00', '2026-03-29T22:00'],
    // Set back at 03:00 on 25 October: the time that comes twice is the first.
    ['Europe/Berlin', '2026-10-25', '02:00', '2026-10-25T00:00'],
    ['Europe/Berlin', '2026-10-25', '02:30', '2026-10-25T00:30'],
    ['Europe/Berlin', '2026-10-25', '03:00', '2026-10-25T02:00'],
    ['Europe/Berlin', '2026-10-25', '07:30', '2026-10-25T06:30'],
    ['Europe/Berlin', '2026-10-25', '24:00', '2026-10-25T23:00'],
    ['America/New_York', '2026-03-08', '02:30', '2026-03-08T07:00'],
    ['America/New_York', '2026-11-01', '01:30', '2026-11-01T05:30'],
    // Half an hour beside whole hours, with and without daylight saving.
    ['Asia/Kolkata', '2026-03-29', '09:00', '2026-03-29T03:30'],
    ['America/St_Johns', '2026-03-08', '02:30', '2026-03-08T05:30'],
    ['America/St_Johns', '2026-11-01', '01:30', '2026-11-01T04:00'],
    // The southern hemisphere: forward in October, back in April.
    ['Australia/Adelaide', '2026-10-04', '02:30', '2026-10-03T16:30'],
    ['Australia/Adelaide', '2026-04-05', '02:30', '2026-04-04T16:00'],
    ['Australia/Adelaide', '2026-04-05', '08:00', '2026-04-04T22:30'],
    // Clocks that change by half an hour.
    ['Australia/Lord_Howe', '2026-10-04', '02:15', '2026-10-03T15:30'],
    ['Australia/Lord_Howe', '2026-04-05', '01:45', '2026-04-04T14:45'],
    // Midnight itself does not come: the day begins at 01:00.
    ['Africa/Cairo', '2026-04-24', '00:00', '2026-04-23T22:00'],
    // A day that a zone left out.
    ['Pacific/Apia', '2011-12-30', '12:00', '2011-12-30T10:00'],
  ])('%s %s %s', (zone, day, time, expected) => {
    expect(at(zone, day, time)).toBe(expected);
  });

  it.each(['America/St_Johns', 'Australia/Lord_Howe'])(
    'in %s is the first with that local time, or none has it, for each half hour of the months in which clocks change',
    (zone) => {
      for (let day = '2026-03-01'; day < '2026-12-01'; day = day === '2026-04-30' ? '2026-10-01' : dayAfter(day)) {
        let before = Number.NEGATIVE_INFINITY;
        for (let minute = 0; minute <= 1440; minute += 30) {
          const atMs = instantOf({ day, minute }, zone);
          expect(atMs, `${day} ${minute}`).toBeGreaterThanOrEqual(before);
          before = atMs;
          const shown = localTimeAt(atMs, zone);
          const shownMinute = shown.day === day ? shown.minute : shown.minute + 1440;
          expect(shownMinute, `${day} ${minute}`).toBeGreaterThanOrEqual(minute);
          // A minute earlier, clocks show an earlier time.
          const earlier = localTimeAt(atMs - 60_000, zone);
          expect(`${earlier.day} ${String(earlier.minute).padStart(4, '0')}` < `${day} ${String(minute).padStart(4, '0')}`).toBe(true);
        }
      }
    },
  );
});

it('zones are names of the platform, and no offsets', () => {
  expect(['UTC', 'Europe/Berlin', 'europe/berlin', 'Asia/Kolkata'].map(isZone)).toEqual([true, true, true, true]);
  expect(['', '+02:00', 'Europe/Atlantis', 'Berlin time', '../etc'].map(isZone)).toEqual([false, false, false, false, false]);
});

it('days are counted over months and leap years', () => {
  expect([dayAfter('2028-02-28'), dayAfter('2027-02-28'), dayAfter('2027-01-01', -1)]).toEqual(['2028-02-29', '2027-03-01', '2026-12-31']);
  expect([weekdayOf('2026-11-29'), weekdayOf('2026-12-05')]).toEqual([0, 6]);
});

it('a time is shown as clocks there show it, with its day if that is another one', () => {
  const nowMs = Date.parse('2026-11-27T12:00:00Z');
  expect(localText(Date.parse('2026-11-27T18:30:00Z'), 'Europe/Berlin', nowMs)).toBe('19:30 Europe/Berlin');
  expect(localText(Date.parse('2026-11-30T06:30:00Z'), 'Europe/Berlin', nowMs)).toBe('2026-11-30 07:30 Europe/Berlin');
});
