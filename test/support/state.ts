/** States of the loop and their parts, with what a test is about; everything else as at the start of a process. */
import type { IncreaseRecord } from '../../src/domain/loop-report.ts';
import type { AcceptedIncrease, Backoff, LoopState, PodsOfClass } from '../../src/domain/loop-state.ts';
import { rememberAccepted } from '../../src/planning/state/accepted-increases.ts';
import { followedSince } from '../../src/planning/state/increases/follow-increases.ts';
import { fromStored, type StoredIncreases } from '../../src/planning/state/increases/stored-increases.ts';
import { emptyLoopState } from '../../src/planning/state/loop-state.ts';
import { START_MS } from './builders.ts';
import { defined } from '../../src/lib/defined.ts';

/** `accepted`, `awaited` and `asked`: the increases of the groups, as they are saved. */
export interface StateParts extends Partial<LoopState>, Pick<StoredIncreases, 'asked'> {
  readonly accepted?: NonNullable<StoredIncreases['accepted']>;
  readonly awaited?: NonNullable<StoredIncreases['increases']>;
}

/** A process that has any of its own increases knows all of them. */
export function aState({ accepted, awaited, asked, ...of }: StateParts = {}, nowMs = START_MS): LoopState {
  const increases = fromStored({ ...defined({ accepted, asked }), increases: awaited ?? new Map() }, nowMs);
  return { ...emptyLoopState(nowMs), increases, knowsAccepted: accepted !== undefined, ...of };
}

/** The increases with those that a loop made. */
export function withMade(before: LoopState['increases'], records: readonly IncreaseRecord[], loopId: number): LoopState['increases'] {
  return records.reduce((next, record) => {
    const { increase, outcome, atMs } = record;
    if (outcome.kind !== 'accepted') return next;
    const nodes = Math.max(0, outcome.target - increase.from);
    const made = { group: increase.group, nodes, started: 0, pods: [], expectedByMs: atMs, followed: followedSince(record, loopId) };
    return rememberAccepted(next, made, atMs);
  }, before);
}

/** Until a minute after the start of test time, for one minute. */
export function aBackoff(of: Partial<Backoff> = {}): Backoff {
  return {
    untilMs: START_MS + 60_000,
    durationMs: 60_000,
    lastFailureMs: START_MS,
    cause: 'AllocationFailed',
    kind: 'unavailable',
    message: undefined,
    correlationId: undefined,
    refused: false,
    ...of,
  };
}

/** Of our own, for the pods. */
export function anAcceptedIncrease({
  pods = [],
  ...of
}: Partial<Omit<AcceptedIncrease, 'pods'>> & { readonly pods?: readonly Partial<PodsOfClass>[] } = {}): AcceptedIncrease {
  const { acceptedAtMs = START_MS } = of;
  return {
    nodes: 1,
    acceptedAtMs,
    pods: pods.map((some) => ({ class: 'c', count: some.uids?.length ?? 1, uids: undefined, firstAskedAtMs: acceptedAtMs, ...some })),
    planned: [],
    started: 0,
    incomplete: false,
    podsGoneSinceMs: undefined,
    joinedAtMs: undefined,
    readyAtMs: undefined,
    by: 'us',
    coming: undefined,
    isOver: false,
    followed: undefined,
    ...of,
  };
}
