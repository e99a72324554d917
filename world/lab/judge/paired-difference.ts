/**
 * How sure a difference between two policies is. Both ran the same seeds, so the differences of each seed are compared, not the means:
 * what a seed makes expensive is expensive for both. Pure.
 */

/** Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom. More degrees use the last. */
const T_95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086,
  2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

export interface PairedDifference {
  /** Means over the seeds. */
  readonly base: number;
  readonly other: number;
  /** `other` minus `base`. */
  readonly difference: number;
  /** The 95 % confidence interval of the difference. undefined: one seed has no spread. */
  readonly interval: readonly [low: number, high: number] | undefined;
  /** Seeds whose own difference has the sign of the mean difference; all seeds, if every difference is 0. */
  readonly agreeing: number;
  readonly seeds: number;
  /** `equal`: no seed differs. `sure`: the interval excludes 0. `unknown`: one seed only. */
  readonly verdict: 'equal' | 'sure' | 'within-spread' | 'unknown';
}

/** `pairs`: one for each seed. */
export function comparePairs(pairs: readonly { readonly base: number; readonly other: number }[]): PairedDifference {
  const differences = pairs.map(({ base, other }) => other - base);
  const difference = mean(differences);
  const interval = intervalOf(differences, difference);
  const isEqual = differences.every((each) => each === 0);
  return {
    base: mean(pairs.map(({ base }) => base)),
    other: mean(pairs.map(({ other }) => other)),
    difference,
    interval,
    agreeing: isEqual ? pairs.length : differences.filter((each) => each !== 0 && Math.sign(each) === Math.sign(difference)).length,
    seeds: pairs.length,
    verdict: isEqual ? 'equal' : verdictOf(interval),
  };
}

function verdictOf(interval: PairedDifference['interval']): PairedDifference['verdict'] {
  if (interval === undefined) return 'unknown';
  const [low, high] = interval;
  return low > 0 || high < 0 ? 'sure' : 'within-spread';
}

function intervalOf(differences: readonly number[], center: number): PairedDifference['interval'] {
  const count = differences.length;
  if (count < 2) return undefined;
  const variance = differences.reduce((sum, each) => sum + (each - center) ** 2, 0) / (count - 1);
  const half = (T_95[Math.min(count - 1, T_95.length) - 1] ?? 0) * Math.sqrt(variance / count);
  return [center - half, center + half];
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
