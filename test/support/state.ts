/** States of the loop and their parts, with what a test is about; everything else as at the start of a process. */
import type { AcceptedIncrease, Backoff, LoopState, PodsOfClass } from '../../src/domain/loop-state.ts';
import { emptyLoopState } from '../../src/planning/state/loop-state.ts';
import { START_MS } from './builders.ts';

/** A process that has any of its own increases knows all of them. */
export function aState(of: Partial<LoopState> = {}, nowMs = START_MS): LoopState {
  return { ...emptyLoopState(nowMs), knowsAccepted: of.accepted !== undefined, ...of };
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

/** On its way, for the pods. */
export function anAcceptedIncrease({
  pods = [],
  ...of
}: Partial<Omit<AcceptedIncrease, 'pods'>> & { readonly pods?: readonly Partial<PodsOfClass>[] } = {}): AcceptedIncrease {
  const { acceptedAtMs = START_MS } = of;
  return {
    nodes: 1,
    acceptedAtMs,
    template: undefined,
    pods: pods.map((some) => ({ class: 'c', count: some.uids?.length ?? 1, uids: undefined, firstAskedAtMs: acceptedAtMs, ...some })),
    planned: [],
    incomplete: false,
    joinedAtMs: undefined,
    readyAtMs: undefined,
    ...of,
  };
}
