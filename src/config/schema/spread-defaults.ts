/** Spread constraints of pods without their own, in the notation of kube-scheduler's `defaultConstraints`. */
import * as z from 'zod';
import type { SpreadDefaults, TopologySpreadConstraint } from '../../domain/pod.ts';
import { oneOf, text, wholeNumber } from './value-types.ts';

const POLICIES = ['Honor', 'Ignore'] as const;
const policy = oneOf(POLICIES);

const parts = {
  topologyKey: text('the name of a label'),
  maxSkew: wholeNumber(1),
  whenUnsatisfiable: oneOf(['DoNotSchedule', 'ScheduleAnyway'] as const),
  minDomains: wholeNumber(1).optional(),
  nodeAffinityPolicy: policy.optional(),
  nodeTaintsPolicy: policy.optional(),
};

/** In the scheduler's own file. It forbids selectors there: they are those of Services and workloads. */
const defaultConstraint = z.object(parts);

/** Each for one profile. */
export const defaultConstraints = z
  .array(z.strictObject({ scheduler: text('the name of a scheduler').default('default-scheduler'), ...parts }), {
    error: 'a list of {topologyKey, maxSkew, whenUnsatisfiable}',
  })
  .default([]);

export interface ProfileConstraint extends z.infer<typeof defaultConstraint> {
  readonly scheduler: string;
}

/** Of profiles as the scheduler's file has them; or why one of them is not valid. */
export function constraintsOfProfiles(
  profiles: readonly { readonly scheduler: string; readonly constraints: readonly unknown[] }[],
): readonly ProfileConstraint[] | string {
  const all: ProfileConstraint[] = [];
  for (const { scheduler, constraints } of profiles) {
    const parsed = z.array(defaultConstraint).safeParse(constraints);
    if (!parsed.success) {
      const at = parsed.error.issues[0]?.path.join('.') ?? '';
      return `the defaultConstraints of profile ${scheduler} are not valid (at ${at})`;
    }
    all.push(...parsed.data.map((constraint) => ({ scheduler, ...constraint })));
  }
  return all;
}

/** Those that refuse nodes: the others only order them. */
export function spreadDefaultsOf(constraints: readonly ProfileConstraint[]): SpreadDefaults {
  const defaults = new Map<string, Omit<TopologySpreadConstraint, 'selector'>[]>();
  for (const { scheduler, whenUnsatisfiable, ...rest } of constraints) {
    if (whenUnsatisfiable !== 'DoNotSchedule') continue;
    const { topologyKey, maxSkew, minDomains = 1, nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' } = rest;
    const constraint = { topologyKey, maxSkew, minDomains, nodeAffinityPolicy, nodeTaintsPolicy };
    defaults.set(scheduler, [...(defaults.get(scheduler) ?? []), constraint]);
  }
  return defaults;
}
