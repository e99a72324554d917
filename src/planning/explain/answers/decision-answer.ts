/** Why a decision was made: what grew, for which pods, which options lost and by which rule, and what could not grow. */
import { podName } from '../../../domain/ids.ts';
import type { ScoredOption } from '../../../domain/plan.ts';
import { compareText } from '../../../lib/comparison.ts';
import { createExpanders } from '../../expanders/expander.ts';
import { explainSkip } from '../refusals.ts';
import type { AnswerInput } from './pod-answer.ts';

export interface DecisionAnswer {
  readonly kind: 'decision';
  readonly id: string;
  readonly at: string;
  readonly sentence: string;
  readonly increases: readonly {
    readonly group: string;
    readonly from: number;
    readonly to: number;
    readonly cause: string;
    readonly pods: readonly string[];
  }[];
  readonly options: readonly {
    readonly group: string;
    readonly nodes: number;
    readonly pods: number;
    /** The share of the new nodes that stays idle, from 0 to 1 per resource. */
    readonly waste: number;
    readonly priority?: number;
    readonly perHour?: number;
    /** The expander that dropped it. Absent if it was chosen. */
    readonly lostBy?: string;
  }[];
  readonly notGrown: readonly { readonly group: string; readonly reason: string; readonly detail: string }[];
  readonly removals: readonly { readonly node: string; readonly group: string; readonly cause: string }[];
}

export function answerDecision({ input, scaleUp, scaleDown }: AnswerInput): DecisionAnswer {
  const { observation, policy } = input;
  const groups = new Map(observation.cloud.groups.map((group) => [group.id, group]));
  const grown = new Set(scaleUp.increases.map(({ group }) => group));
  const removals = (scaleDown?.removals ?? []).map(({ node, group, cause }) => ({ node, group, cause }));
  return {
    kind: 'decision',
    id: String(observation.loopId),
    at: new Date(observation.nowMs).toISOString(),
    sentence: sentenceOf(scaleUp.summary, removals.length),
    increases: scaleUp.increases.map(({ group, from, to, cause, pods }) => ({ group, from, to, cause, pods: pods.map(podName) })),
    options: scaleUp.options.map((option) => optionOf(option, scaleUp.options, { expanders: policy.scaleUp.expanders, grown })),
    notGrown: scaleUp.skipped.map(({ group, reason }) => ({ group, ...explainSkip(reason, groups.get(group)) })),
    removals,
  };
}

function sentenceOf(summary: string, removals: number): string {
  return `Plan: ${summary}; ${removals === 0 ? 'nothing' : `${removals} ${removals === 1 ? 'node' : 'nodes'}`} removed.`;
}

interface ChoiceInput {
  readonly expanders: AnswerInput['input']['policy']['scaleUp']['expanders'];
  readonly grown: ReadonlySet<string>;
}

function optionOf(option: ScoredOption, all: readonly ScoredOption[], choice: ChoiceInput): DecisionAnswer['options'][number] {
  const { group, nodes, pods, waste, priority, cost } = option;
  const lostBy = choice.grown.has(group) ? undefined : lostAt(option, all, choice.expanders);
  return {
    group,
    nodes,
    pods,
    waste: Math.round(waste * 1000) / 1000,
    ...(priority === undefined ? {} : { priority }),
    ...(cost === undefined ? {} : { perHour: cost.perHour }),
    ...(lostBy === undefined ? {} : { lostBy }),
  };
}

/** The first expander that dropped the option; of options that tie to the end, the first by name wins. */
function lostAt(option: ScoredOption, all: readonly ScoredOption[], names: ChoiceInput['expanders']): string {
  let left = [...all].sort((one, other) => compareText(one.group, other.group));
  for (const name of names) {
    const [narrow] = createExpanders([name], () => 0);
    left = [...(narrow?.(left) ?? left)];
    if (!left.includes(option)) return name;
  }
  return 'name';
}
