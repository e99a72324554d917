import { AutoscalerError } from '../lib/errors.ts';

const SUFFIXES: Readonly<Record<string, number>> = {
  '': 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const FORM = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/;

/** Kubernetes caps larger quantities at this value (`int64`). */
const MAX_QUANTITY = 2 ** 63;

/**
 * Parses a Kubernetes quantity (`500m`, `1.5Gi`, `2e3`) into its value in base units, at most 2^63.
 * @throws AutoscalerError of kind `config` if the text is not a quantity.
 */
export function parseQuantity(text: string | number): number {
  const match = FORM.exec(String(text).trim());
  const number = match?.[1];
  if (match === null || number === undefined) {
    throw new AutoscalerError({ kind: 'config' }, `"${text}" is not a quantity; write for example 500m, 2, 1.5Gi or 100M.`);
  }
  const exponent = match[2];
  const value = Number(exponent === undefined ? number : number + exponent) * (SUFFIXES[match[3] ?? ''] ?? 1);
  return Math.min(value, MAX_QUANTITY);
}

const BINARY = ['Ti', 'Gi', 'Mi', 'Ki'] as const;

/** As Kubernetes writes it: `20Gi`, `1500`. */
export function quantityText(value: number): string {
  const unit = value === 0 ? undefined : BINARY.find((suffix) => value % (SUFFIXES[suffix] ?? 1) === 0);
  return unit === undefined ? String(value) : `${value / (SUFFIXES[unit] ?? 1)}${unit}`;
}

/** CPU in millicores, rounded up as the scheduler does. */
export function cpuMillis(text: string | number): number {
  return ceilExact(parseQuantity(text) * 1000);
}

/** Whole units (bytes, pods, devices), rounded up. */
export function wholeUnits(text: string | number): number {
  return ceilExact(parseQuantity(text));
}

/** Rounds up, but ignores rounding errors of binary fractions: 0.1 * 1000 must stay 100. */
function ceilExact(value: number): number {
  const nearest = Math.round(value);
  return Math.abs(value - nearest) < 1e-6 * Math.max(1, Math.abs(value)) ? nearest : Math.ceil(value);
}

/** Whether the text is a quantity that is not negative. */
export function isQuantity(text: string | number): boolean {
  try {
    return parseQuantity(text) >= 0;
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return false;
    throw thrown;
  }
}
