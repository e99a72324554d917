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

/** A duration such as `10m`. The parsed value is in milliseconds. */
export function duration(defaultMs: number, limits: { readonly leastMs?: number } = {}) {
  const leastMs = limits.leastMs ?? 0;
  const accepts = `a duration such as 10s, 10m or 1h30m${leastMs > 0 ? ` of at least ${leastMs} ms` : ''}`;
  return z
    .string({ error: accepts })
    .regex(DURATION_TEXT, { error: accepts, abort: true })
    .transform((text, context) => {
      const ms = parseDuration(text.trim());
      if (ms !== undefined && ms >= leastMs) return ms;
      context.addIssue({ code: 'custom', message: accepts });
      return z.NEVER;
    })
    .default(defaultMs);
}

/** A whole number without a default. */
export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  const error = `a whole number ${range}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

export function fraction(fallback: number) {
  const error = 'a number from 0 to 1';
  return z.number({ error }).min(0, { error }).max(1, { error }).default(fallback);
}

/** A number from `least` to `most`. Without `most` there is no maximum. */
export function number(fallback: number, least: number, most?: number) {
  const error = most === undefined ? `a number of at least ${least}` : `a number from ${least} to ${most}`;
  const atLeast = z.number({ error }).min(least, { error });
  return (most === undefined ? atLeast : atLeast.max(most, { error })).default(fallback);
}

export function flag(fallback: boolean) {
  return z.boolean({ error: 'true or false' }).default(fallback);
}

export function text(accepts: string) {
  return z.string({ error: accepts }).trim().min(1, { error: accepts });
}

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
