/**
 * Where a plan stopped because its time was up, for the next plan, which goes on there. Otherwise a fixed order would give the same pods and
 * the same groups their turn in every loop, and the others never. Must not know how pods are searched or groups estimated.
 */
import type { PodUid } from '../../domain/ids.ts';
import type { LoopState, StoppedPlan } from '../../domain/loop-state.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';

/** Takes in the last plan of a loop for pods. `loopId` is that of the loop. */
export function rememberStop(state: LoopState, plan: Pick<ScaleUpPlan, 'verdicts' | 'cutShortAfter'>, loopId: number): LoopState {
  const { stopped: _stopped, ...rest } = state;
  const { cutShortAfter } = plan;
  if (cutShortAfter === undefined) return rest;
  return { ...rest, stopped: { searched: searchedInVain(state, plan), estimateFrom: estimateFrom(state, loopId) + cutShortAfter } };
}

/** Estimates begin with another family of groups in every loop. After a plan that was cut short, they begin where it stopped. */
export function estimateFrom({ stopped }: Pick<LoopState, 'stopped'>, loopId: number): number {
  return stopped?.estimateFrom ?? loopId;
}

/** Once each pod had its search, a new round begins: then only those of this plan are put behind the others. */
function searchedInVain({ stopped }: Pick<LoopState, 'stopped'>, { verdicts }: Pick<ScaleUpPlan, 'verdicts'>): StoppedPlan['searched'] {
  const inVain: PodUid[] = [];
  const leftOut: PodUid[] = [];
  for (const [{ uid }, verdict] of verdicts) {
    if (verdict.kind === 'waiting' && verdict.leftOut === 'search') leftOut.push(uid);
    else if (verdict.kind === 'waiting' || verdict.kind === 'helpless') inVain.push(uid);
  }
  if (leftOut.length === 0) return [];
  const before = new Set(stopped?.searched);
  const isNewRound = leftOut.every((uid) => before.has(uid));
  return isNewRound ? inVain : [...inVain, ...leftOut.filter((uid) => before.has(uid))];
}
