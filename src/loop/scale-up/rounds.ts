/**
 * Plan, write, and plan again in the same loop when a write met a conflict or a group that has nothing to give. Each round
 * sees the cloud anew, so whatever others (or our own earlier round) asked for counts.
 */
import { reactionTo, type AutoscalerError } from '../../lib/errors.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Policy } from '../../domain/policy.ts';
import { planScaleUp } from '../../planning/scale-up/plan.ts';
import { reduceIncrease, reduceObservation } from '../../planning/state/loop-state.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import type { StatusWish } from '../capacity-objects/statuses.ts';
import type { LoopDeps, LoopSettings } from '../deps/loop-deps.ts';
import type { IncreaseRecord, ScaleUpRound } from '../../domain/loop-report.ts';
import { announceHelpless, executeScaleUp } from './execute.ts';

export interface RoundsInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly snapshot: ClusterSnapshot;
  readonly deps: LoopDeps;
  readonly settings: LoopSettings;
  /** Fires when nothing new shall be begun. */
  readonly stopping: AbortSignal;
  /** Told after each round, so that what was written is remembered even when a later round throws. */
  readonly keep: (outcome: RoundsOutcome) => void;
}

export interface RoundsOutcome {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly rounds: readonly ScaleUpRound[];
  /** The loop ended with a plan that met a conflict: the next one should not wait for the scan interval. */
  readonly unsettled: boolean;
  /** What requests are to be told. Absent: nothing. */
  readonly answers?: readonly StatusWish[];
  /** The loop was a request's while pods ask: its plan does not judge them. */
  readonly podsWait?: boolean;
}

type ReplanCause = 'conflict' | 'no-capacity' | 'quota';

export async function runScaleUpRounds(input: RoundsInput, signal: AbortSignal): Promise<void> {
  const { deps, settings, snapshot, keep } = input;
  const { policy, names } = deps;
  const over = AbortSignal.any([signal, input.stopping]);
  const rounds: ScaleUpRound[] = [];
  const exclude = new Set<NodeGroupId>();
  let { observation, state } = input;
  for (;;) {
    const plan = planScaleUp({ observation, state, policy, names, snapshot, exclude, isLate: planTimer(deps) });
    deps.journal.record({ observation, stateBefore: state, scaleUp: [plan], scaleDown: undefined, policy, excluded: [...exclude] });
    if (plan.cutShortAfter !== undefined) deps.metrics.loop.plansCutShort.inc();
    if (over.aborted) return;
    const increases = await executeScaleUp({ plan, observation, deps, namespace: settings.namespace }, signal);
    rounds.push({ plan, increases });
    state = rememberIncreases(state, increases, observation, policy);
    const cause = replanCause(increases);
    // Kept at once: what was written must be remembered even when looking again fails.
    keep({ observation, state, rounds: [...rounds], unsettled: cause !== undefined });
    if (cause !== undefined) {
      observation = { ...observation, cloud: deps.cloud.observe(observation.cluster, observation.nowMs) };
      state = reduceObservation(state, observation, policy);
    }
    const worthwhile = cause === 'no-capacity' || cause === 'quota' || (cause === 'conflict' && somethingMoved(increases, observation));
    keep({ observation, state, rounds: [...rounds], unsettled: worthwhile });
    if (cause === undefined || !worthwhile || rounds.length >= settings.maxPlansPerLoop || over.aborted) {
      announceHelpless(plan, deps);
      return;
    }
    deps.metrics.scaleUp.replans.inc({ cause });
    for (const group of withoutCapacity(increases)) exclude.add(group);
  }
}

/** A plan stands still for nobody: while it is made no lease is renewed and no watch is read. */
export function planTimer({ clock, policy }: LoopDeps): () => boolean {
  const endsAt = clock.monotonic() + (policy.scaleUp.maxPlanningMs ?? Number.POSITIVE_INFINITY);
  return () => clock.monotonic() >= endsAt;
}

/** With the group beside each outcome: a refusal for want of quota or stock seldom names the size it is about. */
export function rememberIncreases(
  state: LoopState,
  increases: readonly IncreaseRecord[],
  { cloud, nowMs }: Observation,
  policy: Policy,
): LoopState {
  return increases.reduce((next, record) => {
    const group = cloud.groups.find(({ id }) => id === record.increase.group);
    return reduceIncrease(next, group === undefined ? record : { ...record, group }, nowMs, policy);
  }, state);
}

/**
 * Whether a conflict left anything to plan anew. Azure also answers 409 while an operation of its own runs, with nothing
 * changed in the group: the same plan would meet the same answer, so it waits for the next loop at its usual time.
 */
function somethingMoved(increases: readonly IncreaseRecord[], { cloud }: Observation): boolean {
  return increases.some(({ increase, outcome }) => {
    if (outcome.kind !== 'conflict') return false;
    const target = cloud.groups.find(({ id }) => id === increase.group)?.target;
    return target?.known !== true || target.value !== increase.from || target.version !== increase.version;
  });
}

function replanCause(increases: readonly IncreaseRecord[]): ReplanCause | undefined {
  if (increases.some(({ outcome }) => outcome.kind === 'conflict')) return 'conflict';
  if (withoutCapacity(increases).length > 0) return 'no-capacity';
  return increases.some(({ outcome }) => outcome.kind === 'failed' && isCountedQuota(outcome.error)) ? 'quota' : undefined;
}

/** The group is asked again in this loop, for what its quota still allows. */
function isCountedQuota({ detail }: AutoscalerError): boolean {
  return detail.kind === 'quota' && detail.counted === true;
}

/** Groups whose write had no effect for sure and will have none soon; anything less certain waits for the next loop. */
function withoutCapacity(increases: readonly IncreaseRecord[]): readonly NodeGroupId[] {
  return increases.flatMap(({ increase, outcome }) =>
    outcome.kind === 'failed' && reactionTo(outcome.error) === 'back-off-group' ? [increase.group] : [],
  );
}
