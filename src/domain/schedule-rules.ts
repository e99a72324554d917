/**
 * Schedules: rules that hold in local time and say what holds for node groups meanwhile. What holds is a function of the rules and of the time alone,
 * so that a restart or a new leader at any minute changes nothing. Must not know Azure, nor how sizes are changed.
 */
import type { Headroom } from './headroom.ts';
import { matchesGlob } from '../lib/glob.ts';

/** Days as `2026-12-24`, or as `12-24` in every year. Both ends are included. */
export interface DateSpan {
  readonly first: string;
  readonly last: string;
}

/** What a rule says while it holds. If absent, it says nothing about that. */
export interface ScheduleStatements {
  readonly min?: number;
  readonly max?: number;
  readonly headroom?: readonly Headroom[];
  /** `off`: no node is removed. `on`: an earlier rule's `off` does not hold. `only`: none is removed while no such rule holds. */
  readonly scaleDown?: 'off' | 'on' | 'only';
  readonly repack?: 'off' | 'on';
  /** Neither increases nor removals. `false`: an earlier rule's `true` does not hold. */
  readonly pause?: boolean;
}

export interface ScheduleRule {
  /** Its place in the configuration, from 1. */
  readonly number: number;
  /** Names of groups, scale sets or agent pools in lower case, with `*` and `?`. Empty: every group. */
  readonly pools: readonly string[];
  readonly zone: string;
  /** 0 is Sunday. */
  readonly weekdays: readonly number[];
  /** If undefined, every day. */
  readonly dates: readonly DateSpan[] | undefined;
  readonly except: readonly DateSpan[];
  /** Minutes of the local day. If `to` is not after `from`, it is of the next day. */
  readonly from: number;
  readonly to: number;
  /** How much longer than the learned start of a node its pods need, such as for pulls of images. */
  readonly aheadMs: number;
  readonly says: ScheduleStatements;
}

/** A time. `startMs` is included, `endMs` is not. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** What removals do with the hours of AKS: nothing, keep out of them, or keep to them. */
export type MaintenanceUse = 'ignore' | 'avoid' | 'only';

/** Which week of a month. */
export type WeekOfMonth = 1 | 2 | 3 | 4 | 'last';

/** Weekdays as numbers: 0 is Sunday. */
export type MaintenanceRecurrence =
  | { readonly kind: 'days'; readonly every: number }
  | { readonly kind: 'weeks'; readonly every: number; readonly weekday: number }
  | { readonly kind: 'day-of-month'; readonly every: number; readonly day: number }
  | { readonly kind: 'weekday-of-month'; readonly every: number; readonly week: WeekOfMonth; readonly weekday: number };

/** A window that recurs. Its days and times are those of an offset from UTC, which has no daylight saving. */
export interface MaintenanceWindow {
  readonly recurrence: MaintenanceRecurrence;
  readonly hours: number;
  readonly offsetMinutes: number;
  /** Minutes of the day. */
  readonly startMinute: number;
  /** The first day on which it may begin, such as `2026-11-02`. */
  readonly startDay?: string;
  /** Days without maintenance, both ends included. */
  readonly except: readonly DateSpan[];
}

export interface MaintenanceConfiguration {
  /** `default`, `aksManagedAutoUpgradeSchedule` or `aksManagedNodeOSUpgradeSchedule`. */
  readonly name: string;
  /** Hours of the week in UTC. */
  readonly hours: readonly { readonly weekday: number; readonly hour: number }[];
  /** Times without maintenance. */
  readonly except: readonly Span[];
  readonly window?: MaintenanceWindow;
}

/** What is known of AKS's configurations. `reason`: part of a sentence. */
export type MaintenanceReading =
  | { readonly known: true; readonly configurations: readonly MaintenanceConfiguration[] }
  | { readonly known: false; readonly reason: string };

export interface Schedules {
  readonly rules: readonly ScheduleRule[];
  /** What removals do with the hours of AKS, in pools whose options do not say. */
  readonly maintenance: MaintenanceUse;
  /** The hours of AKS, as last read. Not known unless a group keeps out of them or to them. */
  readonly aks: MaintenanceReading;
}

export const NO_SCHEDULES: Schedules = Object.freeze<Schedules>({
  rules: [],
  maintenance: 'ignore',
  aks: { known: false, reason: 'they were not read' },
});

/** What makes a statement: a rule, by its number, or the hours of AKS's maintenance. */
export type SaidBy = number | 'maintenance';

/** As part of a sentence. */
export function describeSource(rule: SaidBy): string {
  return rule === 'maintenance' ? "AKS's maintenance windows" : `schedule rule ${rule}`;
}

/** One statement that holds, and what makes it until when. */
export interface Said<Value> {
  readonly value: Value;
  readonly rule: SaidBy;
  /** When the rule ends to hold, or another one begins to decide the matter, milliseconds since the epoch. */
  readonly untilMs: number;
  /** What holds after `untilMs` was not looked at: the rule may go on. */
  readonly isOpen?: true;
  readonly zone: string;
  /** The rule begins to hold then: its minimum is prepared before. If absent, it holds already. */
  readonly fromMs?: number;
}

/** What schedules say of one group now. undefined: they say nothing about that. */
export interface GroupSchedule {
  readonly min: Said<number> | undefined;
  readonly max: Said<number> | undefined;
  readonly headroom: Said<readonly Headroom[]> | undefined;
  readonly repack: Said<'off' | 'on'> | undefined;
  /** Nothing is removed. */
  readonly scaleDown: Said<'off'> | undefined;
  /** Nothing is removed, since the hours of AKS are not known: why. */
  readonly hoursUnknown: string | undefined;
  /** Nothing is changed. */
  readonly pause: Said<true> | undefined;
  /** The names by which rules know the group, and its limits without schedules. Rules move inside of them. */
  readonly pool: {
    readonly names: readonly string[];
    readonly min: number;
    readonly max: number;
    /** Whether removals keep out of the hours of AKS or to them. undefined: neither. */
    readonly maintenance: Exclude<MaintenanceUse, 'ignore'> | undefined;
  };
}

/** Whether the rule is about a group with these names. */
export function isRuleFor({ pools }: Pick<ScheduleRule, 'pools'>, names: readonly string[]): boolean {
  return pools.length === 0 || pools.some((pattern) => names.some((name) => matchesGlob(pattern, name.toLowerCase())));
}
