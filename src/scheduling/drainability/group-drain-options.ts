/** How one node group is drained: its own settings, and the policy's for the rest. Pure. */
import type { DrainOptions, NodeGroupOptions } from '../../domain/node-group.ts';
import type { DrainBand, Policy } from '../../domain/policy.ts';

/** The drain settings among the options of a group; undefined if it has none of its own. */
export function drainOptionsOf(options: NodeGroupOptions): DrainOptions | undefined {
  const { maxGracefulTerminationMs, evictionTimeoutMs, evictionRetryMs } = options;
  const { skipNodesWithSystemPods, skipNodesWithLocalStorage, skipNodesWithCustomControllerPods } = options;
  const own = Object.entries({
    maxGracefulTerminationMs,
    evictionTimeoutMs,
    evictionRetryMs,
    skipNodesWithSystemPods,
    skipNodesWithLocalStorage,
    skipNodesWithCustomControllerPods,
  }).filter(([, value]) => value !== undefined);
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The policy for drains of a group with these options. Its own longest grace period also limits every band of priorities. */
export function policyForDrains(policy: Policy, own: DrainOptions | undefined): Policy {
  if (own === undefined) return policy;
  const { scaleDown, drain } = policy;
  const capMs = own.maxGracefulTerminationMs;
  const bands = capMs === undefined ? {} : { bands: drain.bands.map((band) => cappedBand(band, capMs)) };
  return {
    ...policy,
    drain: {
      ...drain,
      ...bands,
      maxGracefulTerminationMs: capMs ?? drain.maxGracefulTerminationMs,
      evictionTimeoutMs: own.evictionTimeoutMs ?? drain.evictionTimeoutMs,
      evictionRetryMs: own.evictionRetryMs ?? drain.evictionRetryMs,
    },
    scaleDown: {
      ...scaleDown,
      skipNodesWithSystemPods: own.skipNodesWithSystemPods ?? scaleDown.skipNodesWithSystemPods,
      skipNodesWithLocalStorage: own.skipNodesWithLocalStorage ?? scaleDown.skipNodesWithLocalStorage,
      skipNodesWithCustomControllerPods: own.skipNodesWithCustomControllerPods ?? scaleDown.skipNodesWithCustomControllerPods,
    },
  };
}

/** 0 is no limit, in a band as in a group. */
function cappedBand({ priority, graceMs }: DrainBand, capMs: number): DrainBand {
  if (capMs === 0 || graceMs === 0) return { priority, graceMs: Math.max(capMs, graceMs) };
  return { priority, graceMs: Math.min(graceMs, capMs) };
}
