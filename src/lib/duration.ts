/** Durations as Go writes them, for example `600s` or `1h30m`. Must not know which setting they belong to. */

const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DURATION = /^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h|d))+$/;
const DURATION_PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h|d)/g;

interface DurationOptions {
  /** Accepts `d`, which Go does not have. */
  readonly days?: boolean;
}

/**
 * Milliseconds of a duration, possibly a fraction. Returns undefined if the text is not a duration or is negative.
 * Source: Go, `time.ParseDuration`.
 */
export function parseDurationMs(text: string, { days = false }: DurationOptions = {}): number | undefined {
  if (/^\+?0$/.test(text)) return 0;
  if (!DURATION.test(text) || (!days && text.includes('d'))) return undefined;
  const parts = [...text.matchAll(DURATION_PART)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS_MS[unit ?? ''] ?? 0), 0);
}
