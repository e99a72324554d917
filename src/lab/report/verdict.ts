/** What the comparison says, in plain words. Pure. */
import type { ComparedFigure, Comparison, FigureKey } from '../judge/comparison.ts';
import type { PairedDifference } from '../judge/paired-difference.ts';
import { betterness, differenceText, labelText, percentOf, shownNumber } from './figure-text.ts';
import type { LabReport } from './lab-report.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Below, minutes are shown. */
const SHOWN_MINUTES = 100;

/** One sentence for each policy but the first. */
export function verdicts({ comparison }: Pick<LabReport, 'comparison'>): readonly string[] {
  const [base = '', ...others] = comparison.policies;
  if (others.length === 0) return [`Only ${base} ran; a second policy gives a comparison.`];
  return others.map((other, at) => verdictOf({ comparison, base, other, at }));
}

interface VerdictInput {
  readonly comparison: Comparison;
  readonly base: string;
  readonly other: string;
  /** The place among the differences. */
  readonly at: number;
}

function verdictOf(input: VerdictInput): string {
  const { comparison, base, other, at } = input;
  const all = comparison.figures.map(({ differences }) => differences[at]);
  if (all.every((difference) => difference?.verdict === 'equal'))
    return `${other} and ${base} are equal: no figure differs in ${comparison.seeds.length === 1 ? 'the seed' : `any of ${comparison.seeds.length} seeds`}.`;
  const clauses = [costClause(input), waitingClause(input), ...countClauses(input)];
  return `${clauses.join('; ')}.`;
}

function differenceOf({ comparison, at }: VerdictInput, key: FigureKey): PairedDifference | undefined {
  return comparison.figures.find((figure) => figure.key === key)?.differences[at];
}

function costClause(input: VerdictInput): string {
  const { other } = input;
  const cost = differenceOf(input, 'costPerDay');
  if (cost === undefined || cost.verdict === 'equal') return `${other} costs the same`;
  if (cost.verdict === 'within-spread') return `${other} costs the same within the spread`;
  const amount = cost.base === 0 ? '' : `${shownNumber(Math.abs(percentOf(cost)), 1)} % `;
  return `${other} costs ${amount}${cost.difference < 0 ? 'less' : 'more'} (${cost.verdict === 'sure' ? 'sure' : 'one seed, not sure'})`;
}

function waitingClause(input: VerdictInput): string {
  const slow = differenceOf(input, 'pendingP95');
  const sum = differenceOf(input, 'pendingPerDay');
  if (slow?.verdict === 'sure') return `the slowest 5 % of pods wait ${changeText(slow, 'longer', 'less long')}`;
  if (sum?.verdict === 'sure') return `pods wait ${changeText(sum, 'more in sum', 'less in sum')}`;
  if (slow?.verdict === 'equal' && sum?.verdict === 'equal') return 'waiting is the same';
  return slow?.verdict === 'unknown' || sum?.verdict === 'unknown'
    ? 'waiting cannot be judged by one seed'
    : 'waiting is equal within the spread';
}

function changeText(difference: PairedDifference, more: string, less: string): string {
  const { base, verdict } = difference;
  const amount = base === 0 ? '' : `${shownNumber(Math.abs(percentOf(difference)), 1)} % `;
  return `${amount}${difference.difference > 0 ? more : less}${verdict === 'sure' ? ' (sure)' : ''}`;
}

const COUNTED: readonly { readonly key: FigureKey; readonly one: string; readonly many: string; readonly per: string }[] = [
  { key: 'evictionsPerDay', one: 'eviction', many: 'evictions', per: ' a day' },
  { key: 'interruptedPerDay', one: 'interrupted job', many: 'interrupted jobs', per: ' a day' },
  { key: 'violations', one: 'unsafe write', many: 'unsafe writes', per: ' a run' },
];

/** Only what is sure. */
function countClauses(input: VerdictInput): readonly string[] {
  return COUNTED.flatMap(({ key, one, many, per }) => {
    const found = differenceOf(input, key);
    if (found?.verdict !== 'sure') return [];
    const size = Math.abs(found.difference);
    const shown = shownNumber(size, size < 9.5 && !Number.isInteger(size) ? 1 : 0);
    return [`${shown} ${found.difference > 0 ? 'more' : 'fewer'} ${shown === '1' ? one : many}${per}`];
  });
}

/** In what each policy but the first is better, worse, or not surely different. */
export interface Strengths {
  readonly policy: string;
  readonly better: readonly string[];
  readonly worse: readonly string[];
  readonly unsure: readonly string[];
}

export function strengths({ comparison, scenario }: Pick<LabReport, 'comparison' | 'scenario'>): readonly Strengths[] {
  return comparison.policies.slice(1).map((policy, at) => {
    const directed = comparison.figures.filter(({ lessIsBetter }) => lessIsBetter !== undefined);
    const named = (wanted: (figure: ComparedFigure, difference: PairedDifference) => boolean, withSize: boolean): readonly string[] =>
      directed.flatMap((figure) => {
        const difference = figure.differences[at];
        if (difference === undefined || !wanted(figure, difference)) return [];
        const label = labelText(figure, scenario.currency);
        return [withSize ? `${label} (${differenceText(figure, difference)})` : label];
      });
    return {
      policy,
      better: named((figure, difference) => betterness(figure, difference) === 'better', true),
      worse: named((figure, difference) => betterness(figure, difference) === 'worse', true),
      unsure: named((_, { verdict }) => verdict === 'within-spread' || verdict === 'unknown', false),
    };
  });
}

/** `7 virtual days, 5 seeds, 0 violations in both`: what was run. */
export function extentText({ scenario, realTime, comparison, runs }: LabReport): string {
  const { policies, seeds } = comparison;
  const time = realTime === undefined ? lengthText(scenario.durationMs) : realTimeText(realTime);
  return `${time}, ${seeds.length} ${seeds.length === 1 ? 'seed' : 'seeds'}, ${violationsText(policies, runs)}`;
}

function realTimeText({ minutes, speed }: NonNullable<LabReport['realTime']>): string {
  return `${shownNumber(minutes, 0)} min in real time${speed === 1 ? '' : `, the world ${speed} times faster`}`;
}

function lengthText(durationMs: number): string {
  const days = durationMs / DAY_MS;
  const minutes = Math.round(durationMs / MINUTE_MS);
  if (minutes < SHOWN_MINUTES) return `${minutes} virtual ${minutes === 1 ? 'minute' : 'minutes'}`;
  if (days < 1) return `${shownNumber(durationMs / HOUR_MS, Number.isInteger(durationMs / HOUR_MS) ? 0 : 1)} virtual hours`;
  return `${shownNumber(days, Number.isInteger(days) ? 0 : 1)} virtual ${days === 1 ? 'day' : 'days'}`;
}

function violationsText(policies: readonly string[], runs: LabReport['runs']): string {
  const counts = policies.map((policy) => ({
    policy,
    count: runs.filter((run) => run.policy === policy).reduce((sum, { figures }) => sum + figures.violations, 0),
  }));
  if (counts.every(({ count }) => count === 0))
    return `0 violations${policies.length === 1 ? '' : policies.length === 2 ? ' in both' : ' in all'}`;
  return `violations: ${counts.map(({ policy, count }) => `${policy} ${count}`).join(', ')}`;
}
