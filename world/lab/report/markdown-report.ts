/** The report as Markdown, with every figure. Pure. */
import { figureRow } from './figure-text.ts';
import type { LabReport } from './lab-report.ts';
import { extentText, strengths, verdicts } from './verdict.ts';

export function markdownReport(report: LabReport): string {
  const { scenario, comparison } = report;
  return `${[
    `# ${escaped(scenario.name)}: ${comparison.policies.map(escaped).join(' and ')}`,
    '',
    ...verdicts(report).map((sentence) => `**${escaped(sentence)}**`),
    '',
    `${capitalized(escaped(scenario.what))}. ${extentText(report)}.`,
    '',
    ...figureTable(report),
    '',
    ...strengthLines(report),
    ...noteLines(report),
    '## How to read it',
    '',
    ...HOW_TO_READ.map((sentence) => `- ${sentence}`),
  ].join('\n')}\n`;
}

/** What the words mean: the same in every form of the report. */
export const HOW_TO_READ: readonly string[] = [
  'Values are means over the seeds. Policies run the same seeds, and each difference is taken seed by seed.',
  '"Sure" is yes if the 95 % confidence interval of the differences (Student’s t, paired) excludes zero; the number of seeds with a difference in the same direction follows.',
  'Among many figures one may be called sure by chance: look for differences that fit together.',
  'Cost is what is to pay for the nodes of every pool: at list prices, or by the contract that a policy states, without nodes that are paid already. Waits are of pods of workloads, from their creation to their binding.',
  'Evictions are those that the autoscaler requested. Jobs are interrupted by evictions and by Spot nodes that Azure takes back.',
];

function figureTable({ comparison, scenario }: LabReport): readonly string[] {
  const { policies } = comparison;
  const pairs = policies
    .slice(1)
    .flatMap((policy) => (policies.length === 2 ? ['Difference', 'Sure'] : [`${policy}: difference`, `${policy}: sure`]));
  const row = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`;
  return [
    row(['Figure', ...policies, ...pairs]),
    `| --- |${' ---: |'.repeat(policies.length)}${' ---: | --- |'.repeat(policies.length - 1)}`,
    ...comparison.figures
      .map((figure) => figureRow(figure, scenario.currency))
      .map(({ label, values, differences }) =>
        row([label, ...values, ...differences.flatMap(({ difference, sure }) => [difference, sure])]),
      ),
  ];
}

function strengthLines(report: LabReport): readonly string[] {
  return strengths(report).flatMap(({ policy, better, worse, unsure }) => [
    `## ${escaped(policy)} compared with ${escaped(report.comparison.policies[0] ?? '')}`,
    '',
    `- Better: ${listText(better)}`,
    `- Worse: ${listText(worse)}`,
    `- No sure difference: ${listText(unsure)}`,
    '',
  ]);
}

function listText(items: readonly string[]): string {
  return items.length === 0 ? 'nothing' : escaped(items.join('; '));
}

function noteLines({ notes }: LabReport): readonly string[] {
  return notes.length === 0 ? [] : ['## Notes', '', ...notes.map((note) => `- ${escaped(note)}`), ''];
}

/** Names are those of files: they may contain what Markdown reads as markup. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_|<>[\]]/g, (sign) => `\\${sign}`);
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
