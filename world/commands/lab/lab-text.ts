/** The comparison on a terminal: the verdict, what was run, and the figures that decide most. */
import type { FigureKey } from '../../lab/judge/comparison.ts';
import { figureRow } from '../../lab/report/figure-text.ts';
import type { LabReport } from '../../lab/report/lab-report.ts';
import { extentText, verdicts } from '../../lab/report/verdict.ts';
import type { Colours } from '../../../src/cli/text/colours.ts';
import { number, paragraph, table, text } from '../../../src/cli/text/text-layout.ts';

/** The others are in the files. Parts of the money are there only with a contract. */
const SHOWN: readonly FigureKey[] = [
  'costPerDay',
  'listPerDay',
  'discountedPerDay',
  'paidIdlePerDay',
  'pendingP95',
  'evictionsPerDay',
  'interruptedPerDay',
  'armPerHour',
  'violations',
];
/** Shown only if they are not 0. */
const RARE: readonly FigureKey[] = ['interruptedPerDay', 'violations'];

interface LabTextInput {
  readonly report: LabReport;
  /** Real time, milliseconds. */
  readonly tookMs: number;
  /** Paths of the report's files. */
  readonly files: readonly string[];
  readonly width: number;
  readonly colours: Colours;
}

export function labText({ report, tookMs, files, width, colours }: LabTextInput): string {
  const sentences = verdicts(report).map((sentence) => colours.bold(paragraph(sentence, width)));
  const extent = paragraph(`${extentText(report)}; ran ${tookText(tookMs)}.`, width);
  const notes = report.notes.map((note) => paragraph(note, width));
  const [first = '', ...more] = files;
  const source = colours.dim(paragraph(`Report: ${[first, ...more.map((file) => file.slice(file.lastIndexOf('.')))].join(', ')}`, width));
  return `${[...sentences, extent, ...notes, ...figureTables(report, width), source].join('\n')}\n`;
}

/** A table for each policy but the first, beside the first: wider tables would not fit. */
function figureTables({ comparison, scenario }: LabReport, width: number): readonly string[] {
  const { policies, figures, seeds } = comparison;
  const shown = figures.filter(({ key, values }) => SHOWN.includes(key) && !(RARE.includes(key) && values.every((value) => value === 0)));
  const rows = shown.map((figure) => figureRow(figure, scenario.currency));
  const [base = '', ...others] = policies;
  if (others.length === 0)
    return [
      table(
        [text(''), number(base)],
        rows.map(({ label, values: [value = ''] }) => [label, value]),
        width,
      ),
    ];
  return others.map((other, at) => {
    const columns = [text(''), number(base), number(other), number('DIFFERENCE'), text('SURE')];
    const cells = rows.map(({ label, values, differences }, row) => {
      const { difference, sure } = differences[at] ?? { difference: '', sure: '' };
      return [label, values[0] ?? '', values[at + 1] ?? '', difference, row === 0 && seeds.length > 1 ? `${sure} seeds` : sure];
    });
    return table(columns, cells, width);
  });
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SECONDS_ONLY = 100;

/** `3 min 12 s`; below 100 s, seconds alone. */
function tookText(ms: number): string {
  const seconds = Math.round(ms / SECOND);
  if (seconds < SECONDS_ONLY) return `${seconds} s`;
  return `${Math.floor((seconds * SECOND) / MINUTE)} min ${seconds % 60} s`;
}
