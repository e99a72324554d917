/** What another process wrote as JSON: an object, or nothing. Never throws. */
export function recordOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** No clock is wrong by more, and nothing that is shared as a record lasts as long. */
const NEAR_MS = 30 * 60_000;

/** Whether a time of another process may be about now, however wrong the clock of one of the two is. False: it is no time. */
export function isNear(timeMs: unknown, nowMs: number): boolean {
  // guard: a process with a wrong clock does not remove the reports of the others
  return typeof timeMs === 'number' && Math.abs(timeMs - nowMs) <= NEAR_MS;
}
