/** What schedules say of a pool, as sentences: what holds now, and the steps to come. */
import { localText } from '../../domain/schedules/local-time.ts';
import { scheduleAhead, type ScheduleStep } from '../../domain/schedules/ahead.ts';
import { expectedStartMs } from '../../domain/schedules/schedules.ts';
import { describeSource, isRuleFor, type GroupSchedule, type Said, type SaidBy } from '../../domain/schedule-rules.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Headroom } from '../../domain/headroom.ts';
import { formatAmount } from './amounts.ts';

/** What rules say now, each part with its rule and its end. Empty: nothing. */
export function describeSchedule(schedule: GroupSchedule | undefined, nowMs: number): readonly string[] {
  const parts = partsOf(schedule).map(({ what, said }) => `${what} ${timeOf(said, nowMs)} by ${describeSource(said.rule)}`);
  return [...parts, ...unknownHours(schedule)];
}

/** The same in parts, for one rule after the other. */
export function scheduledParts(
  schedule: GroupSchedule | undefined,
  nowMs: number,
): readonly { readonly rule: SaidBy; readonly what: string; readonly when: string }[] {
  return partsOf(schedule).map(({ what, said }) => ({ rule: said.rule, what, when: timeOf(said, nowMs) }));
}

interface Part {
  readonly what: string;
  readonly said: Said<unknown>;
}

function partsOf(schedule: GroupSchedule | undefined): readonly Part[] {
  if (schedule === undefined) return [];
  const { min, max, headroom, repack, scaleDown, pause } = schedule;
  return [
    ...(min === undefined ? [] : [{ what: `min ${min.value}`, said: min }]),
    ...(max === undefined ? [] : [{ what: `max ${max.value}`, said: max }]),
    ...(headroom === undefined ? [] : [{ what: `headroom ${headroom.value.map(describeRoom).join(' and ') || 'none'}`, said: headroom }]),
    ...(pause === undefined ? [] : [{ what: 'paused', said: pause }]),
    ...(scaleDown === undefined || pause !== undefined ? [] : [{ what: 'no removals', said: scaleDown }]),
    ...(repack?.value === 'off' ? [{ what: 'no repacking', said: repack }] : []),
  ];
}

function unknownHours(schedule: GroupSchedule | undefined): readonly string[] {
  const { hoursUnknown } = schedule ?? {};
  return hoursUnknown === undefined ? [] : [`no removals, since AKS's maintenance windows are not known: ${hoursUnknown}`];
}

function timeOf({ fromMs, untilMs, isOpen, zone }: Said<unknown>, nowMs: number): string {
  if (fromMs !== undefined) return `prepared for ${localText(fromMs, zone, nowMs)}`;
  return `${isOpen === true ? 'at least ' : ''}until ${localText(untilMs, zone, nowMs)}`;
}

/** One step to come of one pool. */
export interface StepAhead {
  readonly at: string;
  /** The time as clocks of the rule's zone show it. */
  readonly local: string;
  readonly min: number;
  readonly max: number;
  /** `min 6 (rule 2), no removals (rule 3)`; what holds without rules is not named. */
  readonly text: string;
  readonly rules: readonly number[];
}

/** What schedules change in a pool until a time. The first step is what holds now. Empty: nothing is about it. */
export function stepsAhead(
  group: NodeGroup,
  { observation: { cloud, nowMs }, state }: { readonly observation: Observation; readonly state: Pick<LoopState, 'readyTimes'> },
  forMs: number,
): readonly StepAhead[] {
  if (group.schedule === undefined) return [];
  const bootMs = expectedStartMs(state.readyTimes.get(group.id));
  const steps = scheduleAhead(cloud.schedules, { ...group.schedule.pool, bootMs }, { startMs: nowMs, endMs: nowMs + forMs });
  const { names } = group.schedule.pool;
  const zone = cloud.schedules.rules.find((rule) => isRuleFor(rule, names))?.zone ?? 'UTC';
  return steps.map((step) => stepOf(step, zone));
}

function stepOf({ atMs, min, max, schedule }: ScheduleStep, zone: string): StepAhead {
  const parts = partsOf(schedule);
  const text = parts.map(({ what, said }) => {
    const early = said.fromMs === undefined ? '' : `, prepared for ${localText(said.fromMs, said.zone, atMs)}`;
    return `${what} (${said.rule === 'maintenance' ? "AKS's maintenance windows" : `rule ${said.rule}`}${early})`;
  });
  // The day is always there: steps are read as a list.
  const local = localText(atMs, parts[0]?.said.zone ?? zone, 0);
  const rules = [...new Set(parts.flatMap(({ said: { rule } }) => (rule === 'maintenance' ? [] : [rule])))];
  return {
    at: new Date(atMs).toISOString(),
    local,
    min,
    max,
    text: [...text, ...unknownHours(schedule)].join(', ') || 'the limits of the pool',
    rules,
  };
}

function describeRoom(room: Headroom): string {
  if (room.kind === 'nodes') return `of ${room.nodes} ${room.nodes === 1 ? 'node' : 'nodes'}`;
  if (room.kind === 'percent') return `of ${room.percent} %`;
  if (room.kind === 'copies') return `for ${room.count} of ${room.of.namespace}/${room.of.kind.toLowerCase()}/${room.of.name}`;
  return `of ${formatAmount('cpu', room.cpuMillis)} CPU and ${formatAmount('memory', room.memoryBytes)} memory`;
}
