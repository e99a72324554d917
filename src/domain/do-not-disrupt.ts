/**
 * Karpenter's annotation `karpenter.sh/do-not-disrupt` of pods and nodes. `true` protects without end, a duration until that long after the
 * start of the pod, or the creation of the node, and `false` not at all. A value that cannot be read protects, since its
 * author asked for protection. Source: Karpenter's documentation of disruption, pod-level controls, from v1.12 on. Must not know what is protected.
 */
import { parseDurationMs } from '../lib/duration.ts';
import { shownText } from '../lib/shown-text.ts';

export const DO_NOT_DISRUPT_ANNOTATION = 'karpenter.sh/do-not-disrupt';

/** What the annotation says beyond `true`. */
export interface Protection {
  /** The value, if it is not `true`. */
  readonly protectedBy?: string;
  /** Milliseconds since the epoch. If absent, no end is known. */
  readonly protectedUntilMs?: number;
}

/** Values that cannot be read are kept for messages only. */
const MOST_VALUE_BYTES = 64;
/** What a Go duration can hold: 2^63 nanoseconds. */
const LONGEST_MS = 2 ** 63 / 1e6;

/**
 * Returns undefined if the annotation protects nothing. `sinceMs`: from when a duration counts, milliseconds since the epoch. While that is
 * unknown, no end is known: a pod that has not started is protected.
 */
export function protectionOf(value: string | undefined, sinceMs: number | undefined): Protection | undefined {
  if (value === undefined || value === 'false') return undefined;
  if (value === 'true') return {};
  const ms = durationOf(value);
  // guard: a protection that cannot be read protects
  if (ms === undefined) return { protectedBy: shownText(value, MOST_VALUE_BYTES) };
  if (ms === 0) return undefined;
  return sinceMs === undefined ? { protectedBy: value } : { protectedBy: value, protectedUntilMs: sinceMs + ms };
}

/** As Go reads it. A negative one is undefined, too. */
function durationOf(value: string): number | undefined {
  const ms = parseDurationMs(value);
  return ms !== undefined && ms < LONGEST_MS ? ms : undefined;
}

export function hasProtectionEnded({ protectedUntilMs }: Protection, nowMs: number): boolean {
  return protectedUntilMs !== undefined && protectedUntilMs <= nowMs;
}

/** Whether it protects only because its value has no meaning. */
export function isProtectionUnreadable({ protectedBy }: Protection): boolean {
  return protectedBy !== undefined && durationOf(protectedBy) === undefined;
}

/** The annotation and what it means, for people. */
export function protectionText(protection: Protection): string {
  const { protectedBy = 'true', protectedUntilMs } = protection;
  const written = `${DO_NOT_DISRUPT_ANNOTATION}: "${protectedBy}"`;
  if (protectedUntilMs !== undefined) return `${written}, until ${minuteText(protectedUntilMs)}`;
  if (isProtectionUnreadable(protection))
    return `${written}, which is neither true, false nor a duration such as 4h: it protects without end`;
  return protectedBy === 'true' ? written : `${written} from its start, which is not known yet`;
}

const LATEST_MS = 8.64e15;

function minuteText(atMs: number): string {
  return `${new Date(Math.min(atMs, LATEST_MS)).toISOString().slice(0, -8).replace('T', ' ')} UTC`;
}
