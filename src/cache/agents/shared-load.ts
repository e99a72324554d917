/**
 * Loads a value that processes share. One of them reads it from the source and publishes it; the others wait for that for a limited time.
 * A place that cannot be used is as if there were none. Must not know what the value is, or where it is shared.
 */
import type { SharedText } from '../../domain/ports/shared-text.ts';
import { asAutoscalerError, type AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';

/** A failure is expected: the text of an older program, of another scope, or half written. */
export type TextReading<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly reason: string };

/** `unusable`: the text that others published. `unreachable`: the place itself. `outrun`: another process has published a newer value. */
export type SharingProblem =
  | { readonly kind: 'unusable'; readonly epoch: number; readonly reason: string }
  | { readonly kind: 'unreachable'; readonly error: AutoscalerError }
  | { readonly kind: 'outrun'; readonly epoch: number };

export interface SharedLoadDeps<Value> {
  readonly share: SharedText;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly decode: (text: string) => TextReading<Value>;
  readonly encode: (value: Value) => string;
  /** Whether a published value is good enough to be used instead of reading the source. */
  readonly isFresh: (value: Value) => boolean;
  /** Reads the source. Rejects if any part fails. */
  readonly read: (signal: AbortSignal) => Promise<Value>;
  readonly onProblem: (problem: SharingProblem) => void;
}

interface LoadedTogether<Value> {
  readonly value: Value;
  /** If set, the source could not be read, and `value` is an old one that others published. */
  readonly error?: AutoscalerError;
}

/** How long to wait for the process that has the turn, and how often to check. */
const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** After waiting for this many turns, the process reads the source without one: the others have died. */
const TURNS = 2;

interface Published<Value> {
  readonly epoch: number;
  /** undefined: the published text is unusable. */
  readonly value: Value | undefined;
}

/** The number: the epoch to publish under. undefined: there is no turn to be had. */
type Turn<Value> = number | { readonly value: Value } | undefined;

/** `isEmpty`: this process has no value yet, so that even an old one is of use. @throws AutoscalerError if there is no value at all. */
export async function loadTogether<Value>(
  deps: SharedLoadDeps<Value>,
  isEmpty: boolean,
  signal: AbortSignal,
): Promise<LoadedTogether<Value>> {
  let known: Published<Value> | undefined;
  try {
    known = await readPublished(deps, true);
    if (isUsable(deps, known)) return { value: known.value };
    const turn = await takeTurn(deps, known?.epoch ?? 0, signal);
    if (typeof turn === 'object') return { value: turn.value };
    return { value: await (turn === undefined ? deps.read(signal) : readAndPublish(deps, turn, signal)) };
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled' || known?.value === undefined || !isEmpty) throw error;
    return { value: known.value, error };
  }
}

async function readPublished<Value>(deps: SharedLoadDeps<Value>, reports: boolean): Promise<Published<Value> | undefined> {
  const found = await tryShare(deps, (share) => share.latest());
  if (found === undefined) return undefined;
  const reading = deps.decode(found.text);
  if (reading.ok) return { epoch: found.epoch, value: reading.value };
  if (reports) deps.onProblem({ kind: 'unusable', epoch: found.epoch, reason: reading.reason });
  return { epoch: found.epoch, value: undefined };
}

function isUsable<Value>(
  { isFresh }: SharedLoadDeps<Value>,
  known: Published<Value> | undefined,
): known is Published<Value> & { readonly value: Value } {
  return known?.value !== undefined && isFresh(known.value);
}

async function takeTurn<Value>(deps: SharedLoadDeps<Value>, after: number, signal: AbortSignal): Promise<Turn<Value>> {
  for (let epoch = after + 1; epoch <= after + TURNS; epoch++) {
    const isOurs = await tryShare(deps, (share) => share.claim(epoch));
    if (isOurs === undefined) return undefined;
    // If another process published between our check and our claim, the claim is not needed.
    const found = isOurs ? await readPublished(deps, false) : await waitFor(deps, signal);
    if (isUsable(deps, found)) {
      if (isOurs) await tryShare(deps, (share) => share.release(epoch));
      return { value: found.value };
    }
    if (isOurs) return epoch;
  }
  return undefined;
}

async function waitFor<Value>(deps: SharedLoadDeps<Value>, signal: AbortSignal): Promise<Published<Value> | undefined> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += LOOK_EVERY_MS) {
    await deps.clock.sleep(LOOK_EVERY_MS, signal);
    const found = await readPublished(deps, false);
    if (isUsable(deps, found)) return found;
  }
  return undefined;
}

/** After a failure the claim is released, so that the next process need not wait. */
async function readAndPublish<Value>(deps: SharedLoadDeps<Value>, epoch: number, signal: AbortSignal): Promise<Value> {
  try {
    const value = await deps.read(signal);
    const isWritten = await tryShare(deps, (share) => share.publish(epoch, deps.encode(value)));
    if (isWritten === false) deps.onProblem({ kind: 'outrun', epoch });
    return value;
  } catch (thrown) {
    await tryShare(deps, (share) => share.release(epoch));
    throw thrown;
  }
}

async function tryShare<Value, Result>(
  { share, onProblem }: SharedLoadDeps<Value>,
  work: (share: SharedText) => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work(share);
  } catch (thrown) {
    onProblem({ kind: 'unreachable', error: asAutoscalerError(thrown) });
    return undefined;
  }
}
