/** When rules hold, compared minute by minute with what clocks of the zone show. */
import { describe, expect, it } from 'vitest';
import { timetable, timetableAt } from '../../../src/domain/schedules/times.ts';
import { dayAfter, localTimeAt, weekdayOf } from '../../../src/domain/schedules/local-time.ts';
import { schedulesOf } from '../../support/schedules.ts';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const ms = (text: string): number => Date.parse(text);
const text = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16);

function spans(rule: string, from: string, to: string): readonly string[] {
  const schedules = schedulesOf(`rules: [${rule}]`);
  const [found = []] = timetable(schedules, { startMs: ms(from), endMs: ms(to) }).spans;
  return found.map(({ startMs, endMs }) => `${text(startMs)} ${text(endMs)}`);
}

describe('a rule holds', () => {
  it.each([
    [
      'on weekdays between two times',
      '{days: Mon-Fri, from: "07:30", to: "19:30", zone: Europe/Berlin, min: 1}',
      '2026-11-27',
      '2026-12-01',
      ['2026-11-27T06:30 2026-11-27T18:30', '2026-11-30T06:30 2026-11-30T18:30'],
    ],
    [
      'over midnight, named by the day on which it begins',
      '{days: Fri, from: "22:00", to: "06:00", min: 1}',
      '2026-11-27',
      '2026-11-30',
      ['2026-11-27T22:00 2026-11-28T06:00'],
    ],
    [
      'over midnight from the day before',
      '{days: Fri, from: "22:00", to: "06:00", min: 1}',
      '2026-11-28',
      '2026-11-29',
      ['2026-11-27T22:00 2026-11-28T06:00'],
    ],
    ['the whole weekend as one', '{days: Sat-Sun, min: 1}', '2026-11-26', '2026-12-02', ['2026-11-28T00:00 2026-11-30T00:00']],
    ['over Sunday', '{days: Sun-Mon, min: 1}', '2026-11-26', '2026-12-02', ['2026-11-29T00:00 2026-12-01T00:00']],
    [
      'from one and the same time for a day',
      '{days: Sat, from: "06:00", to: "06:00", min: 1}',
      '2026-11-26',
      '2026-12-02',
      ['2026-11-28T06:00 2026-11-29T06:00'],
    ],
    [
      'on dates',
      '{dates: ["2026-12-01..2026-12-02"], from: "10:00", min: 1}',
      '2026-11-26',
      '2026-12-09',
      ['2026-12-01T10:00 2026-12-02T00:00', '2026-12-02T10:00 2026-12-03T00:00'],
    ],
    [
      'on days of every year, over its end',
      '{dates: ["12-31..01-01"], min: 1}',
      '2026-12-20',
      '2027-01-09',
      ['2026-12-31T00:00 2027-01-02T00:00'],
    ],
    [
      'on those dates that are such days',
      '{dates: ["12-24..12-27"], days: Mon-Fri, min: 1}',
      '2026-12-20',
      '2027-01-09',
      ['2026-12-24T00:00 2026-12-26T00:00'],
    ],
    [
      'not on excepted dates',
      '{days: Thu-Sat, except: ["12-25"], min: 1}',
      '2026-12-23',
      '2026-12-28',
      ['2026-12-24T00:00 2026-12-25T00:00', '2026-12-26T00:00 2026-12-27T00:00'],
    ],
    [
      'an hour less when clocks are set forward',
      '{from: "01:00", to: "04:00", zone: Europe/Berlin, min: 1}',
      '2026-03-29',
      '2026-03-29T12:00Z',
      ['2026-03-29T00:00 2026-03-29T02:00'],
    ],
    [
      'an hour more when clocks are set back',
      '{from: "01:00", to: "04:00", zone: Europe/Berlin, min: 1}',
      '2026-10-25',
      '2026-10-25T12:00Z',
      ['2026-10-24T23:00 2026-10-25T03:00'],
    ],
    [
      'not at all in an hour that never comes',
      '{from: "02:00", to: "03:00", zone: Europe/Berlin, min: 1}',
      '2026-03-29',
      '2026-03-29T12:00Z',
      [],
    ],
    [
      'once in an hour that comes twice',
      '{from: "02:15", to: "02:45", zone: Europe/Berlin, min: 1}',
      '2026-10-25',
      '2026-10-25T12:00Z',
      ['2026-10-25T00:15 2026-10-25T00:45'],
    ],
    [
      'in the southern hemisphere',
      '{days: Mon-Fri, from: "08:00", to: "18:00", zone: Australia/Adelaide, min: 1}',
      '2026-04-03',
      '2026-04-07',
      ['2026-04-02T21:30 2026-04-03T07:30', '2026-04-05T22:30 2026-04-06T08:30', '2026-04-06T22:30 2026-04-07T08:30'],
    ],
  ])('%s', (_, rule, from, to, expected) => {
    expect(spans(rule, from, to)).toEqual(expected);
  });

  // Weeks with a change of clocks, in zones with and without half hours, on both hemispheres.
  it.each([
    ['Europe/Berlin', '2026-03-26'],
    ['Europe/Berlin', '2026-10-22'],
    ['America/St_Johns', '2026-03-06'],
    ['America/St_Johns', '2026-10-30'],
    ['Australia/Adelaide', '2026-10-02'],
    ['Australia/Lord_Howe', '2026-04-03'],
  ])('in %s from %s as clocks there show, minute by minute', (zone, first) => {
    const rules = [
      { from: '07:30', to: '19:30', begin: 450, end: 1170 },
      { from: '22:15', to: '05:45', begin: 1335, end: 345 },
    ];
    const schedules = schedulesOf(
      `zone: ${zone}\nrules: [${rules.map(({ from, to }) => `{days: Thu-Sun, from: "${from}", to: "${to}", min: 1}`).join()}]`,
    );
    const [startMs, endMs] = [ms(`${first}T00:00Z`), ms(`${first}T00:00Z`) + 6 * DAY];
    const table = timetable(schedules, { startMs, endMs });
    const wrong: string[] = [];
    for (let atMs = startMs; atMs < endMs; atMs += 5 * MINUTE) {
      const { day, minute } = localTimeAt(atMs, zone);
      rules.forEach(({ begin, end }, index) => {
        const begins = end > begin || minute >= begin ? day : dayAfter(day, -1);
        const isDay = [4, 5, 6, 0].includes(weekdayOf(begins));
        const expected = isDay && (end > begin ? minute >= begin && minute < end : minute >= begin || minute < end);
        const holds = (table.spans[index] ?? []).some((span) => span.startMs <= atMs && atMs < span.endMs);
        if (holds !== expected) wrong.push(`${index} ${text(atMs)} ${holds}`);
      });
    }
    expect(wrong).toEqual([]);
  });
});

it('the times around now are found once a day, and again after a jump of the clock', () => {
  const schedules = schedulesOf('rules: [{min: 1}]');
  const nowMs = ms('2026-11-27T10:00Z');
  const table = timetableAt(schedules, nowMs);
  expect(timetableAt(schedules, nowMs + 13 * 60 * MINUTE)).toBe(table);
  const later = timetableAt(schedules, nowMs + 365 * DAY);
  expect([later.fromMs < nowMs + 365 * DAY, later.toMs > nowMs + 372 * DAY]).toEqual([true, true]);
  expect(timetableAt(schedules, nowMs)).toEqual(table);
});
