/**
 * Loads a value that processes share. One of them reads it from the source and publishes it; the others wait for that for a limited time.
 * A place that cannot be used is as if there were none. Must not know what the value is, or where it is shared.
 */
import type { PublishedText, SharedText } from '../../domain/ports/shared-text.ts';
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
  /** What this process uses now. If undefined, nothing: then it waits for others no longer than a read of its own would take. */
  readonly current: Value | undefined;
  /** Whether `current` may be used on while another process has the turn. */
  readonly mayGoOn: boolean;
  /** For how long no process reads the source again, ms: after a success, and after a failure that may pass. */
  readonly rest: { readonly successMs: number; readonly failureMs: number };
}

export interface LoadedTogether<Value> {
  readonly value: Value;
  /** `own`: this process read the source. `shared`: another one published it. `current`: what this process had. */
  readonly origin: 'own' | 'shared' | 'current';
  /** The process that read a shared value, as it calls itself. */
  readonly by: string | undefined;
  /** If set, the source could not be read, and `value` is an old one that others published. */
  readonly error: AutoscalerError | undefined;
}

/** How long to wait for the process that has the turn, and how often to check. */
const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** A process without a value waits for others no longer than this for the place, and for the process that reads. */
const START_LIMIT_MS = 50;
const START_WAIT_MS = 3_000;
/** After waiting for this many turns, the process reads the source without one: the others have died. */
const TURNS = 2;

interface Published<Value> extends Pick<PublishedText, 'epoch' | 'by'> {
  /** undefined: the published text is unusable. */
  readonly value: Value | undefined;
}

type Shared<Value> = LoadedTogether<Value> & { readonly origin: 'shared' };

/** The number: the epoch to publish under. undefined: there is no turn to be had. */
type Turn<Value> = number | Shared<Value> | undefined;

/** @throws AutoscalerError if there is no value at all. */
export async function loadTogether<Value>(deps: SharedLoadDeps<Value>, signal: AbortSignal): Promise<LoadedTogether<Value>> {
  let known: Published<Value> | undefined;
  try {
    const looked = await lookFirst(deps);
    // guard: a process without a value waits for no place that is away
    if (looked === 'away') return ownValue(await deps.read(signal));
    known = looked;
    return usable(deps, known) ?? (await loadInTurn(deps, known?.epoch ?? 0, signal));
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled' || known?.value === undefined || deps.current !== undefined) throw error;
    return { value: known.value, origin: 'shared', by: known.by, error };
  }
}

async function loadInTurn<Value>(deps: SharedLoadDeps<Value>, after: number, signal: AbortSignal): Promise<LoadedTogether<Value>> {
  const turn = await takeTurn(deps, after, signal);
  if (typeof turn === 'object') return turn;
  if (turn !== undefined) return readAndPublish(deps, turn, signal);
  if (deps.current !== undefined && deps.mayGoOn) return { ...ownValue(deps.current), origin: 'current' };
  return ownValue(await deps.read(signal));
}

/** `away`: the place did not respond, so that asking it for a turn would only take more time. */
async function lookFirst<Value>(deps: SharedLoadDeps<Value>): Promise<Published<Value> | undefined | 'away'> {
  const found = await tryShare(deps, (share) => share.latest(limitOf(deps)));
  return found === 'away' ? found : published(deps, found, true);
}

async function look<Value>(deps: SharedLoadDeps<Value>): Promise<Shared<Value> | undefined> {
  const found = await tryShare(deps, (share) => share.latest(limitOf(deps)));
  return found === 'away' ? undefined : usable(deps, published(deps, found, false));
}

function published<Value>(deps: SharedLoadDeps<Value>, found: PublishedText | undefined, reports: boolean): Published<Value> | undefined {
  if (found === undefined) return undefined;
  const { epoch, by } = found;
  const reading = deps.decode(found.text);
  if (reading.ok) return { epoch, by, value: reading.value };
  if (reports) deps.onProblem({ kind: 'unusable', epoch, reason: reading.reason });
  return { epoch, by, value: undefined };
}

function usable<Value>({ isFresh }: SharedLoadDeps<Value>, known: Published<Value> | undefined): Shared<Value> | undefined {
  if (known?.value === undefined || !isFresh(known.value)) return undefined;
  return { value: known.value, origin: 'shared', by: known.by, error: undefined };
}

async function takeTurn<Value>(deps: SharedLoadDeps<Value>, after: number, signal: AbortSignal): Promise<Turn<Value>> {
  for (let epoch = after + 1; epoch <= after + TURNS; epoch++) {
    const isOurs = await tryShare(deps, (share) => share.claim(epoch, limitOf(deps)));
    if (isOurs === 'away') return undefined;
    // If another process published between our check and our claim, the claim is not needed.
    const found = isOurs ? await look(deps) : await waitFor(deps, signal);
    if (found !== undefined && isOurs) await tryShare(deps, (share) => share.release(epoch));
    if (found !== undefined) return found;
    if (isOurs) return epoch;
  }
  return undefined;
}

async function waitFor<Value>(deps: SharedLoadDeps<Value>, signal: AbortSignal): Promise<Shared<Value> | undefined> {
  const limitMs = deps.current === undefined ? START_WAIT_MS : WAIT_MS;
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += LOOK_EVERY_MS) {
    await deps.clock.sleep(LOOK_EVERY_MS, signal);
    const found = await look(deps);
    if (found !== undefined) return found;
  }
  return undefined;
}

function ownValue<Value>(value: Value): LoadedTogether<Value> {
  return { value, origin: 'own', by: undefined, error: undefined };
}

/** A run that has lost its claim publishes nothing, and what the run after it published is used instead of its own. */
async function readAndPublish<Value>(deps: SharedLoadDeps<Value>, turn: number, signal: AbortSignal): Promise<LoadedTogether<Value>> {
  const value = await readInTurn(deps, turn, signal);
  const isWritten = await tryShare(deps, (share) => share.publish(turn, deps.encode(value), deps.rest.successMs));
  if (isWritten !== false) return ownValue(value);
  deps.onProblem({ kind: 'outrun', epoch: turn });
  // guard: a run that has lost its lock uses what the run after it published
  return (await look(deps)) ?? ownValue(value);
}

/** After a failure that may pass, the others do not try at once, too. After another one, they may be luckier: a right may be missing here. */
async function readInTurn<Value>(deps: SharedLoadDeps<Value>, turn: number, signal: AbortSignal): Promise<Value> {
  try {
    return await deps.read(signal);
  } catch (thrown) {
    const { kind } = asAutoscalerError(thrown);
    // guard: after a failure that may pass, the others do not read at once
    const restMs = kind === 'throttled' || kind === 'unavailable' ? deps.rest.failureMs : 0;
    await tryShare(deps, (share) => share.release(turn, restMs));
    throw thrown;
  }
}

function limitOf<Value>({ current }: SharedLoadDeps<Value>): number | undefined {
  // guard: a first decision waits for a store for no longer than a moment
  return current === undefined ? START_LIMIT_MS : undefined;
}

async function tryShare<Value, Result>(
  { share, onProblem }: SharedLoadDeps<Value>,
  work: (share: SharedText) => Promise<Result>,
): Promise<Result | 'away'> {
  try {
    return await work(share);
  } catch (thrown) {
    onProblem({ kind: 'unreachable', error: asAutoscalerError(thrown) });
    return 'away';
  }
}
