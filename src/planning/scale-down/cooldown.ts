import type { LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { optionsOf, type ScaleDownPolicy } from '../../domain/policy.ts';
import { stalenessProblem } from '../state/cluster-health.ts';
import type { ScaleDownContext } from './plan-context.ts';
import { formatDuration } from '../../lib/duration.ts';

/** Why reads of Azure or of the cluster are too old to remove anything, even failed instances; undefined if they are fresh. */
export function staleReadReason({ observation, policy }: Pick<ScaleDownContext, 'observation' | 'policy'>): string | undefined {
  return observation.cloud.scaleDownBlocked ?? stalenessProblem(observation.cluster, policy.scaleDown.maxClusterStalenessMs);
}

/** Why nothing may be removed in this loop, although timers run; undefined if removals are allowed. */
export function cooldownReason(context: ScaleDownContext, scaleUpPlanned: boolean | 'unknown'): string | undefined {
  const { observation, state, policy } = context;
  const rules = policy.scaleDown;
  const old = staleReadReason(context);
  if (old !== undefined) return old;
  if (scaleUpPlanned === 'unknown') return 'the needs of pending pods are unknown: planning the scale-up failed';
  if (scaleUpPlanned) return 'nodes are being added in this loop';
  return cooldowns(state, rules)
    .map(([after, endsAtMs]) => remainingCooldown(after, endsAtMs, observation.nowMs))
    .find((reason) => reason !== undefined);
}

type CooldownTimes = Pick<LoopState, 'lastScaleUpMs' | 'lastScaleDownMs' | 'lastScaleDownFailureMs'>;

/** What the cluster as a whole cools down after, and until when: milliseconds since the epoch. Empty if delays apply to single groups. */
function cooldowns(state: CooldownTimes, rules: ScaleDownPolicy): readonly (readonly [after: string, endsAtMs: number])[] {
  if (rules.delaysPerGroup) return [];
  return [
    ['a scale-up', state.lastScaleUpMs + rules.delayAfterAddMs],
    ['a failed removal', state.lastScaleDownFailureMs + rules.delayAfterFailureMs],
    ['a removal', state.lastScaleDownMs + rules.delayAfterDeleteMs],
  ];
}

/** When the cooldown of the whole cluster ends, milliseconds since the epoch; undefined if there is none. */
export function cooldownEndMs(state: CooldownTimes, rules: ScaleDownPolicy, nowMs: number): number | undefined {
  const endsAtMs = Math.max(-Infinity, ...cooldowns(state, rules).map(([, atMs]) => atMs));
  return nowMs < endsAtMs ? endsAtMs : undefined;
}

/**
 * When the group's own cooldown ends, milliseconds since the epoch; undefined if it has none. Its own delays count from its own times, and so
 * does that after a failure, which may be its own alone. The others apply to all groups together, or by the policy to each group.
 */
export function groupCooldownEndMs(group: NodeGroup, { observation, state, policy }: ScaleDownContext): number | undefined {
  const times = state.groupTimes.get(group.id);
  if (times === undefined) return undefined;
  const options = optionsOf(group, policy);
  const delays: readonly (readonly [sinceMs: number | undefined, delayMs: number | undefined])[] = [
    [times.scaleUpMs, options.delayAfterAddMs],
    [times.scaleDownMs, options.delayAfterDeleteMs],
    [times.scaleDownFailureMs, options.delayAfterFailureMs],
  ];
  const ends = delays.flatMap(([sinceMs, delayMs]) => (sinceMs === undefined || delayMs === undefined ? [] : [sinceMs + delayMs]));
  const endsAtMs = Math.max(-Infinity, ...ends);
  return observation.nowMs < endsAtMs ? endsAtMs : undefined;
}

function remainingCooldown(after: string, endsAtMs: number, nowMs: number): string | undefined {
  return nowMs < endsAtMs ? `cooling down after ${after} for another ${formatDuration(endsAtMs - nowMs)}` : undefined;
}
