/** Renders answers for a terminal: the answer, the fix, the evidence, then the source. Lines are at most 100 characters where words allow it. */
import { shell } from '../../lib/shown-text.ts';
import type { Answer } from '../../planning/explain/answers/answer.ts';
import type { DecisionAnswer } from '../../planning/explain/answers/decision-answer.ts';
import { namePools } from '../../planning/explain/pool-rows.ts';
import type { TextLook } from './answer-facts.ts';
import { nodeParts } from './node-text.ts';
import { podParts } from './pod-text.ts';
import { poolParts } from './pool-text.ts';
import type { Terminal } from '../../cli/process/process.ts';
import { colourChoice, coloursOf } from '../../cli/text/colours.ts';
import { paragraph, table, text, number, widthOf } from '../../cli/text/text-layout.ts';

export interface AnswerSource extends TextLook {
  /** The last line: where the answer comes from. */
  readonly from: string;
  /** What the source lacks; the first line. Absent if it lacks nothing. */
  readonly lacks?: string;
}

export interface LookOptions {
  readonly all?: boolean | undefined;
  readonly color?: string | undefined;
}

export function lookOf({ all = false, color }: LookOptions, terminal: Terminal): Omit<TextLook, 'nowMs' | 'currency'> {
  return { all, width: widthOf(terminal), colours: coloursOf(terminal, colourChoice(color)) };
}

export function renderAnswer(answer: Answer, { from, lacks, ...look }: AnswerSource): string {
  const { colours, width } = look;
  const [sentence = '', ...rest] = partsOf(answer, look);
  const first = lacks === undefined ? [] : [painted(paragraph(lacks, width), colours.yellow)];
  const parts = [...first, painted(sentence, colours.bold), ...rest, painted(paragraph(from, width), colours.dim)];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

/** Line by line, since some terminals end a colour at the end of a line. */
function painted(lines: string, paint: (line: string) => string): string {
  return lines.split('\n').map(paint).join('\n');
}

function partsOf(answer: Answer, look: TextLook): readonly string[] {
  switch (answer.kind) {
    case 'pod':
      return podParts(answer, look);
    case 'node':
      return nodeParts(answer, look);
    case 'pool':
      return poolParts(answer, look);
    case 'decision':
      return decisionParts(answer, look);
  }
}

function decisionParts(answer: DecisionAnswer, { all, width, currency }: TextLook): readonly string[] {
  const most = all ? Number.POSITIVE_INFINITY : undefined;
  return [
    paragraph(answer.sentence, width),
    table(
      [text('INCREASE'), text('NODES'), number('PODS'), text('OUTCOME'), text('FOR')],
      answer.increases.map(({ group, from, to, cause, purpose = cause, pods, podCount, outcome = '' }) => [
        group,
        `${from} -> ${to}`,
        `${podCount}`,
        outcome,
        pods.length === 0 ? purpose : namePools(pods, most),
      ]),
      width,
    ),
    table(
      [
        text('OPTION'),
        number('NODES'),
        number('PODS'),
        number('WASTE'),
        number('PRIORITY'),
        number(currency === undefined ? 'PER HOUR' : `${currency}/H`),
        text('RESULT'),
      ],
      answer.options.map(({ group, nodes, pods, waste, priority, perHour, lostBy }) => [
        group,
        `${nodes}`,
        `${pods}`,
        waste.toFixed(3),
        priority === undefined ? '' : `${priority}`,
        perHour === undefined ? '' : perHour.toFixed(2),
        lostBy === undefined ? 'chosen' : `lost on ${lostBy}`,
      ]),
      width,
    ),
    table(
      [text('POOL WITHOUT INCREASE'), text('WHY')],
      answer.notGrown.map(({ group, detail }) => [group, detail]),
      width,
    ),
    table([text('PENDING')], answer.pending === undefined ? [] : [[namePools(answer.pending, most)]], width),
    table(
      [all ? text('REMOVAL') : { ...text('REMOVAL'), flex: 'shorten' }, text('POOL'), text('WHY')],
      answer.removals.map(({ node, group, cause, why = cause }) => [node, group, why]),
      width,
    ),
    ...(answer.dumpFile === undefined ? [] : [`\nReplay, where it was decided:\n    ${shell`aks-autoscaler replay ${answer.dumpFile}`}`]),
  ];
}
