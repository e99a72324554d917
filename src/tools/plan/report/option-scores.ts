/** The options of a scale-up with the score that decided on each, and the expander that dropped it. */
import { PLACEMENT_SCORES } from '../../../domain/node-group.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import type { ExpanderName } from '../../../domain/policy.ts';
import { answerDecision, type DecisionAnswer } from '../../../planning/explain/answers/decision-answer.ts';
import { priceScores } from '../../../planning/expanders/price.ts';
import type { PlannedLoop } from './plan-loop.ts';

export type OptionReport = DecisionAnswer['options'][number] & {
  /** In the measure of the expander that decided: see {@link MEASURES}. Absent if it has no number. */
  readonly score?: number;
};

export interface Choice {
  /** The expander that chose. Absent if no pool could grow for a pod. */
  readonly expander?: ExpanderName;
  readonly options: readonly OptionReport[];
}

/** What the score of an expander is, and which one wins. */
export const MEASURES: Readonly<Record<ExpanderName, string>> = {
  'least-waste': 'the share that stays idle, the lowest wins',
  'least-nodes': 'the number of nodes, the lowest wins',
  'most-pods': 'the number of pods, the highest wins',
  priority: 'the level of the priority rules, the highest wins',
  price: 'the price for the work, the lowest wins',
  placement: `Azure's placement score, ${PLACEMENT_SCORES.join(' before ')}`,
  preferences: 'how much of what the pods prefer its nodes meet, the highest wins',
  random: 'chance',
};

export function choiceOf(decision: PlannedLoop): Choice {
  const { options: scored } = decision.scaleUp;
  if (scored.length === 0) return { options: [] };
  const { expanders } = decision.input.policy.scaleUp;
  const options = answerDecision(decision).options;
  const losing = new Set(options.map(({ lostBy }) => lostBy));
  const numbered = expanders.filter((name) => name !== 'random');
  const expander = expanders.findLast((name) => losing.has(name)) ?? numbered.at(-1) ?? 'random';
  const byGroup = new Map(scored.map((option) => [option.group as string, option]));
  return { expander, options: options.map((option) => withScore(option, byGroup.get(option.group), { scored, expanders, expander })) };
}

interface ChoiceContext {
  readonly scored: readonly ScoredOption[];
  readonly expanders: readonly ExpanderName[];
  readonly expander: ExpanderName;
}

function withScore(option: DecisionAnswer['options'][number], scored: ScoredOption | undefined, context: ChoiceContext): OptionReport {
  const decided = context.expanders.find((name) => name === option.lostBy) ?? context.expander;
  const score = scored === undefined ? undefined : scoreOf(scored, context.scored, decided);
  return score === undefined ? option : { ...option, score: Math.round(score * 1000) / 1000 };
}

function scoreOf(option: ScoredOption, all: readonly ScoredOption[], expander: ExpanderName): number | undefined {
  switch (expander) {
    case 'least-waste':
      return option.waste;
    case 'least-nodes':
      return option.nodes;
    case 'most-pods':
      return option.pods;
    case 'priority':
      return option.priority;
    case 'price':
      return priceScores(all).get(option);
    case 'preferences':
      return option.preference;
    case 'placement':
    case 'random':
      return undefined;
  }
}
