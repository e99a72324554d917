/**
 * Increases whose answer came after their loop had gone on. A sent increase counts as one that was accepted; if it was not, everything that
 * it changed is taken back. Pure.
 * Idea: increase.
 */
import type { AnsweredRecord } from '../../../domain/loop-report.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import { increaseId } from './follow-increases.ts';
import { withRecords } from './increase-records.ts';
import { withoutScaleUpTime } from './scale-up-times.ts';

/** The state as if the increase had not been sent. Its pods are planned again. */
export function withoutSent(state: LoopState, { increase, sentAtMs, loopId, startedAtMs }: AnsweredRecord): LoopState {
  const { group, from } = increase;
  const id = increaseId({ increase, atMs: sentAtMs }, loopId);
  // guard: a write that was refused late is no increase
  const left = (state.increases.get(group) ?? []).filter(({ followed }) => followed?.id !== id);
  const next = { ...state, increases: withRecords(state.increases, group, left), targets: new Map([...state.targets, [group, from]]) };
  return withoutScaleUpTime(next, group, startedAtMs);
}
