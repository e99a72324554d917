/** An answer about any subject. */
import { answerDecision, type DecisionAnswer } from './decision-answer.ts';
import { answerNode, type NodeAnswer } from './node-answer.ts';
import { answerPod, type AnswerInput, type PodAnswer } from './pod-answer.ts';
import { answerPool, type PoolAnswer } from './pool-answer.ts';

export type Answer = PodAnswer | NodeAnswer | PoolAnswer | DecisionAnswer;
export type SubjectKind = Answer['kind'];

export const SUBJECT_KINDS: readonly SubjectKind[] = ['pod', 'node', 'pool', 'decision'];

/** A daemon's answer. `loop` and `decidedAt` name the decision that it is about; `currency` is that of its prices, if it is known. */
export type LiveAnswer = Answer & { readonly loop: number; readonly decidedAt: string; readonly currency?: string };

export interface Subject {
  readonly kind: SubjectKind;
  /** A pod's is `namespace/name`, a decision's the number of its loop, or `last`. */
  readonly name: string;
}

/** undefined: there is no such subject. */
export function answerOn({ kind, name }: Subject, decided: AnswerInput): Answer | undefined {
  switch (kind) {
    case 'pod':
      return answerPod(decided, name);
    case 'node':
      return answerNode(decided, name);
    case 'pool':
      return answerPool(decided, name);
    case 'decision':
      return name === 'last' || name === String(decided.input.observation.loopId) ? answerDecision(decided) : undefined;
  }
}
