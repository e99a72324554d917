/** Schedules as people write them: every form, what each wrong form is told, and calendars that are files. */
import { describe, expect, it } from 'vitest';
import { configOf, errorsOf } from '../support.ts';
import { schedulesOf } from '../../support/schedules.ts';

const given = (written: string, files: Readonly<Record<string, string>> = {}) => ({
  argv: ['--config=c'],
  files: { ...files, c: `schedules: ${written}` },
});
const ruleOf = (written: string) => schedulesOf(`rules: [{min: 1, ${written}}]`).rules[0];

const calendar = (...events: readonly string[]): string =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    ...events.flatMap((lines) => ['BEGIN:VEVENT', ...lines.split('|'), 'END:VEVENT']),
    'END:VCALENDAR',
  ].join('\r\n');

describe('a rule', () => {
  it('holds always, everywhere, if nothing else is written', () => {
    expect(schedulesOf('rules: [{min: 1}]').rules).toEqual([
      {
        number: 1,
        pools: [],
        zone: 'UTC',
        weekdays: [0, 1, 2, 3, 4, 5, 6],
        dates: undefined,
        except: [],
        from: 0,
        to: 1440,
        aheadMs: 0,
        says: { min: 1 },
      },
    ]);
  });

  it.each([
    ['days: Mon-Fri', { weekdays: [1, 2, 3, 4, 5] }],
    ['days: "sat, sun"', { weekdays: [0, 6] }],
    ['days: [Fri-Mon, wed]', { weekdays: [0, 1, 3, 5, 6] }],
    ['from: "7:05", to: "24:00"', { from: 425, to: 1440 }],
    ['pools: [General, gpu*]', { pools: ['general', 'gpu*'] }],
    ['dates: "2026-12-24"', { dates: [{ first: '2026-12-24', last: '2026-12-24' }] }],
    [
      'dates: ["2026-12-24..2027-01-06", "05-01"]',
      {
        dates: [
          { first: '2026-12-24', last: '2027-01-06' },
          { first: '05-01', last: '05-01' },
        ],
      },
    ],
    ['ahead: 5m', { aheadMs: 300_000 }],
    ['zone: Asia/Kolkata', { zone: 'Asia/Kolkata' }],
    ['scaleDown: off', { says: { min: 1, scaleDown: 'off' } }],
    ['scaleDown: only, repack: on', { says: { min: 1, scaleDown: 'only', repack: 'on' } }],
    ['headroom: {nodes: 2}', { says: { min: 1, headroom: [{ kind: 'nodes', nodes: 2 }] } }],
  ])('with %s', (written, expected) => {
    expect(ruleOf(written)).toMatchObject(expected);
  });

  it('takes the zone and the time ahead of all rules', () => {
    expect(schedulesOf('zone: Europe/Berlin\nahead: 2m\nrules: [{min: 1}]').rules[0]).toMatchObject({
      zone: 'Europe/Berlin',
      aheadMs: 120_000,
    });
  });

  it('takes dates from calendars, by list and by file', () => {
    const ics = calendar(
      'DTSTART;VALUE=DATE:20261225|DTEND;VALUE=DATE:20261227|SUMMARY:a long li\r\n ne',
      'DTSTART;VALUE=DATE:20260501|RRULE:FREQ=YEARLY',
    );
    const [rule] = schedulesOf(
      'calendars: [{name: own, dates: ["2026-12-24"]}, {name: public, file: /h.ics}]\nrules: [{min: 1, dates: [own, "2026-12-31"], except: public}]',
      { '/h.ics': ics },
    ).rules;
    expect(rule?.dates).toEqual([
      { first: '2026-12-24', last: '2026-12-24' },
      { first: '2026-12-31', last: '2026-12-31' },
    ]);
    expect(rule?.except).toEqual([
      { first: '2026-12-25', last: '2026-12-26' },
      { first: '05-01', last: '05-01' },
    ]);
  });
});

it.each([
  ['{zone: Berlin, rules: []}', 'is "Berlin"; it must be a time zone such as Europe/Berlin or UTC.'],
  ['{rules: [{days: Mon-Fri}]}', 'it must be a rule with at least one of min, max, headroom, scaleDown, repack, pause.'],
  ['{rules: [{min: 3, max: 2}]}', 'schedules.rules[0].min of c, line 1 is 3; it must be a minimum that is not above max.'],
  ['{rules: [{min: 1, days: Mo-Fr}]}', 'it must be days such as Mon-Fri or Sat,Sun.'],
  ['{rules: [{min: 1, from: 07:60}]}', 'it must be a time of day in quotes'],
  ['{rules: [{min: 1, from: 450}]}', 'schedules.rules[0].from of c, line 1 is 450; it must be a time of day in quotes'],
  ['{rules: [{min: 1, dates: ["2026-02-30"]}]}', 'it must be dates such as "2026-12-24"'],
  ['{rules: [{min: 1, dates: ["2026-03-01..2026-02-01"]}]}', 'it must be dates such as "2026-12-24"'],
  ['{rules: [{min: 1, except: holidays}]}', 'it must be the name of a calendar in schedules.calendars'],
  ['{calendars: [{name: a, dates: []}, {name: a, dates: []}]}', 'it must be a name that no other calendar has.'],
  ['{calendars: [{name: a}]}', 'it must be a calendar with either dates or file.'],
  ['{rules: [{scaleDown: never}]}', 'it must be one of on, off, only.'],
  ['{rules: [{min: 1001}]}', 'it must be a whole number from 0 to 1000.'],
  ['{rules: [{min: 1, pools: []}]}', 'it must be a list of names of pools'],
  ['{rules: [{min: 1, form: "07:30"}]}', 'key schedules.rules[0].form of c, line 1 is not known'],
  ['{calendars: [{name: a, file: /no.ics}]}', 'schedules.calendars file is "/no.ics": the file does not exist.'],
])('refuses %s', (written, message) => {
  expect(errorsOf(given(written)).join('\n')).toContain(message);
});

describe('an iCalendar file', () => {
  const file = (ics: string) => given('{calendars: [{name: a, file: /h.ics}], rules: [{min: 1, dates: a}]}', { '/h.ics': ics });

  it.each([
    ['of something else', 'hello', 'it is not an iCalendar file'],
    ['without whole days', calendar('DTSTART:20261225T100000Z'), 'it has no event of a whole day'],
    [
      'with days that cannot be certain',
      calendar('DTSTART;VALUE=DATE:20261126|RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH'),
      'repeats in a way that is not supported',
    ],
    ['with more dates of one event', calendar('DTSTART;VALUE=DATE:20261225|RDATE;VALUE=DATE:20271227'), 'is not supported (RDATE)'],
    [
      'with a yearly day that is moved once',
      calendar('DTSTART;VALUE=DATE:20260501|RRULE:FREQ=YEARLY', 'RECURRENCE-ID;VALUE=DATE:20270501|DTSTART;VALUE=DATE:20270503'),
      'it has another event in place of a repeated one on 2027-05-01',
    ],
    [
      'with a length that is not whole days',
      calendar('DTSTART;VALUE=DATE:20261225|DURATION:PT36H'),
      'the length of its event of 2026-12-25 is not whole days (PT36H)',
    ],
  ])('%s is refused', (_, ics, message) => {
    expect(errorsOf(file(ics)).join()).toContain(message);
  });

  it.each([
    ['DURATION:P2D', '2026-12-26'],
    ['DURATION:P1W', '2026-12-31'],
    ['DURATION:P1D|DTEND;VALUE=DATE:20261228', '2026-12-27'],
  ])('has the days of an event with %s', (length, last) => {
    const [rule] = configOf(file(calendar(`DTSTART;VALUE=DATE:20261225|${length}`))).azure.schedules.rules;
    expect(rule?.dates).toEqual([{ first: '2026-12-25', last }]);
  });

  it('leaves out events of an hour and those that were called off, and says so', () => {
    const ics = calendar('DTSTART;VALUE=DATE:20261225', 'DTSTART:20261224T100000Z', 'DTSTART;VALUE=DATE:20261224|STATUS:CANCELLED');
    const config = configOf(file(ics));
    expect(config.azure.schedules.rules[0]?.dates).toEqual([{ first: '2026-12-25', last: '2026-12-25' }]);
    expect(config.warnings.join()).toContain('2 events of the calendar "/h.ics" have no effect');
  });
});

it('a minimum that adds no node is a warning', () => {
  const files = { c: 'scaleUp: {enforceMinSize: false}\nschedules: {rules: [{min: 1}]}' };
  expect(configOf({ argv: ['--config=c'], files }).warnings.join()).toContain('min of schedules adds no node');
});
