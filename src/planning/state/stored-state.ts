/**
 * The border between the state and its stored forms, dumps and the saved memory: the names that it has there, and the defaults of what is
 * missing there, which is unknown to an earlier version or was left out. Must not know where a form is stored.
 * Idea: dump, saved memory.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Backoff, BrokenPromise, HeldGroup, LoopState } from '../../domain/loop-state.ts';
import { describeReason } from './held-groups.ts';
import { requestedLastMinute } from './increases/increase-rate.ts';
import { fromStored, toStored, type Partly, type StoredIncreases } from './increases/stored-increases.ts';
import { defined } from '../../lib/defined.ts';
import { emptyLoopState } from './loop-state.ts';
import { isNothingRepacked, NOTHING_REPACKED, type RepackMemory } from '../../domain/repack.ts';

type OfGroups<Value> = ReadonlyMap<NodeGroupId, Value>;

export type StoredBackoff = Partly<Backoff, 'untilMs' | 'durationMs' | 'lastFailureMs' | 'cause'>;
/** With the sentence of its reason. */
type StoredHold = Omit<HeldGroup, 'reason'> & { readonly reason: string };
export type StoredPromise = Partly<BrokenPromise, Exclude<keyof BrokenPromise, 'reportedAtMs'>>;

/** The state as dumps have it: some members have other names there, and any may be missing. */
export interface StoredState
  extends
    StoredIncreases,
    Partial<
      Omit<LoopState, 'backoffs' | 'increases' | 'broken' | 'brokenZones' | 'requests' | 'heldGroups' | 'deletionTaints' | 'repacks'>
    > {
  readonly backoffs?: OfGroups<StoredBackoff>;
  /** Missing while the process knows none of its own increases. */
  readonly accepted?: NonNullable<StoredIncreases['accepted']>;
  readonly broken?: OfGroups<StoredPromise>;
  readonly brokenZones?: OfGroups<StoredPromise>;
  /** Dumps of earlier versions have `orders` too: the increases made for a request, which no plan reads. */
  readonly requests?: Partial<LoopState['requests']>;
  /** Dumps of earlier versions have no `replaced`, no `left` and no `rooms`. */
  readonly repacks?: Partial<RepackMemory>;
  readonly held?: OfGroups<StoredHold>;
  readonly marks?: LoopState['deletionTaints'];
}

/** The state with its defaults. At `nowMs` nothing has happened that is not in the stored form. */
export function withDefaults(stored: StoredState, nowMs: number): LoopState {
  const { asked, held, marks, accepted, increases = new Map(), backoffs, broken, brokenZones, requests, repacks, ...rest } = stored;
  const empty = emptyLoopState(nowMs);
  return {
    ...empty,
    ...rest,
    repacks: { ...NOTHING_REPACKED, ...repacks },
    backoffs: mapEntries(backoffs, totalBackoff),
    increases: fromStored({ increases, ...defined({ accepted, asked }) }, nowMs),
    knowsAccepted: accepted !== undefined,
    broken: mapEntries(broken, totalPromise),
    brokenZones: mapEntries(brokenZones, totalPromise),
    requests: { served: requests?.served ?? false, retries: requests?.retries ?? new Map() },
    heldGroups: mapEntries(held, ({ reason: text, ...hold }) => ({ ...hold, reason: { code: 'recorded', text } })),
    deletionTaints: marks ?? empty.deletionTaints,
  };
}

/** The same state under the names of dumps, without what no plan reads. */
export function storedForm(state: LoopState, nowMs: number): StoredState {
  const { increases: _records, knowsAccepted, heldGroups, deletionTaints: marks, budgetedRemovals, evictions, repacks, ...rest } = state;
  const { accepted, increases } = toStored(state);
  return {
    ...rest,
    ...(budgetedRemovals.length === 0 ? {} : { budgetedRemovals }),
    ...(isNothingRepacked(repacks) ? {} : { repacks }),
    increases,
    ...(knowsAccepted ? { accepted } : {}),
    ...(evictions.size === 0 ? {} : { evictions }),
    asked: requestedLastMinute(state, nowMs),
    held: mapEntries(heldGroups, ({ kind, reason, sinceMs }) => ({ kind, reason: describeReason(reason), sinceMs })),
    marks,
  };
}

function mapEntries<Stored, Value>(entries: OfGroups<Stored> | undefined, total: (stored: Stored) => Value): OfGroups<Value> {
  return new Map([...(entries ?? [])].map(([group, entry]) => [group, total(entry)]));
}

// What is stored keeps its place in the new value, and what was missing comes last: the text of the memory depends on the order of members.

export function totalBackoff(stored: StoredBackoff): Backoff {
  const { kind = 'unavailable', message, correlationId, refused = false } = stored;
  return { ...stored, kind, message, correlationId, refused };
}

export function totalPromise(stored: StoredPromise): BrokenPromise {
  return { ...stored, reportedAtMs: stored.reportedAtMs };
}
