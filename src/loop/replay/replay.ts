/** Makes a dumped decision again and compares: the same observation, state and policy must produce the same plans. */
import { isDeepStrictEqual } from 'node:util';
import type { ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { planScaleDown } from '../../planning/scale-down/plan.ts';
import { FIRST_PLAN } from '../../planning/scale-up/plan-input.ts';
import { REMOVALS_ALONE } from '../../planning/scale-down/plan-context.ts';
import { planScaleUp } from '../../planning/scale-up/plan.ts';
import type { IsLate } from '../../planning/scale-up/pods/try-limits.ts';
import { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { plainPlan, type Dump } from './dump.ts';

interface Replay {
  readonly scaleUp: ScaleUpPlan | undefined;
  readonly scaleDown: ScaleDownPlan | undefined;
  /** Whether every new plan equals the recorded one. */
  readonly equal: boolean;
}

/** Repeats the plans that the dump recorded: scale-up, scale-down, or both. */
export function replayDump(dump: Dump, names: ResourceNames): Replay {
  const { observation, state, policy } = dump;
  const snapshot = new ClusterSnapshot({ names });
  snapshot.sync(observation.cluster);
  const input = { observation, state, policy, names, snapshot };
  const recorded = dump.scaleUp[0];
  const scaleUp =
    recorded === undefined
      ? undefined
      : planScaleUp({ ...FIRST_PLAN, ...input, exclude: new Set(dump.excluded), request: dump.request, ...cutAsRecorded(recorded) });
  const hasScaleDown = dump.scaleDown !== null && dump.scaleDown !== undefined;
  const scaleDown = hasScaleDown
    ? planScaleDown({
        ...REMOVALS_ALONE,
        ...input,
        scaleUpPlanned: dump.scaleUpPlanned,
        fullGroups: dump.fullGroups,
        cancellable: dump.cancellable,
        ...cutAsRecorded(dump.scaleDown),
      })
    : undefined;
  const equal = isSamePlan(scaleUp, recorded) && isSamePlan(scaleDown, hasScaleDown ? dump.scaleDown : undefined);
  return { scaleUp, scaleDown, equal };
}

/** A dump contains no clock, so the plan is cut short at the place where the recorded one was, and after as many whole plans. */
export function cutAsRecorded(recorded: unknown): { readonly isLate?: IsLate; readonly retries?: number } {
  if (typeof recorded !== 'object' || recorded === null) return {};
  const retries = 'retried' in recorded ? Number(recorded.retried) : 0;
  if (!('cutShortAfter' in recorded)) return { retries };
  const after = Number(recorded.cutShortAfter);
  const searched = 'searchedUntilLate' in recorded ? Number(recorded.searchedUntilLate) : undefined;
  const isLate: IsLate = (made, searches) => {
    if (searches === undefined) return made >= after;
    return searched !== undefined && searches >= searched;
  };
  return { retries, isLate };
}

function isSamePlan(plan: ScaleUpPlan | ScaleDownPlan | undefined, recorded: unknown): boolean {
  return plan === undefined ? recorded === undefined : isDeepStrictEqual(withoutProse(plainPlan(plan)), withoutProse(recorded));
}

/** Fields with sentences for people. A version may reword them; the decision is the same. */
const PROSE: ReadonlySet<string> = new Set(['detail', 'message', 'summary', 'text', 'inhibited']);

/**
 * The plan as JSON with every sentence blanked: whether a sentence is there counts, its words do not. The recorded plan went
 * through JSON, so the new one must too: JSON changes -0, for example.
 */
function withoutProse(plan: unknown): unknown {
  return JSON.parse(JSON.stringify(plan, (key, value: unknown) => (typeof value === 'string' && PROSE.has(key) ? '' : value)));
}
