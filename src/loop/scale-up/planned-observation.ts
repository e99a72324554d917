/** What plans read: the observation with what the memory knows better about its groups. Must not know how it was found out. */
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { withCorrectedTemplates } from '../../planning/promises/corrected-templates.ts';
import { withDownZones } from '../../planning/scale-up/groups/zone-outages.ts';

/** Returns the observation itself if nothing is known better. */
export function plannedObservation(
  observation: Observation,
  state: LoopState,
  { policy, names }: { readonly policy: Policy; readonly names: ResourceNames },
): Observation {
  return withDownZones(withCorrectedTemplates(observation, state, names), state, policy);
}
