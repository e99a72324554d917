import type { NodeGroupId } from '../../domain/ids.ts';
import { tooStale } from '../state/cluster-health.ts';
import type { Scope } from './plan-context.ts';

/** Why what was read, of Azure or of the cluster, is too old to remove anything, failed instances included; or undefined. */
export function oldReads({ observation, policy }: Pick<Scope, 'observation' | 'policy'>): string | undefined {
  return observation.cloud.scaleDownBlocked ?? tooStale(observation.cluster, policy.scaleDown.maxClusterStalenessMs);
}

/** Why nothing may be removed in this loop although timers run; undefined: removals are allowed. */
export function inhibitionOf(scope: Scope, scaleUpPlanned: boolean | 'unknown'): string | undefined {
  const { observation, state, policy } = scope;
  const rules = policy.scaleDown;
  const old = oldReads(scope);
  if (old !== undefined) return old;
  if (scaleUpPlanned === 'unknown') return 'what the pending pods need is not known: planning a scale-up failed';
  if (scaleUpPlanned) return 'nodes are being added in this loop';
  if (rules.delaysPerGroup === true) return undefined;
  return (
    cooldown('a scale-up', state.lastScaleUpMs + rules.delayAfterAddMs, observation.nowMs) ??
    cooldown('a failed removal', state.lastScaleDownFailureMs + rules.delayAfterFailureMs, observation.nowMs) ??
    cooldown('a removal', state.lastScaleDownMs + rules.delayAfterDeleteMs, observation.nowMs)
  );
}

/** When the group may lose a node again, milliseconds since the epoch; undefined: now, or delays hold for all groups alike. */
export function coolsDownUntil(group: NodeGroupId, { observation, state, policy }: Scope): number | undefined {
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

function cooldown(after: string, endsAtMs: number, nowMs: number): string | undefined {
  return nowMs < endsAtMs ? `cooling down after ${after} for another ${Math.ceil((endsAtMs - nowMs) / 1000)} s` : undefined;
}
