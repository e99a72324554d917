/**
 * What schedules say of node groups now: their limits, and what is not to be changed. The one place where limits of schedules come from, for views
 * and for writes. Must not know how sizes are written.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Pause, Pauses } from '../../domain/ports/pauses.ts';
import { expectedStartMs, scheduleOf } from '../../domain/schedules/schedules.ts';
import { NO_SCHEDULES, isRuleFor, type GroupSchedule } from '../../domain/schedule-rules.ts';
import type { GroupSelection } from '../arm/options.ts';
import { allowedSize } from './pool-limit.ts';
import type { RegisteredGroup, Registration } from './registry.ts';

/** The known groups, by name and size. */
interface KnownGroups {
  readonly selection: GroupSelection;
  registration(): Registration;
  readonly facts: { namesOf(group: RegisteredGroup): readonly string[] };
  readonly vmsPools: Parameters<typeof allowedSize>[1]['vmsPools'];
}

export interface GroupLimits {
  readonly min: number;
  readonly max: number;
}

export class GroupSchedules {
  readonly #store: KnownGroups;
  #startTimes: ReadonlyMap<NodeGroupId, readonly number[]> = new Map();

  constructor(store: KnownGroups) {
    this.#store = store;
  }

  /** How long the last nodes of each group took until they were ready. A minimum is prepared so long before it begins. */
  noteStartTimes(times: ReadonlyMap<NodeGroupId, readonly number[]>): void {
    this.#startTimes = times;
  }

  /** `group`: with the limits of the pool itself. undefined: nothing. */
  of(group: RegisteredGroup, nowMs: number): GroupSchedule | undefined {
    const { selection, facts } = this.#store;
    const { schedules = NO_SCHEDULES } = selection;
    if (schedules.rules.length === 0) return undefined;
    const allowed = allowedSize(group, this.#store);
    const bootMs = expectedStartMs(this.#startTimes.get(group.id));
    return scheduleOf(
      schedules,
      { names: facts.namesOf(group), min: Math.min(group.min, allowed), max: Math.min(group.max, allowed), bootMs },
      nowMs,
    );
  }

  /** The limits that hold now, for a group that may have been read a while ago. */
  limitsOf({ key, min, max }: RegisteredGroup, nowMs: number): GroupLimits {
    const pool = this.#store.registration().groups.get(key);
    return pool === undefined ? { min, max } : limitsIn(pool, this.of(pool, nowMs));
  }

  /** What rules pause in the group beside what people pause. */
  pausesOf(pauses: Pauses, schedule: GroupSchedule | undefined): Pauses {
    const own = scheduledPauses(schedule);
    return own.length === 0 ? pauses : { ...pauses, pauses: [...pauses.pauses, ...own] };
  }

  /** Rules that are about no group, and rules whose numbers the limits of a pool do not let hold. One sentence each. */
  findings(): readonly string[] {
    const { selection, facts } = this.#store;
    const { rules } = selection.schedules ?? NO_SCHEDULES;
    if (rules.length === 0) return [];
    const groups = [...this.#store.registration().groups.values()].map((group) => ({ group, names: facts.namesOf(group) }));
    return rules.flatMap((rule) => {
      const about = groups.filter(({ names }) => isRuleFor(rule, names));
      if (about.length === 0) return [`Schedule rule ${rule.number} is about no node group.`];
      return about.flatMap(({ group: { id, min, max } }) =>
        [rule.says.min, rule.says.max].flatMap((value, index) => {
          const says = `Schedule rule ${rule.number}: ${['min', 'max'][index]} ${value}`;
          if (value !== undefined && value > max) return [`${says} is above the maximum of node group ${id}; its maximum of ${max} holds.`];
          if (value !== undefined && value < min) return [`${says} is below the minimum of node group ${id}; its minimum of ${min} holds.`];
          return [];
        }),
      );
    });
  }
}

/** The limits that hold: those of rules, or else those of the pool. */
export function limitsIn(pool: GroupLimits, schedule: GroupSchedule | undefined): GroupLimits {
  return { min: schedule?.min?.value ?? pool.min, max: schedule?.max?.value ?? pool.max };
}

/** What rules pause, as people's pauses are written. */
export function scheduledPauses(schedule: GroupSchedule | undefined): readonly Pause[] {
  const { pause, scaleDown } = schedule ?? {};
  const said = pause ?? scaleDown;
  if (said === undefined) return [];
  const direction = pause === undefined ? 'scale-down' : 'both';
  return [{ pool: undefined, direction, untilMs: said.untilMs, by: `schedule rule ${said.rule}`, reason: undefined, problem: undefined }];
}
