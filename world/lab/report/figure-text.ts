/** Numbers and cells of a report, as people read them. Pure. */
import type { ComparedFigure } from '../judge/comparison.ts';
import type { PairedDifference } from '../judge/paired-difference.ts';

/** `1 204.4`: a space in thousands. */
export function shownNumber(value: number, decimals: number): string {
  const [whole = '', part] = Math.abs(value).toFixed(decimals).split('.');
  const text = `${whole.replace(/\B(?=(?:\d{3})+$)/g, ' ')}${part === undefined ? '' : `.${part}`}`;
  return value < 0 && /[1-9]/.test(text) ? `-${text}` : text;
}

function signed(value: number, decimals: number): string {
  const text = shownNumber(value, decimals);
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** `-11.0 %`, or `+2` for counts and where the base is 0. */
export function differenceText({ unit, decimals }: Pick<ComparedFigure, 'unit' | 'decimals'>, difference: PairedDifference): string {
  if (unit === 'percent' && difference.base !== 0) return `${signed(percentOf(difference), 1)} %`;
  if (difference.difference === 0) return '0';
  return signed(difference.difference, Math.max(decimals, Math.abs(difference.difference) < 10 ? 1 : 0));
}

/** Percent of the base. */
export function percentOf({ base, difference }: PairedDifference): number {
  return (100 * difference) / base;
}

/** `yes, 5 of 5`: how sure, and how many seeds agree. */
function sureText({ verdict, agreeing, seeds }: PairedDifference): string {
  if (verdict === 'unknown') return 'unknown, 1 seed';
  if (verdict === 'equal') return seeds === 1 ? 'same' : `same in all ${seeds}`;
  return `${verdict === 'sure' ? 'yes' : 'no'}, ${agreeing} of ${seeds}`;
}

/** The label with the currency in its place. */
export function labelText({ label }: Pick<ComparedFigure, 'label'>, currency: string): string {
  return label.replace('$', currency);
}

export interface FigureRow {
  readonly label: string;
  /** In the order of the policies. */
  readonly values: readonly string[];
  /** For each policy but the first. */
  readonly differences: readonly { readonly difference: string; readonly sure: string; readonly better: 'better' | 'worse' | undefined }[];
}

export function figureRow(figure: ComparedFigure, currency: string): FigureRow {
  return {
    label: labelText(figure, currency),
    values: figure.values.map((value) => shownNumber(value, decimalsOf(figure))),
    differences: figure.differences.map((each) => ({
      difference: differenceText(figure, each),
      sure: sureText(each),
      better: betterness(figure, each),
    })),
  };
}

/** Small means of counts need a decimal: else 0.6 and 1.6 are shown as 1 and 2, and their difference looks wrong. */
function decimalsOf({ unit, decimals, values }: Pick<ComparedFigure, 'unit' | 'decimals' | 'values'>): number {
  const isSmall = values.some((value) => Math.abs(value) < 10 && !Number.isInteger(value));
  return unit === 'count' && isSmall ? Math.max(decimals, 1) : decimals;
}

/** Which way a sure difference is. undefined: it is not sure, or no direction is better. */
export function betterness(
  { lessIsBetter }: Pick<ComparedFigure, 'lessIsBetter'>,
  { verdict, difference }: PairedDifference,
): 'better' | 'worse' | undefined {
  if (verdict !== 'sure' || lessIsBetter === undefined) return undefined;
  return difference < 0 === lessIsBetter ? 'better' : 'worse';
}
