/**
 * The answer where no leader can be reached: computed from the cluster and Azure as they are now, as `plan --live` reads them. What is
 * not known without the daemon is said first. Must not know how a leader is asked.
 */
import { type Answer, answerOn, type Subject } from '../../planning/explain/answers/answer.ts';
import { formatMoment } from '../../planning/explain/spans.ts';
import { planLoop } from '../plan/report/plan-loop.ts';
import { readPlanInput } from '../plan/read-input.ts';
import type { Terminal } from '../../cli/process/process.ts';
import type { LiveSource } from './live-answers.ts';
import { ONLY_DECIDED } from '../../planning/explain/answers/pod-answer.ts';

export interface ComputedAnswer {
  /** undefined: there is no such subject. */
  readonly answer: Answer | undefined;
  readonly nowMs: number;
  /** What is not known without the daemon, in one sentence. */
  readonly lacks: string;
  readonly currency?: string;
}

/** What leads to an answer all the same. */
export const HOW_WITHOUT_LEADER = 'With the settings of the daemon, as for `plan --live`, explain computes the answer without it';

/** @throws AutoscalerError of the settings, or of the side that cannot be read. */
export async function answerWithoutLeader(subject: Subject, settings: readonly string[], terminal: Terminal): Promise<ComputedAnswer> {
  const { input, lacksMemory, memorySavedAtMs } = await readPlanInput({ live: true }, { settings, manifests: [] }, terminal);
  const { nowMs } = input.observation;
  const lacks =
    lacksMemory === true || memorySavedAtMs === undefined
      ? "Without the daemon's memory: back-offs, idle timers and the history are unknown."
      : `Without the daemon's memory: no history; back-offs and idle timers are those saved at ${formatMoment(memorySavedAtMs, nowMs)}.`;
  return {
    answer: answerOn(subject, { ...ONLY_DECIDED, ...planLoop(input) }),
    nowMs,
    lacks,
    ...(input.currency === undefined ? {} : { currency: input.currency }),
  };
}

/** The settings of the daemon with the options that name the cluster for `explain`, too. */
export function settingsFor({ kubeconfig, namespace }: LiveSource, settings: readonly string[]): readonly string[] {
  return [
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ...settings,
  ];
}
