/**
 * What schedules say of node groups now: their limits, and what is not to be changed. The one place where limits of schedules come from, for views
 * and for writes. Must not know how sizes are written.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Pauses } from '../../domain/ports/pauses.ts';
import { expectedStartMs, scheduleOf } from '../../domain/schedules/schedules.ts';
import {
  describeSource,
  NO_SCHEDULES,
  isRuleFor,
  type GroupSchedule,
  type MaintenanceReading,
  type MaintenanceUse,
  type ScheduleRule,
  type Schedules,
} from '../../domain/schedule-rules.ts';
import type { GroupSelection } from '../arm/options.ts';
import { maintenanceUseOf } from './maintenance-use.ts';
import { allowedSize } from './pool-limit.ts';
import type { RegisteredGroup, Registration } from './registry.ts';

/** The known groups, by name and size. */
interface KnownGroups {
  readonly selection: GroupSelection;
  registration(): Registration;
  readonly facts: { namesOf(group: RegisteredGroup): readonly string[] };
  readonly maintenance: { readonly isPending: boolean; current(nowMs: number): MaintenanceReading };
  readonly vmsPools: Parameters<typeof allowedSize>[1]['vmsPools'];
}

type HeededHours = Exclude<MaintenanceUse, 'ignore'>;

export interface GroupLimits {
  readonly min: number;
  readonly max: number;
}

export class GroupSchedules {
  readonly #store: KnownGroups;
  #startTimes: ReadonlyMap<NodeGroupId, readonly number[]> = new Map();
  #uses: { readonly of: readonly [GroupSelection, Registration]; readonly byKey: ReadonlyMap<string, HeededHours> } | undefined;
  #current: Schedules = NO_SCHEDULES;
  #madeOf: { readonly rules: Schedules; readonly aks: MaintenanceReading } | undefined;

  constructor(store: KnownGroups) {
    this.#store = store;
  }

  /** How long the last nodes of each group took until they were ready. A minimum is prepared so long before it begins. */
  noteStartTimes(times: ReadonlyMap<NodeGroupId, readonly number[]>): void {
    this.#startTimes = times;
  }

  /** `group`: with the limits of the pool itself. undefined: nothing. */
  of(group: RegisteredGroup, nowMs: number): GroupSchedule | undefined {
    const { facts } = this.#store;
    const names = facts.namesOf(group);
    const maintenance = this.#heeded().get(group.key);
    const schedules = this.current(nowMs);
    if (schedules.rules.length === 0 && maintenance === undefined) return undefined;
    const allowed = allowedSize(group, this.#store);
    const bootMs = expectedStartMs(this.#startTimes.get(group.id));
    return scheduleOf(
      schedules,
      { names, min: Math.min(group.min, allowed), max: Math.min(group.max, allowed), bootMs, maintenance },
      nowMs,
    );
  }

  /** The rules, and the hours of AKS if they matter to a group: the same object while both are. */
  current(nowMs: number): Schedules {
    const { schedules: rules = NO_SCHEDULES } = this.#store.selection;
    const aks = this.#heeded().size > 0 ? this.#store.maintenance.current(nowMs) : NO_SCHEDULES.aks;
    if (this.#madeOf?.rules !== rules || this.#madeOf.aks !== aks) {
      this.#madeOf = { rules, aks };
      this.#current = aks === rules.aks ? rules : { ...rules, aks };
    }
    return this.#current;
  }

  /** The groups whose removals keep out of the hours of AKS or to them, by key. */
  #heeded(): ReadonlyMap<string, HeededHours> {
    const { selection, facts } = this.#store;
    const registration = this.#store.registration();
    const last = this.#uses;
    if (last?.of[0] === selection && last.of[1] === registration) return last.byKey;
    const found = [...registration.groups.values()].flatMap((group): (readonly [string, HeededHours])[] => {
      const use = maintenanceUseOf(selection, () => facts.namesOf(group));
      return use === 'ignore' ? [] : [[group.key, use]];
    });
    const byKey = new Map(found);
    this.#uses = { of: [selection, registration], byKey };
    return byKey;
  }

  /** The limits that hold now, for a group that may have been read a while ago. */
  limitsOf({ key, min, max }: RegisteredGroup, nowMs: number): GroupLimits {
    const pool = this.#store.registration().groups.get(key);
    return pool === undefined ? { min, max } : limitsIn(pool, this.of(pool, nowMs));
  }

  /** What rules pause in the group beside what people pause. */
  pausesOf(pauses: Pauses, schedule: GroupSchedule | undefined): Pauses {
    const own = scheduledPauses(schedule);
    if (own.pauses.length + own.unreadable.length === 0) return pauses;
    return { pauses: [...pauses.pauses, ...own.pauses], unreadable: [...pauses.unreadable, ...own.unreadable] };
  }

  /** Rules that are about no group or that the limits of a pool do not let hold, and hours of AKS that keep every node. One sentence each. */
  findings(nowMs: number): readonly string[] {
    return [...this.#ruleFindings(), ...this.#hourFindings(nowMs)];
  }

  #hourFindings(nowMs: number): readonly string[] {
    const { aks } = this.current(nowMs);
    const heeded = [...this.#heeded()].map(([key, use]) => ({ id: this.#store.registration().groups.get(key)?.id ?? key, use }));
    if (heeded.length === 0 || this.#store.maintenance.isPending) return [];
    if (!aks.known) {
      const waiting = heeded.map(({ id }) => id).join(', ');
      return [`AKS's maintenance windows are not known: ${aks.reason}. Removals wait in ${waiting}.`];
    }
    if (aks.configurations.some(({ hours, window }) => hours.length > 0 || window !== undefined)) return [];
    const never = heeded.flatMap(({ id, use }) => (use === 'only' ? [id] : []));
    return never.length === 0
      ? []
      : [`AKS has no maintenance window, so that no node of ${never.join(', ')} is removed (maintenance: only).`];
  }

  #ruleFindings(): readonly string[] {
    const { selection, facts } = this.#store;
    const { rules } = selection.schedules ?? NO_SCHEDULES;
    if (rules.length === 0) return [];
    const groups = [...this.#store.registration().groups.values()];
    return ruleFindings(
      rules,
      groups.map((group) => ({ id: group.id, min: group.min, max: group.max, names: facts.namesOf(group) })),
    );
  }
}

/** Rules that are about no group, or that its limits do not let hold. `groups`: with the limits of the pools themselves. */
export function ruleFindings(
  rules: readonly ScheduleRule[],
  groups: readonly (GroupLimits & { readonly id: string; readonly names: readonly string[] })[],
): readonly string[] {
  return rules.flatMap((rule) => {
    const about = groups.filter(({ names }) => isRuleFor(rule, names));
    if (about.length === 0) return [`Schedule rule ${rule.number} is about no node group.`];
    return about.flatMap(({ id, min, max }) =>
      [rule.says.min, rule.says.max].flatMap((value, index) => {
        const says = `Schedule rule ${rule.number}: ${['min', 'max'][index]} ${value}`;
        if (value !== undefined && value > max) return [`${says} is above the maximum of node group ${id}; its maximum of ${max} holds.`];
        if (value !== undefined && value < min) return [`${says} is below the minimum of node group ${id}; its minimum of ${min} holds.`];
        return [];
      }),
    );
  });
}

/** The limits that hold: those of rules, or else those of the pool. */
export function limitsIn(pool: GroupLimits, schedule: GroupSchedule | undefined): GroupLimits {
  return { min: schedule?.min?.value ?? pool.min, max: schedule?.max?.value ?? pool.max };
}

/** What rules and the hours of AKS pause, as people's pauses are written. */
export function scheduledPauses(schedule: GroupSchedule | undefined): Pauses {
  const { pause, scaleDown, hoursUnknown } = schedule ?? {};
  const said = pause ?? scaleDown;
  const unreadable = hoursUnknown === undefined ? [] : [{ pool: undefined, problem: hoursUnknown, of: 'maintenance' } as const];
  if (said === undefined) return { pauses: [], unreadable };
  const direction = pause === undefined ? 'scale-down' : 'both';
  const own = {
    pool: undefined,
    direction,
    untilMs: said.untilMs,
    by: describeSource(said.rule),
    // Of a rule without an end, only the next days are known.
    reason: said.isOpen === true ? 'it may last longer' : undefined,
    problem: undefined,
    // An instance that failed is no node, and capacity that Azure could not fill would wait for the next window.
    keeps: pause === undefined ? 'nodes' : undefined,
  } as const;
  return { pauses: [own], unreadable };
}
