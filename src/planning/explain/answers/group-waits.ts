/** What pools wait for: since when, until when, and what Azure said. */
import type { Backoff } from '../../../domain/loop-state.ts';
import type { GroupRefusal } from '../../../domain/reasons.ts';
import { defined } from '../../../lib/defined.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';

export interface GroupWait {
  readonly group: string;
  /** When the pool is tried again. Absent if no time is known. */
  readonly until?: string;
  readonly since?: string;
  /** Azure's code, or the cause in words. */
  readonly cause: string;
  /** Azure's own sentence. */
  readonly message?: string;
}

/** Of the pools whose nodes would take the pod. */
export function waitsOf(refusals: readonly GroupRefusal[], { state }: Pick<ScaleUpInput, 'state'>): readonly GroupWait[] {
  return refusals.flatMap(({ group, skip, fit = [] }): readonly GroupWait[] => {
    if (fit.length > 0 || skip === undefined) return [];
    if (skip.kind === 'backoff') return [backoffWait(group, state.backoffs.get(group), skip)];
    if (skip.kind === 'stockout') return [{ group, until: isoOf(skip.untilMs), cause: skip.code }];
    if (skip.kind === 'frozen' || skip.kind === 'target-unknown') return [{ group, cause: skip.detail }];
    return [];
  });
}

function backoffWait(
  group: string,
  backoff: Backoff | undefined,
  { untilMs, cause }: { readonly untilMs: number; readonly cause: string },
): GroupWait {
  const since = backoff === undefined ? undefined : isoOf(backoff.lastFailureMs);
  return { group, until: isoOf(untilMs), cause, ...defined({ since, message: backoff?.message }) };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
