/** How one node group is drained: its own settings, and the policy's for the rest. Pure. */
import type { DrainOptions, StatedOptions } from '../../domain/node-group.ts';
import type { DrainBand, Policy } from '../../domain/policy.ts';
import { defined } from '../../lib/defined.ts';

const NAMES = [
  'maxGracefulTerminationMs',
  'evictionTimeoutMs',
  'evictionRetryMs',
  'skipNodesWithSystemPods',
  'skipNodesWithLocalStorage',
  'skipNodesWithCustomControllerPods',
] as const satisfies readonly (keyof DrainOptions)[];

/** What a group states of its drains; undefined if nothing. */
export function statedDrain(stated: StatedOptions): Partial<DrainOptions> | undefined {
  const own = NAMES.flatMap((name) => (stated[name] === undefined ? [] : [[name, stated[name]]]));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The policy for drains of a group that states this. Its own longest grace period also limits every band of priorities. */
export function policyForDrains(policy: Policy, own: Partial<DrainOptions> | undefined): Policy {
  if (own === undefined) return policy;
  const { maxGracefulTerminationMs: capMs, evictionTimeoutMs, evictionRetryMs, ...skips } = own;
  const { scaleDown, drain } = policy;
  const bands = capMs === undefined ? drain.bands : drain.bands.map((band) => cappedBand(band, capMs));
  return {
    ...policy,
    drain: { ...drain, bands, ...defined({ maxGracefulTerminationMs: capMs, evictionTimeoutMs, evictionRetryMs }) },
    scaleDown: { ...scaleDown, ...skips },
  };
}

/** 0 is no limit, in a band as in a group. */
function cappedBand({ priority, graceMs }: DrainBand, capMs: number): DrainBand {
  if (capMs === 0 || graceMs === 0) return { priority, graceMs: Math.max(capMs, graceMs) };
  return { priority, graceMs: Math.min(graceMs, capMs) };
}
