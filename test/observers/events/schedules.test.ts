import { expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { GroupSchedule } from '../../../src/domain/schedule-rules.ts';
import { scheduleOf } from '../../../src/domain/schedules/schedules.ts';
import { describeSchedule } from '../../../src/planning/explain/schedule-text.ts';
import { scheduleEvents } from '../../../src/observers/events/schedules.ts';
import { limitChanges } from '../../../src/observers/events/limit-changes.ts';
import { aCluster, aGroup, anObservation, START_MS } from '../../support/builders.ts';
import { aLoopReport } from '../../support/loop-report.ts';
import { schedulesOf } from '../../support/schedules.ts';
import { silentLog } from '../../support/silent-log.ts';

const HOUR = 3_600_000;
const RULES = schedulesOf('rules: [{from: "01:00", to: "02:00", min: 3}, {pools: [a], from: "01:00", to: "03:00", scaleDown: off}]');

/** The world begins at midnight; a node takes five minutes. */
function at(hours: number, names: readonly string[], schedules = RULES) {
  const nowMs = START_MS + hours * HOUR;
  const groups = names.map((id) => {
    const schedule: GroupSchedule | undefined = scheduleOf(
      schedules,
      { names: [id], min: 1, max: 10, bootMs: 5 * 60_000, maintenance: undefined },
      nowMs,
    );
    return { ...aGroup({ id }), id: nodeGroupId(id), minSize: schedule?.min?.value ?? 1, maxSize: 10, schedule };
  });
  const observation = anObservation(groups, aCluster(), { nowMs });
  return aLoopReport({ observation: { ...observation, cloud: { ...observation.cloud, schedules } } });
}

it('one event says for which pools a rule begins or ends to decide something, whatever their number', () => {
  const texts: string[] = [];
  const events = {
    record: ({ reason, message }: { readonly reason: string; readonly message: string }) => void texts.push(`${reason}: ${message}`),
  };
  const observe = scheduleEvents({ events, log: silentLog(), namespace: 'kube-system' });
  const limits = limitChanges(events, 'kube-system');
  for (const hours of [0.5, 0.9, 0.95, 0.99, 1, 1.5, 2, 2.5, 3]) {
    const report = at(hours, ['a', 'b', 'c', 'd', 'e']);
    observe(report);
    limits(report);
  }
  expect(texts).toEqual([
    'ScheduleRuleBegan: Schedule rule 1 for a, b, c and 2 more: min 3 prepared for 01:00 UTC',
    'ScheduleRuleBegan: Schedule rule 1 for a, b, c and 2 more: min 3 until 02:00 UTC',
    'ScheduleRuleBegan: Schedule rule 2 for a: no removals until 03:00 UTC',
    'ScheduleRuleEnded: Schedule rule 1 decides nothing any more',
    'ScheduleRuleEnded: Schedule rule 2 decides nothing any more',
  ]);
});

it('a rule that changes while it holds is an event once more, and one that stays is not', () => {
  const texts: string[] = [];
  const events = { record: ({ message }: { readonly message: string }) => void texts.push(message) };
  const observe = scheduleEvents({ events, log: silentLog(), namespace: 'kube-system' });
  observe(at(1, ['a'], schedulesOf('rules: [{to: "02:00", max: 9}, {to: "02:00", min: 3}]')));
  texts.splice(0);
  const changed = 'rules: [{to: "02:00", max: 9}, {to: "02:00", min: 4}]';
  observe(at(1.1, ['a'], schedulesOf(changed)));
  observe(at(1.2, ['a'], schedulesOf(changed)));
  expect(texts).toEqual(['Schedule rule 2 for a: min 4 until 02:00 UTC']);
});

it('of a rule without an end, it says until when it holds at least', () => {
  const schedule = scheduleOf(
    schedulesOf('rules: [{max: 8}]'),
    { names: ['a'], min: 1, max: 10, bootMs: 0, maintenance: undefined },
    START_MS,
  );
  expect(describeSchedule(schedule, START_MS)).toEqual(['max 8 at least until 2026-12-01 00:00 UTC by schedule rule 1']);
});
