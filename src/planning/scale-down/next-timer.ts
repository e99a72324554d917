import type { LoopState } from '../../domain/loop-state.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { cooldownEndMs } from './cooldown.ts';

/** A timer has ended only when its last millisecond is over. */
const JUST_AFTER_MS = 1;

interface TimedPlan {
  readonly plan: Pick<ScaleDownPlan, 'unneeded' | 'kept' | 'inhibited'>;
  readonly state: LoopState;
  readonly rules: ScaleDownPolicy;
  /** The time of the observation that the plan was made from. */
  readonly nowMs: number;
}

/**
 * When a loop could first remove a node that this one had to keep: milliseconds since the epoch. That is the end of the cooldown,
 * or the earliest end of the time for which a node must be unneeded, of its group's cooldown, or of a remembered check.
 * undefined: no timer runs.
 */
export function nextRemovalTimerMs(timed: TimedPlan): number | undefined {
  let earliest = Number.POSITIVE_INFINITY;
  for (const endMs of timerEnds(timed)) if (endMs >= timed.nowMs && endMs < earliest) earliest = endMs;
  return earliest === Number.POSITIVE_INFINITY ? undefined : earliest + JUST_AFTER_MS;
}

function timerEnds({ plan, state, rules, nowMs }: TimedPlan): readonly number[] {
  if (plan.inhibited === undefined) return plan.kept.flatMap(({ recheckAtMs }) => recheckAtMs ?? []);
  const endMs = plan.unneeded.size === 0 ? undefined : cooldownEndMs(state, rules, nowMs);
  return endMs === undefined ? [] : [endMs];
}
