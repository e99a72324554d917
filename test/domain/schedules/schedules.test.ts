/** What rules say of a group at a time: their order, their bounds, and nodes that are ready when a rule begins. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectedStartMs, scheduleOf, type ScheduledGroup } from '../../../src/domain/schedules/schedules.ts';
import { MAX_POOL_NODES } from '../../../src/domain/platform-limits.ts';
import { NO_SCHEDULES, type ScheduleRule } from '../../../src/domain/schedule-rules.ts';
import { casesOf } from '../../support/property-runs.ts';
import { schedulesOf } from '../../support/schedules.ts';

const MINUTE = 60_000;
// A Friday.
const at = (time: string, day = '2026-11-27'): number => Date.parse(`${day}T${time}Z`);
const GROUP: ScheduledGroup = { names: ['aks-general-1-vmss', 'general'], min: 1, max: 10, bootMs: 0, maintenance: undefined };
const DAYTIME = 'days: Mon-Fri, from: "07:30", to: "19:30"';

function says(rules: string, nowMs: number, group: Partial<ScheduledGroup> = {}) {
  const found = scheduleOf(schedulesOf(`rules: [${rules}]`), { ...GROUP, ...group }, nowMs);
  const { min, max, scaleDown, pause, repack, headroom } = found ?? {};
  return { min: min?.value, max: max?.value, off: scaleDown?.rule, pause: pause?.rule, repack: repack?.value, headroom: headroom?.value };
}
const NOTHING = { min: undefined, max: undefined, off: undefined, pause: undefined, repack: undefined, headroom: undefined };

describe('rules that hold', () => {
  it.each([
    ['in its time', `{${DAYTIME}, min: 6}`, '12:00', { min: 6 }],
    ['from its first minute', `{${DAYTIME}, min: 6}`, '07:30', { min: 6 }],
    ['until its last', `{${DAYTIME}, min: 6}`, '19:29', { min: 6 }],
    ['not at its end', `{${DAYTIME}, min: 6}`, '19:30', {}],
    ['of another pool', `{pools: [gpu*], ${DAYTIME}, min: 6}`, '12:00', {}],
    ['of a pattern, in any letter case', `{pools: [GEN*], ${DAYTIME}, min: 6}`, '12:00', { min: 6 }],
    ['the last of two', `{min: 3}, {${DAYTIME}, min: 6}`, '12:00', { min: 6 }],
    ['the last of two, although it is less', `{${DAYTIME}, min: 6}, {min: 3}`, '12:00', { min: 3 }],
    ['each matter for itself', `{min: 3, max: 8, repack: off}, {${DAYTIME}, min: 6}`, '12:00', { min: 6, max: 8, repack: 'off' }],
    ['a minimum above the maximum of another rule', `{min: 6}, {max: 3}`, '12:00', { min: 3, max: 3 }],
    ['above the maximum of the pool', `{min: 12, max: 15}`, '12:00', { min: 10, max: 10 }],
    ['below the minimum of the pool', `{min: 0, max: 0}`, '12:00', { min: 1, max: 1 }],
    ['no removals', `{${DAYTIME}, scaleDown: off}`, '12:00', { off: 1 }],
    ['no removals, as YAML 1.1 reads it', `{${DAYTIME}, scaleDown: false}`, '12:00', { off: 1 }],
    ['removals again', `{scaleDown: off}, {${DAYTIME}, scaleDown: on}`, '12:00', {}],
    ['removals in windows alone, outside', `{from: "20:00", to: "06:00", scaleDown: only}`, '12:00', { off: 1 }],
    ['removals in windows alone, inside', `{from: "20:00", to: "06:00", scaleDown: only}`, '21:00', {}],
    [
      'removals in one of two windows',
      `{from: "20:00", to: "06:00", scaleDown: only}, {from: "12:00", to: "13:00", scaleDown: only}`,
      '12:30',
      {},
    ],
    ['no removals inside of a window', `{from: "20:00", to: "06:00", scaleDown: only}, {scaleDown: off}`, '21:00', { off: 2 }],
    ['a pause', `{${DAYTIME}, pause: true}`, '12:00', { pause: 1 }],
    ['a pause that a later rule lifts', `{pause: true}, {${DAYTIME}, pause: false}`, '12:00', {}],
    ['headroom', `{${DAYTIME}, headroom: {nodes: 1}}`, '12:00', { headroom: [{ kind: 'nodes', nodes: 1 }] }],
  ])('%s', (_, rules, time, expected) => {
    expect(says(rules, at(time))).toEqual({ ...NOTHING, ...expected });
  });

  it('say until when, and windows until the next one begins', () => {
    const schedules = schedulesOf(`zone: Europe/Berlin\nrules: [{${DAYTIME}, min: 6}, {from: "20:00", to: "06:00", scaleDown: only}]`);
    const found = scheduleOf(schedules, GROUP, at('12:00'));
    expect(found?.min).toEqual({ value: 6, rule: 1, untilMs: at('18:30'), zone: 'Europe/Berlin' });
    expect(found?.scaleDown).toEqual({ value: 'off', rule: 2, untilMs: at('19:00'), zone: 'Europe/Berlin' });
    expect(found?.pool).toEqual({ names: GROUP.names, min: 1, max: 10 });
  });

  it.each([
    ['for the end of the rule', `{${DAYTIME}, max: 6}`, 'max', { rule: 1, untilMs: at('19:30') }],
    ['for a later rule that decides then', `{max: 6}, {from: "14:00", to: "15:00", max: 8}`, 'max', { rule: 1, untilMs: at('14:00') }],
    ['not for an earlier one', `{from: "14:00", to: "15:00", max: 8}, {${DAYTIME}, max: 6}`, 'max', { rule: 2, untilMs: at('19:30') }],
    ['for a pause that is lifted', `{pause: true}, {from: "14:00", to: "15:00", pause: false}`, 'pause', { rule: 1, untilMs: at('14:00') }],
    [
      'for windows that are lifted before one begins',
      `{from: "20:00", to: "06:00", scaleDown: only}, {from: "14:00", to: "15:00", scaleDown: on}`,
      'scaleDown',
      { rule: 1, untilMs: at('14:00') },
    ],
    ['a rule without an end is open', '{max: 6}', 'max', { rule: 1, untilMs: at('00:00', '2026-12-07'), isOpen: true }],
    [
      'windows of a far day are open',
      '{dates: "2027-03-01", scaleDown: only}',
      'scaleDown',
      { rule: 1, untilMs: at('00:00', '2026-12-07'), isOpen: true },
    ],
  ] as const)('say until when: %s', (_, rules, matter, expected) => {
    const found = scheduleOf(schedulesOf(`rules: [${rules}]`), GROUP, at('12:00'))?.[matter];
    expect(found).toMatchObject(expected);
    expect(found?.isOpen).toBe('isOpen' in expected ? true : undefined);
  });

  it('are nothing without rules', () => {
    expect(scheduleOf(NO_SCHEDULES, GROUP, at('12:00'))).toBeUndefined();
  });
});

describe('a minimum that begins soon', () => {
  it.each([
    ['is prepared for the learned start of a node', `{${DAYTIME}, min: 6}`, '07:26', { min: 6 }],
    ['is not prepared earlier', `{${DAYTIME}, min: 6}`, '07:25', {}],
    ['is prepared for pulls of images, too', `{${DAYTIME}, min: 6, ahead: 2m}`, '07:24', { min: 6 }],
    ['lifts a maximum that ends then', `{${DAYTIME}, min: 6}, {from: "19:30", to: "07:30", max: 2}`, '07:27', { min: 6, max: 6 }],
    ['does not lift a maximum that lasts', `{${DAYTIME}, min: 6}, {max: 2}`, '07:27', { min: 2, max: 2 }],
    ['is not prepared where a later rule decides then', `{${DAYTIME}, min: 6}, {min: 2}`, '07:27', { min: 2 }],
    ['does not lower what holds', `{from: "00:00", to: "07:30", min: 8}, {${DAYTIME}, min: 6}`, '07:27', { min: 8 }],
    ['is prepared although it is shorter than the start', '{from: "07:30", to: "07:31", min: 6}', '07:27', { min: 6 }],
  ])('%s', (_, rules, time, expected) => {
    expect(says(rules, at(time), { bootMs: 4 * MINUTE })).toEqual({ ...NOTHING, ...expected });
  });

  it('is the one that says the maximum which it lifts', () => {
    const rules = schedulesOf(`rules: [{max: 0}, {${DAYTIME}, min: 6, max: 9}]`);
    const found = scheduleOf(rules, { ...GROUP, min: 0, bootMs: 4 * MINUTE }, at('07:27'));
    expect(found?.max).toEqual({ value: 6, rule: 2, fromMs: at('07:30'), untilMs: at('19:30'), zone: 'UTC' });
  });

  it('says when it begins', () => {
    const found = scheduleOf(schedulesOf(`rules: [{${DAYTIME}, min: 6}]`), { ...GROUP, bootMs: 4 * MINUTE }, at('07:27'));
    expect(found?.min).toEqual({ value: 6, rule: 1, fromMs: at('07:30'), untilMs: at('19:30'), zone: 'UTC' });
  });
});

const size = fc.integer({ min: 0, max: MAX_POOL_NODES });
const minute = fc.integer({ min: 0, max: 1440 });
const aRule: fc.Arbitrary<Omit<ScheduleRule, 'number'>> = fc.record({
  pools: fc.constantFrom<readonly string[]>([], ['general'], ['gen*'], ['other']),
  zone: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
  weekdays: fc.subarray([0, 1, 2, 3, 4, 5, 6]),
  dates: fc.constant(undefined),
  except: fc.constant([]),
  from: minute.map((each) => Math.min(each, 1439)),
  to: minute,
  aheadMs: fc.integer({ min: 0, max: 20 * MINUTE }),
  says: fc.record({ min: size, max: size }, { requiredKeys: [] }),
});

it('no rule passes the limits of a pool or of AKS, and no minimum the maximum', () => {
  fc.assert(
    fc.property(
      fc.array(aRule, { maxLength: 6 }),
      fc.tuple(size, size),
      fc.integer({ min: at('00:00', '2026-10-23'), max: at('00:00', '2026-10-27') }),
      fc.integer({ min: 0, max: 30 * MINUTE }),
      (drawn, [one, other], nowMs, bootMs) => {
        const rules = drawn.map((rule, index) => ({ ...rule, number: index + 1 }));
        const pool = { min: Math.min(one, other), max: Math.max(one, other) };
        const found = scheduleOf({ ...NO_SCHEDULES, rules }, { names: ['general'], ...pool, bootMs, maintenance: undefined }, nowMs);
        const [min, max] = [found?.min?.value ?? pool.min, found?.max?.value ?? pool.max];
        return pool.min <= min && min <= max && max <= pool.max && max <= MAX_POOL_NODES;
      },
    ),
    casesOf(11, 100),
  );
});

it.each([
  ['none was seen', [], 5],
  ['they are fast', [1, 1], 5],
  ['nine of ten need at most that', [6, 6, 6, 6, 6, 6, 6, 6, 6, 40], 10],
  ['it is a whole step', [10], 10],
])('a start is expected to take a whole number of steps, if %s', (_, minutes, expected) => {
  expect(expectedStartMs(minutes.map((each) => each * MINUTE)) / MINUTE).toBe(expected);
});
