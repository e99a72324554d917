/** The comparison on a terminal: the verdict, what was run, and the figures that decide most. */
import type { FigureKey } from '../../lab/judge/comparison.ts';
import { figureRow } from '../../lab/report/figure-text.ts';
import type { LabReport } from '../../lab/report/lab-report.ts';
import { extentText, verdicts } from '../../lab/report/verdict.ts';
import type { Colours } from '../text/colours.ts';
import { number, paragraph, table, text, type Column } from '../text/text-layout.ts';

/** The others are in the files. */
const SHOWN: readonly FigureKey[] = ['costPerDay', 'pendingP95', 'evictionsPerDay', 'interruptedPerDay', 'armPerHour', 'violations'];
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
  return `${[...sentences, extent, ...notes, figureTable(report, width), source].join('\n')}\n`;
}

function figureTable({ comparison, scenario }: LabReport, width: number): string {
  const { policies, figures, seeds } = comparison;
  const pairs = policies
    .slice(1)
    .flatMap((policy): readonly Column[] => [number(policies.length === 2 ? 'DIFFERENCE' : `${policy} -`), text('SURE')]);
  const shown = figures.filter(({ key, values }) => SHOWN.includes(key) && !(RARE.includes(key) && values.every((value) => value === 0)));
  const rows = shown.map((figure, at) => {
    const { label, values, differences } = figureRow(figure, scenario.currency);
    return [
      label,
      ...values,
      ...differences.flatMap(({ difference, sure }) => [difference, at === 0 && seeds.length > 1 ? `${sure} seeds` : sure]),
    ];
  });
  return table([text(''), ...policies.map((policy) => number(policy)), ...pairs], rows, width);
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
