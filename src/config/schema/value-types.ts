/**
 * The kinds of values of settings. Each contains the text "what is accepted" for its issues; messages.ts puts it after the
 * name and value of the setting.
 */
import * as z from 'zod';
import { parseDurationMs } from '../../lib/duration.ts';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

/** The notation of Go, plus days, surrounding spaces and a bare zero. The schema of the chart's values contains it. */
const DURATION_TEXT = /^\s*\+?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h|d))+)\s*$/;

/** Whole milliseconds of `10s`, `1h30m` or `2d`; at least one if not zero. Returns undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const ms = parseDurationMs(text, { days: true });
  if (ms === undefined || ms === 0) return ms;
  return Math.max(1, Math.round(ms));
}

/**
 * Settings of the same kind share one value of the schema: to make one takes as long as to read a setting, and there are hundreds of settings
 * before the first line of the log.
 */
function shared<Args extends readonly (string | number | boolean | undefined)[], Kind>(
  make: (...args: Args) => Kind,
): (...args: Args) => Kind {
  const made = new Map<string, Kind>();
  return (...args) => {
    const key = args.join('|');
    const kind = made.get(key) ?? make(...args);
    made.set(key, kind);
    return kind;
  };
}

/** A duration such as `10m`. The parsed value is in milliseconds. */
export function duration(defaultMs: number, limits: { readonly leastMs?: number } = {}) {
  return durationOfAtLeast(limits.leastMs ?? 0).default(defaultMs);
}

const durationOfAtLeast = shared((leastMs: number) => {
  const accepts = `a duration such as 10s, 10m or 1h30m${leastMs > 0 ? ` of at least ${leastMs} ms` : ''}`;
  return z
    .string({ error: accepts })
    .regex(DURATION_TEXT, { error: accepts, abort: true })
    .transform((text, context) => {
      const ms = parseDuration(text.trim());
      if (ms !== undefined && ms >= leastMs) return ms;
      context.addIssue({ code: 'custom', message: accepts });
      return z.NEVER;
    });
});

/** A whole number without a default. */
export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return wholeNumberBetween(least, most);
}

const wholeNumberBetween = shared((least: number, most: number) => {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  const error = `a whole number ${range}`;
  return z.int({ error }).check(z.gte(least, { error }), z.lte(most, { error }));
});

export function fraction(fallback: number) {
  return number(fallback, 0, 1);
}

/** A number from `least` to `most`. Without `most` there is no maximum. */
export function number(fallback: number, least: number, most?: number) {
  return numberBetween(least, most).default(fallback);
}

const numberBetween = shared((least: number, most: number | undefined) => {
  const error = most === undefined ? `a number of at least ${least}` : `a number from ${least} to ${most}`;
  return z.number({ error }).check(z.gte(least, { error }), ...(most === undefined ? [] : [z.lte(most, { error })]));
});

export const flag = shared((fallback: boolean) => z.boolean({ error: 'true or false' }).default(fallback));

export const text = shared((accepts: string) => z.string({ error: accepts }).check(z.trim(), z.minLength(1, { error: accepts })));

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

/** An absolute http(s) URL as written, without a trailing slash. */
export function endpoint() {
  const error = 'a URL such as https://management.azure.com';
  return z
    .string({ error })
    .trim()
    .refine((value) => /^https?:\/\/[^\s/]+/.test(value) && URL.canParse(value), { error })
    .transform((value) => value.replace(/\/+$/, ''));
}
