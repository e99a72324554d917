/** Durations as Go writes them, for example `600s` or `1h30m`, and as people read them. Must not know which setting they belong to. */

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

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** For sentences: whole seconds below two minutes, then whole minutes, then hours and days with one decimal. Below zero is `0 s`. */
export function formatDuration(ms: number): string {
  if (Math.round(ms / SECOND_MS) < 120) return `${Math.max(0, Math.round(ms / SECOND_MS))} s`;
  if (Math.round(ms / MINUTE_MS) < 120) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${(ms / HOUR_MS).toFixed(1)} h` : `${(ms / DAY_MS).toFixed(1)} days`;
}

/** A moment as programs read it: `2026-05-01T12:00:00.000Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
