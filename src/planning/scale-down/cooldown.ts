import type { NodeGroupId } from '../../domain/ids.ts';
import { stalenessProblem } from '../state/cluster-health.ts';
import type { ScaleDownContext } from './plan-context.ts';

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
  if (rules.delaysPerGroup === true) return undefined;
  return (
    remainingCooldown('a scale-up', state.lastScaleUpMs + rules.delayAfterAddMs, observation.nowMs) ??
    remainingCooldown('a failed removal', state.lastScaleDownFailureMs + rules.delayAfterFailureMs, observation.nowMs) ??
    remainingCooldown('a removal', state.lastScaleDownMs + rules.delayAfterDeleteMs, observation.nowMs)
  );
}

/** When the group's own cooldown ends, milliseconds since the epoch; undefined if it has none, or delays apply to all groups together. */
export function groupCooldownEndMs(group: NodeGroupId, { observation, state, policy }: ScaleDownContext): number | undefined {
  const rules = policy.scaleDown;
  const times = state.groupTimes?.get(group);
  if (rules.delaysPerGroup !== true || times === undefined) return undefined;
  const endsAtMs = Math.max(
    (times.scaleUpMs ?? -Infinity) + rules.delayAfterAddMs,
    (times.scaleDownMs ?? -Infinity) + rules.delayAfterDeleteMs,
    (times.scaleDownFailureMs ?? -Infinity) + rules.delayAfterFailureMs,
  );
  return observation.nowMs < endsAtMs ? endsAtMs : undefined;
}

function remainingCooldown(after: string, endsAtMs: number, nowMs: number): string | undefined {
  return nowMs < endsAtMs ? `cooling down after ${after} for another ${Math.ceil((endsAtMs - nowMs) / 1000)} s` : undefined;
}
