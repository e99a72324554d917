/**
 * Where a plan stopped because its time was up, for the next plan, which goes on there. Otherwise a fixed order would give the same pods and
 * the same groups their turn in every loop, and the others never. Must not know how pods are searched or groups estimated.
 * Idea: stopped plan.
 */
import type { PodUid } from '../../domain/ids.ts';
import type { LoopState, StoppedPlan } from '../../domain/loop-state.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';

/** Takes in the last plan of a loop for pods. `loopId` is that of the loop. */
export function rememberStop(state: LoopState, plan: Pick<ScaleUpPlan, 'verdicts' | 'cutShortAfter'>, loopId: number): LoopState {
  const { stopped } = state;
  const { cutShortAfter } = plan;
  const { inVain, unsearched, explained, unexplained } = sortPods(plan);
  if (cutShortAfter === undefined && unexplained.length === 0) return { ...state, stopped: undefined };
  const next: StoppedPlan = {
    searched: hadTheirTurn(stopped?.searched, inVain, unsearched),
    explained: hadTheirTurn(stopped?.explained, explained, [...unexplained, ...unsearched]),
    estimateFrom: cutShortAfter === undefined ? loopId + 1 : estimateFrom(state, loopId) + cutShortAfter,
  };
  return { ...state, stopped: next };
}

/** Estimates begin with another family of groups in every loop. After a plan that was cut short, they begin where it stopped. */
export function estimateFrom({ stopped }: Pick<LoopState, 'stopped'>, loopId: number): number {
  // guard: estimates go on where the last plan stopped
  return stopped?.estimateFrom ?? loopId;
}

interface SortedPods {
  /** Searched without a place; those that are explained or not are among them. */
  readonly inVain: PodUid[];
  readonly unsearched: PodUid[];
  readonly explained: PodUid[];
  readonly unexplained: PodUid[];
}

function sortPods({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>): SortedPods {
  const sorted: SortedPods = { inVain: [], unsearched: [], explained: [], unexplained: [] };
  for (const [{ uid }, verdict] of verdicts) {
    if (verdict.kind !== 'waiting' && verdict.kind !== 'helpless') continue;
    const leftOut = verdict.kind === 'waiting' ? verdict.leftOut : undefined;
    (leftOut === 'search' ? sorted.unsearched : sorted.inVain).push(uid);
    if (leftOut === 'explanation') sorted.unexplained.push(uid);
    if (verdict.kind === 'helpless') sorted.explained.push(uid);
  }
  return sorted;
}

/** Once each pod had its turn, a new round begins: then only those that had their second one come behind the others. */
function hadTheirTurn(before: readonly PodUid[] = [], now: readonly PodUid[], leftOut: readonly PodUid[]): readonly PodUid[] {
  if (leftOut.length === 0) return [];
  const earlier = new Set(before);
  const isNewRound = leftOut.every((uid) => earlier.has(uid));
  // guard: each pod is searched again after a round
  return isNewRound ? now.filter((uid) => earlier.has(uid)) : [...now, ...leftOut.filter((uid) => earlier.has(uid))];
}
