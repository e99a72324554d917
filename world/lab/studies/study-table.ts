/** The figures of pairs of runs, each with the median over its seeds and the least and most of the seeds' differences. Pure. */
import { FIGURES, type FigureKey } from '../judge/comparison.ts';
import type { RunFigures } from '../judge/run-figures.ts';

/** The columns of the table. */
const SHOWN: readonly FigureKey[] = [
  'costPerDay',
  'pendingPerDay',
  'evictionsPerDay',
  'movedTwicePerDay',
  'interruptedPerDay',
  'medianLife',
];
/** What is kept of each pair. */
const KEPT: readonly FigureKey[] = [...SHOWN, 'violations'];

/** Figures of one seed, without and with what is turned on. */
interface Pair {
  readonly without: RunFigures;
  readonly with: RunFigures;
}

export interface StudyFigure {
  readonly key: FigureKey;
  /** In the order of the seeds. */
  readonly values: readonly { readonly without: number; readonly with: number }[];
}

interface StudyResult {
  readonly name: string;
  readonly what: string;
  readonly scenario: string;
  readonly hours: number;
  readonly figures: readonly StudyFigure[];
}

export interface StudyResults {
  /** The command that made them. */
  readonly command: string;
  readonly seeds: readonly number[];
  readonly currency: string;
  readonly studies: readonly StudyResult[];
}

/** At least one pair. */
export function studyFigures(pairs: readonly Pair[]): readonly StudyFigure[] {
  return FIGURES.filter(({ key }) => KEPT.includes(key)).map(({ key, of }) => ({
    key,
    values: pairs.map((pair) => ({ without: of(pair.without), with: of(pair.with) })),
  }));
}

interface Summary {
  /** Medians over the seeds. */
  readonly without: number;
  readonly with: number;
  /** Of the seeds' own differences, `with` minus `without`. */
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

function summaryOf({ figures }: StudyResult, wanted: FigureKey): Summary {
  const values = figures.find(({ key }) => key === wanted)?.values ?? [];
  const differences = values.map((each) => each.with - each.without);
  return {
    without: median(values.map(({ without }) => without)),
    with: median(values.map((each) => each.with)),
    median: median(differences),
    least: Math.min(...differences),
    most: Math.max(...differences),
  };
}

/** Of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/** Lines of Markdown: a row for each pair. A cell has both medians, then the median difference with the least and most of the seeds. */
export function studyTable({ studies, currency }: StudyResults): readonly string[] {
  const columns = [
    'Turned on',
    'Load',
    `Cost, ${currency}/day`,
    'Pending, pod-minutes/day',
    'Evictions/day',
    'Moved twice/day',
    'Jobs interrupted/day',
    'Node life, min',
  ];
  return [
    rowOf(columns),
    rowOf(columns.map(() => '---')),
    ...studies.map((study) => rowOf([study.what, playedText(study), ...SHOWN.map((key) => cellOf(study, key))])),
  ];
}

/** `office-week, 24 h, 3 seeds` */
function playedText(study: StudyResult): string {
  const { scenario, hours } = study;
  const seeds = seedsOf(study);
  return `${scenario}, ${hours} h, ${seeds} ${seeds === 1 ? 'seed' : 'seeds'}`;
}

function seedsOf({ figures }: StudyResult): number {
  return figures[0]?.values.length ?? 0;
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** `92.1 → 80.4: -12.7 % (-14.0 to -11.2)`; numbers in place of percent for counts, and where nothing was before. One seed has no range. */
function cellOf(study: StudyResult, key: FigureKey): string {
  const { without, with: turnedOn, median: difference, least, most } = summaryOf(study, key);
  if (least === 0 && most === 0) return `${shown(without)}, the same`;
  const values = `${shown(without)} → ${shown(turnedOn)}`;
  const isOne = seedsOf(study) === 1;
  const range = (text: (value: number) => string): string => (isOne ? '' : ` (${text(least)} to ${text(most)})`);
  const isShare = key === 'costPerDay' || key === 'pendingPerDay';
  if (!isShare || without === 0) return `${values}${range((value) => signed(value, 0))}`;
  const percent = (value: number): string => signed((100 * value) / without, 1);
  return `${values}: ${percent(difference)} %${range(percent)}`;
}

function shown(value: number): string {
  return value.toFixed(Math.abs(value) < 100 && !Number.isInteger(value) ? 1 : 0);
}

function signed(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return Number(text) > 0 ? `+${text}` : text.replace(/^-(0(?:\.0+)?)$/, '$1');
}

/** What no policy may do, as sentences; empty if no run did. Where repacking is on, no pod is moved twice, and pods do not wait longer. */
export function studyProblems({ studies }: StudyResults): readonly string[] {
  return studies.flatMap((study) => {
    const { name } = study;
    const [twice, unsafe] = [mostWith(study, 'movedTwicePerDay'), mostWith(study, 'violations')];
    const pending = summaryOf(study, 'pendingPerDay');
    return [
      ...(unsafe > 0 ? [`${name}: ${shown(unsafe)} unsafe writes`] : []),
      ...(name.startsWith('repack') && twice > 0 ? [`${name}: ${shown(twice)} pods a day were moved twice within an hour`] : []),
      ...(name.startsWith('repack') && isLonger(pending, seedsOf(study))
        ? [`${name}: ${signed(pending.median, 0)} pod-minutes a day more pending, ${shown(pending.without)} without`]
        : []),
    ];
  });
}

function mostWith({ figures }: StudyResult, key: FigureKey): number {
  return Math.max(0, ...(figures.find((figure) => figure.key === key)?.values ?? []).map((each) => each.with));
}

/** One day's pending time differs by a tenth in either direction by chance alone: other nodes start at other times. */
const MOST_BY_CHANCE = 0.1;
/** So many days all differ in one direction by chance once in 32 times. */
const SURE_SEEDS = 5;

/** Whether pods wait longer than chance explains: by more than that in the middle, or in each of several days. */
function isLonger({ median: more, least, without }: Summary, seeds: number): boolean {
  return more > without * MOST_BY_CHANCE || (seeds >= SURE_SEEDS && least > 0);
}
