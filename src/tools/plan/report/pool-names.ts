/** Names of pools in little room: pools that differ in their last number only, such as one per zone, are named as a range. */
import { compareText } from '../../../lib/comparison.ts';

interface Numbered {
  readonly stem: string;
  readonly at: number;
}

/** `webd8z` and 3 of `webd8z3`; undefined for a name without a number at its end. */
export function numberedName(name: string): Numbered | undefined {
  const [, stem = '', digits = ''] = /^(.*\D)([1-9]\d{0,3})$/.exec(name) ?? [];
  return digits === '' ? undefined : { stem, at: Number(digits) };
}

/** Sorted; numbers in a row as `webd8z1..3`. */
function rangesOf(names: readonly string[]): readonly string[] {
  const series = new Map<string, number[]>();
  const others: string[] = [];
  for (const name of names) {
    const numbered = numberedName(name);
    if (numbered === undefined) others.push(name);
    else series.set(numbered.stem, [...(series.get(numbered.stem) ?? []), numbered.at]);
  }
  const ranges = [...series].flatMap(([stem, numbers]) => runsOf(numbers).map((run) => rangeText(stem, run)));
  return [...others, ...ranges].sort(compareText);
}

/** Numbers that follow each other. */
function runsOf(numbers: readonly number[]): readonly (readonly number[])[] {
  const runs: number[][] = [];
  for (const at of [...numbers].sort((left, right) => left - right)) {
    const last = runs.at(-1);
    if (last !== undefined && last.at(-1) === at - 1) last.push(at);
    else runs.push([at]);
  }
  return runs;
}

function rangeText(stem: string, run: readonly number[]): string {
  return run.length === 1 ? `${stem}${run[0] ?? ''}` : `${stem}${run[0] ?? ''}..${run.at(-1) ?? ''}`;
}

/** `etlf16, mll8, webd8z1..3`; beyond `most` names, the number of the other pools. */
export function poolNames(names: readonly string[], most: number): string {
  const ranges = rangesOf(names);
  if (ranges.length <= most) return ranges.join(', ');
  const shown = ranges.slice(0, most);
  const left = names.length - shown.reduce((sum, range) => sum + sizeOf(range), 0);
  return `${shown.join(', ')}, ${left} ${left === 1 ? 'other' : 'others'}`;
}

function sizeOf(range: string): number {
  const [, first, last] = /(\d+)\.\.(\d+)$/.exec(range) ?? [];
  return first === undefined || last === undefined ? 1 : Number(last) - Number(first) + 1;
}
