/** Why a decision was made: what grew, for which pods, which options lost and by which rule, and what could not grow. */
import { type NodeGroupId, podName } from '../../../domain/ids.ts';
import type { Removal, ScoredOption } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { compareText } from '../../../lib/comparison.ts';
import { defined } from '../../../lib/defined.ts';
import { createExpanders } from '../../expanders/expander.ts';
import { explainSkip } from '../refusals.ts';
import { describeRemovalCause } from '../unremovable-nodes.ts';
import { describePurpose } from '../pod-owners.ts';
import type { AnswerInput } from './pod-answer.ts';

export interface DecisionAnswer {
  readonly kind: 'decision';
  /** `last`'s is the number of its loop. */
  readonly id: string;
  readonly at: string;
  readonly sentence: string;
  readonly increases: readonly {
    readonly group: string;
    readonly from: number;
    readonly to: number;
    readonly cause: string;
    /** The cause in words, after `for`. Absent in decisions that an earlier version wrote down, as is `why` below. */
    readonly purpose?: string;
    /** At most a hundred names; `podCount` counts all. */
    readonly pods: readonly string[];
    readonly podCount: number;
    /** What Azure returned, in words. Absent if the decision was not carried out. */
    readonly outcome?: string;
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
  readonly removals: readonly { readonly node: string; readonly group: string; readonly cause: string; readonly why?: string }[];
  /** Pods that it newly found no pool for; at most a hundred names. Absent if it is not about such pods. */
  readonly pending?: readonly string[];
  /** The file, on the replica that decided, with all inputs of the decision, for the command replay. Absent if none was written. */
  readonly dumpFile?: string;
}

export interface DecisionInput extends Pick<AnswerInput, 'scaleUp' | 'scaleDown'> {
  readonly input: Pick<AnswerInput['input'], 'observation' | 'policy'>;
  /** If absent, the number of the loop. */
  readonly id?: string;
  /** If absent, one is made from the plan. */
  readonly sentence?: string;
  /** By group. If absent, nothing was written. */
  readonly outcomes?: ReadonlyMap<NodeGroupId, string>;
  /** Pods that it newly found no pool for. */
  readonly pending?: readonly Pod[];
  readonly dumpFile?: string | undefined;
}

/** A plan for thousands of pods would be megabytes of names. */
const MOST_PODS = 100;

export function answerDecision({ input, scaleUp, scaleDown, outcomes, pending, dumpFile, ...given }: DecisionInput): DecisionAnswer {
  const { observation, policy } = input;
  const groups = new Map(observation.cloud.groups.map((group) => [group.id, group]));
  const grown = new Set(scaleUp.increases.map(({ group }) => group));
  const removals = (scaleDown?.removals ?? []).map((each) => ({
    node: each.node,
    group: each.group,
    cause: each.cause,
    why: describeRemovalCause(each),
  }));
  return {
    kind: 'decision',
    id: given.id ?? String(observation.loopId),
    at: new Date(observation.nowMs).toISOString(),
    sentence: given.sentence ?? sentenceOf(scaleUp.summary, scaleDown?.removals ?? []),
    increases: scaleUp.increases.map(({ group, from, to, cause, pods }) => ({
      group,
      from,
      to,
      cause,
      purpose: describePurpose({ cause, pods }),
      pods: pods.slice(0, MOST_PODS).map(podName),
      podCount: pods.length,
      ...defined({ outcome: outcomes?.get(group) }),
    })),
    options: scaleUp.options.map((option) => optionOf(option, scaleUp.options, { expanders: policy.scaleUp.expanders, grown })),
    notGrown: scaleUp.skipped.map(({ group, reason }) => ({ group, ...explainSkip(reason, groups.get(group)) })),
    removals,
    ...defined({ pending: pending?.slice(0, MOST_PODS).map(podName), dumpFile }),
  };
}

function sentenceOf(summary: string, removals: readonly Removal[]): string {
  const reimaged = removals.filter(({ reimages }) => reimages === true).length;
  const counts = [
    [removals.length - reimaged, 'removed'],
    [reimaged, 'reimaged'],
  ] as const;
  const parts = counts.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${count === 1 ? 'node' : 'nodes'} ${what}`]));
  return `Plan: ${summary}; ${parts.length === 0 ? 'nothing removed' : parts.join(', ')}.`;
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
