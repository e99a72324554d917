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

/** Harm comes first: a cheaper policy that loses work is not simply better. */
function verdictOf(input: VerdictInput): string {
  const { comparison, base, other, at } = input;
  const { seeds, figures } = comparison;
  const isEqual = figures.every(({ differences }) => differences[at]?.verdict === 'equal');
  if (isEqual)
    return `No difference shown: ${other} and ${base} have the same figures in ${seeds.length === 1 ? 'the one seed that ran' : `each of ${seeds.length} seeds`}.`;
  const clauses = [
    ...unsafeClause(input),
    ...countClauses(input, INTERRUPTED),
    costClause(input),
    waitingClause(input),
    ...countClauses(input, EVICTED),
  ];
  const text = `${other} compared with ${base}: ${clauses.join('; ')}.`;
  return seeds.length === 1 ? `One seed ran, so nothing is sure. ${text}` : text;
}

function differenceOf({ comparison, at }: VerdictInput, key: FigureKey): PairedDifference | undefined {
  return comparison.figures.find((figure) => figure.key === key)?.differences[at];
}

/** How sure, with the seeds that show it. Empty for one seed: the verdict begins with that. */
function sureText({ verdict, agreeing, seeds }: PairedDifference): string {
  return verdict === 'sure' ? ` (sure, ${agreeing} of ${seeds} seeds)` : '';
}

/** One unsafe write is one too many, however sure the difference is. */
function unsafeClause(input: VerdictInput): readonly string[] {
  const found = differenceOf(input, 'violations');
  if (found === undefined || (found.base === 0 && found.other === 0)) return [];
  const shown = (mean: number): string => shownNumber(mean, Number.isInteger(mean) ? 0 : 1);
  return [`${shown(found.other)} unsafe writes a run instead of ${shown(found.base)}${sureText(found)}`];
}

function costClause(input: VerdictInput): string {
  const cost = differenceOf(input, 'costPerDay');
  if (cost === undefined || cost.verdict === 'equal') return 'the same cost';
  if (cost.verdict === 'within-spread') return `no sure difference in cost (${averageText(cost)})`;
  return `${changeText(cost, 'more', 'less')} cost${sureText(cost)}`;
}

function waitingClause(input: VerdictInput): string {
  const slow = differenceOf(input, 'pendingP95');
  const sum = differenceOf(input, 'pendingPerDay');
  if (slow?.verdict === 'sure' || (slow?.verdict === 'unknown' && slow.difference !== 0))
    return `95 % of pods ${slowText(slow)}${sureText(slow)}`;
  if (sum?.verdict === 'sure' || (sum?.verdict === 'unknown' && sum.difference !== 0))
    return `${changeText(sum, 'more', 'less')} waiting in sum${sureText(sum)}`;
  return slow?.verdict === 'equal' && sum?.verdict === 'equal' ? 'the same waiting' : 'no sure difference in waiting';
}

function slowText({ base, other, difference }: PairedDifference): string {
  const decimals = Math.abs(difference) < 10 ? 1 : 0;
  return `wait at most ${shownNumber(other, decimals)} s instead of ${shownNumber(base, decimals)} s`;
}

/** Where the base is 0 there is no percentage. */
function changeText(difference: PairedDifference, more: string, less: string): string {
  const amount = difference.base === 0 ? '' : `${shownNumber(Math.abs(percentOf(difference)), 1)} % `;
  return `${amount}${difference.difference > 0 ? more : less}`;
}

function averageText(difference: PairedDifference): string {
  return difference.base === 0 ? 'it differs by chance' : `${changeText(difference, 'more', 'less')} on average`;
}

interface Counted {
  readonly key: FigureKey;
  readonly one: string;
  readonly many: string;
}

const INTERRUPTED: Counted = { key: 'interruptedPerDay', one: 'interrupted job', many: 'interrupted jobs' };
const EVICTED: Counted = { key: 'evictionsPerDay', one: 'eviction', many: 'evictions' };

function countClauses(input: VerdictInput, { key, one, many }: Counted): readonly string[] {
  const found = differenceOf(input, key);
  if (found === undefined || found.verdict === 'equal' || found.difference === 0) return [];
  if (found.verdict === 'within-spread') return [`no sure difference in ${many}`];
  const size = Math.abs(found.difference);
  const shown = shownNumber(size, size < 9.5 && !Number.isInteger(size) ? 1 : 0);
  return [`${shown} ${found.difference > 0 ? 'more' : 'fewer'} ${shown === '1' ? one : many} a day${sureText(found)}`];
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

/** `7 virtual days, 5 seeds, 0 unsafe writes in both`: what was run. */
export function extentText({ scenario, realTime, comparison, runs }: LabReport): string {
  const { policies, seeds } = comparison;
  const time = realTime === undefined ? lengthText(scenario.durationMs) : realTimeText(realTime);
  return `${time}, ${seeds.length} ${seeds.length === 1 ? 'seed' : 'seeds'}, ${unsafeWritesText(policies, runs)}`;
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

function unsafeWritesText(policies: readonly string[], runs: LabReport['runs']): string {
  const counts = policies.map((policy) => ({
    policy,
    count: runs.filter((run) => run.policy === policy).reduce((sum, { figures }) => sum + figures.violations, 0),
  }));
  if (counts.every(({ count }) => count === 0))
    return `0 unsafe writes${policies.length === 1 ? '' : policies.length === 2 ? ' in both' : ' in all'}`;
  return `unsafe writes: ${counts.map(({ policy, count }) => `${policy} ${count}`).join(', ')}`;
}
