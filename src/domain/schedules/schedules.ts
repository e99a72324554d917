/**
 * What schedules say of one group at one time. Of several rules that hold, the last one that says something about a matter decides it. Rules move
 * inside the limits of the pool, and no minimum passes the maximum. Must not know where rules are written.
 */
import { summarizeDurations } from '../history.ts';
import { spanAt, timetableAt, type Timetable } from './times.ts';
import {
  isRuleFor,
  type GroupSchedule,
  type MaintenanceUse,
  type Said,
  type ScheduleRule,
  type Schedules,
  type ScheduleStatements,
} from '../schedule-rules.ts';

export interface ScheduledGroup {
  /** All names of the group and of its pool. */
  readonly names: readonly string[];
  /** The limits of the pool without schedules; the maximum is not above that of the platform. */
  readonly min: number;
  readonly max: number;
  /** How long a new node takes until it is ready. */
  readonly bootMs: number;
  /** Whether removals keep out of the hours of AKS or to them. undefined: neither. */
  readonly maintenance: Exclude<MaintenanceUse, 'ignore'> | undefined;
}

const STEP_MS = 5 * 60_000;

/** How long a node is expected to take until it is ready. `times`: those of the last ones. */
export function expectedStartMs(times: readonly number[] = []): number {
  // guard: nodes that were prepared do not lose their minimum because they came sooner than others
  return Math.max(1, Math.ceil((summarizeDurations(times)?.p90Ms ?? 0) / STEP_MS)) * STEP_MS;
}

/** undefined: no rule is about the group, and it does not care for the hours of AKS. `table`: of these rules, if `nowMs` is not the time of this loop. */
export function scheduleOf(
  schedules: Schedules,
  group: ScheduledGroup,
  nowMs: number,
  table: Timetable = timetableAt(schedules, nowMs),
): GroupSchedule | undefined {
  const rules = schedules.rules.filter((rule) => isRuleFor(rule, group.names));
  const { maintenance } = group;
  if (rules.length === 0 && maintenance === undefined) return undefined;
  const moment = { rules, table, nowMs };
  const now = holdingAt(moment);
  const limits = withEarlyMinimum(limitsAt(now, group), { ...moment, group });
  return {
    ...limits,
    headroom: lastWord(now, 'headroom'),
    repack: lastWord(now, 'repack'),
    // guard: what keeps nodes longest is what is said of removals
    scaleDown: lastToEnd(removalsOff(now, moment), removalsOffByAks(maintenance, table, nowMs)),
    // guard: while the hours of AKS are not known, nothing is removed where they matter
    hoursUnknown: maintenance === undefined || schedules.aks.known ? undefined : schedules.aks.reason,
    pause: pauseOf(now),
    pool: { names: group.names, min: group.min, max: group.max, maintenance },
  };
}

/** The rules that hold at a time, and until when each does. */
interface Holding extends Moment {
  readonly holding: readonly { readonly rule: ScheduleRule; readonly untilMs: number }[];
}

function holdingAt(moment: Moment): Holding {
  const holding = moment.rules.flatMap((rule) => {
    const span = spanAt(moment.table.spans[rule.number - 1] ?? [], moment.nowMs);
    return span === undefined ? [] : [{ rule, untilMs: span.endMs }];
  });
  return { ...moment, holding };
}

/** `rules`: those that may decide the matter, if not all. */
function lastWord<Matter extends keyof ScheduleStatements>(
  { holding, ...moment }: Holding,
  matter: Matter,
  decides: (rule: ScheduleRule) => boolean = () => true,
): Said<NonNullable<ScheduleStatements[Matter]>> | undefined {
  const may = (rule: ScheduleRule): boolean => rule.says[matter] !== undefined && decides(rule);
  const found = holding.findLast(({ rule }) => may(rule));
  const value = found?.rule.says[matter];
  if (found === undefined || value === undefined) return undefined;
  const { rule, untilMs } = found;
  const next = nextOf(moment, (other) => other.number > rule.number && may(other));
  return { value, rule: rule.number, ...endOf(Math.min(untilMs, next?.startMs ?? untilMs), moment.table.toMs), zone: rule.zone };
}

/** The first of these rules to begin. */
function nextOf({ rules, table, nowMs }: Moment, isOne: (rule: ScheduleRule) => boolean) {
  let next: { readonly rule: ScheduleRule; readonly startMs: number } | undefined;
  for (const rule of rules) {
    const span = isOne(rule) ? (table.spans[rule.number - 1] ?? []).find(({ startMs }) => startMs > nowMs) : undefined;
    if (span !== undefined && span.startMs < (next?.startMs ?? Infinity)) next = { rule, startMs: span.startMs };
  }
  return next;
}

/** An end within the times that are known, or the end of these. */
function endOf(untilMs: number, knownToMs: number): Pick<Said<unknown>, 'untilMs' | 'isOpen'> {
  return untilMs < knownToMs ? { untilMs } : { untilMs: knownToMs, isOpen: true };
}

type Limits = Pick<GroupSchedule, 'min' | 'max'>;

/** Inside the limits of the pool; the maximum bounds the minimum. */
function limitsAt(holding: Holding, { min: least, max: most }: ScheduledGroup): Limits {
  const [min, max] = [lastWord(holding, 'min'), lastWord(holding, 'max')];
  // guard: a rule moves no limit of a pool outside of the pool's own
  const inside = (value: number): number => Math.min(Math.max(value, least), most);
  const top = max === undefined ? undefined : { ...max, value: inside(max.value) };
  // guard: no minimum of a rule passes a maximum
  const bottom = min === undefined ? undefined : { ...min, value: Math.min(inside(min.value), top?.value ?? most) };
  return { min: bottom, max: top };
}

interface Moment {
  readonly rules: readonly ScheduleRule[];
  readonly table: Timetable;
  readonly nowMs: number;
}

/** A minimum is prepared so long before it begins that its nodes are ready then. A maximum that ends then gives way. */
function withEarlyMinimum(now: Limits, { rules, table, group, nowMs }: Moment & { readonly group: ScheduledGroup }): Limits {
  let limits = now;
  for (const rule of rules) {
    if (rule.says.min === undefined) continue;
    const leadMs = group.bootMs + rule.aheadMs;
    const begins = (table.spans[rule.number - 1] ?? []).filter(({ startMs }) => startMs > nowMs && startMs <= nowMs + leadMs);
    for (const { startMs } of begins) {
      const { min: then } = limitsAt(holdingAt({ rules, table, nowMs: startMs }), group);
      if (then === undefined || then.rule !== rule.number || then.value <= (limits.min?.value ?? group.min)) continue;
      const early = { ...then, fromMs: startMs };
      const max = limits.max !== undefined && limits.max.value < then.value ? early : limits.max;
      limits = { min: early, max };
    }
  }
  return limits;
}

function pauseOf(holding: Holding): Said<true> | undefined {
  const said = lastWord(holding, 'pause');
  return said?.value === true ? { ...said, value: true } : undefined;
}

/** A rule that says `off`, or rules that say `only` while none of them holds: then until the first of them begins. */
function removalsOff(now: Holding, { rules, table, nowMs }: Moment): Said<'off'> | undefined {
  const isWindow = ({ says }: ScheduleRule): boolean => says.scaleDown === 'only';
  const said = lastWord(now, 'scaleDown', (rule) => !isWindow(rule));
  if (said?.value === 'off') return { ...said, value: 'off' };
  const first = rules.find(isWindow);
  // guard: outside of the windows for removals nothing is removed
  if (first === undefined || said?.value === 'on' || now.holding.some(({ rule }) => isWindow(rule))) return undefined;
  const next = nextOf({ rules, table, nowMs }, (rule) => isWindow(rule) || rule.says.scaleDown === 'on');
  const { rule, startMs } = next ?? { rule: first, startMs: table.toMs };
  return { value: 'off', rule: isWindow(rule) ? rule.number : first.number, ...endOf(startMs, table.toMs), zone: rule.zone };
}

/** The hours of AKS, for groups that keep out of them, or the times between them. */
function removalsOffByAks(maintenance: ScheduledGroup['maintenance'], { aks, aksToMs }: Timetable, nowMs: number): Said<'off'> | undefined {
  const said = (untilMs: number) => ({ value: 'off', rule: 'maintenance', ...endOf(untilMs, aksToMs), zone: 'UTC' }) as const;
  if (maintenance === undefined || aks === undefined) return undefined;
  if (maintenance === 'avoid') {
    // guard: nodes are not removed in the hours of AKS where these are avoided
    const span = spanAt(aks.possible, nowMs);
    return span === undefined ? undefined : said(span.endMs);
  }
  // guard: nodes are not removed outside of the hours of AKS where removals keep to them
  if (spanAt(aks.certain, nowMs) !== undefined) return undefined;
  return said(aks.certain.find(({ startMs }) => startMs > nowMs)?.startMs ?? aksToMs);
}

function lastToEnd(one: Said<'off'> | undefined, other: Said<'off'> | undefined): Said<'off'> | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.untilMs > one.untilMs ? other : one;
}
