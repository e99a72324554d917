/** Renders answers for a terminal: the answer, the fix, the evidence, then the source. Lines are at most 100 characters where words allow it. */
import type { Answer } from '../../planning/explain/answers/answer.ts';
import type { DecisionAnswer } from '../../planning/explain/answers/decision-answer.ts';
import { namePools } from '../../planning/explain/pool-rows.ts';
import { nodeParts } from './node-text.ts';
import { podParts } from './pod-text.ts';
import { poolParts } from './pool-text.ts';
import { paragraph, table, text, number } from '../text/text-layout.ts';

export interface AnswerSource {
  /** The time of the decision, milliseconds since the epoch. */
  readonly nowMs: number;
  /** The last line: where the answer comes from. */
  readonly from: string;
  /** What the source lacks; the first line. Absent if it lacks nothing. */
  readonly lacks?: string;
  /** Whether every pool and name is shown. */
  readonly all: boolean;
}

export function renderAnswer(answer: Answer, { nowMs, from, lacks, all }: AnswerSource): string {
  const parts = [...(lacks === undefined ? [] : [lacks]), ...partsOf(answer, nowMs, all), from];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

function partsOf(answer: Answer, nowMs: number, all: boolean): readonly string[] {
  switch (answer.kind) {
    case 'pod':
      return podParts(answer, nowMs, all);
    case 'node':
      return nodeParts(answer, nowMs);
    case 'pool':
      return poolParts(answer, nowMs);
    case 'decision':
      return decisionParts(answer, all);
  }
}

function decisionParts(answer: DecisionAnswer, all: boolean): readonly string[] {
  const most = all ? Number.POSITIVE_INFINITY : undefined;
  return [
    paragraph(answer.sentence),
    table(
      [text('INCREASE'), text('NODES'), number('PODS'), text('OUTCOME'), text('FOR')],
      answer.increases.map(({ group, from, to, cause, pods, podCount, outcome = '' }) => [
        group,
        `${from} -> ${to}`,
        `${podCount}`,
        outcome,
        pods.length === 0 ? cause : namePools(pods, most),
      ]),
    ),
    table(
      [text('OPTION'), number('NODES'), number('PODS'), number('WASTE'), number('PRIORITY'), number('PER HOUR'), text('RESULT')],
      answer.options.map(({ group, nodes, pods, waste, priority, perHour, lostBy }) => [
        group,
        `${nodes}`,
        `${pods}`,
        waste.toFixed(3),
        priority === undefined ? '' : `${priority}`,
        perHour === undefined ? '' : perHour.toFixed(2),
        lostBy === undefined ? 'chosen' : `lost on ${lostBy}`,
      ]),
    ),
    table(
      [text('POOL WITHOUT INCREASE'), text('WHY')],
      answer.notGrown.map(({ group, detail }) => [group, detail]),
    ),
    table([text('PENDING')], answer.pending === undefined ? [] : [[namePools(answer.pending, most)]]),
    table(
      [text('REMOVAL'), text('POOL'), text('CAUSE')],
      answer.removals.map(({ node, group, cause }) => [node, group, cause]),
    ),
    ...(answer.dumpFile === undefined ? [] : [`\nReplay, where it was decided:\n    aks-autoscaler replay ${answer.dumpFile}`]),
  ];
}
