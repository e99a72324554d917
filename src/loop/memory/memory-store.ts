/**
 * Saves what the loop remembers for the next process or leader, and restores it. What cannot be read is left out with a warning:
 * the daemon then starts with an empty memory. Must not know where the text is stored, nor what is decided from it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { LoopState, SavedMemory } from '../../domain/loop-state.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { inFlightByGroup } from '../../planning/state/increases/increase-records.ts';
import { emptyLoopState } from '../../planning/state/loop-state.ts';
import { readMemory, urgentParts, writeMemory, type MemoryText, type UrgentMemory } from './memory-text.ts';
import { PacedText, type PacedTextDeps } from './paced-text.ts';

// guard: the memory is written at most once in ten seconds
/** Minimum time between two writes. A little below ten seconds, since the loop's timers may fire early. */
const WRITE_INTERVAL_MS = 9_500;
/** How often running idle timers are saved, if nothing else is new: a part of the time for which a saved timer counts. */
const IDLE_INTERVAL_MS = 30_000;
const SAVES_PER_TTL = 4;
const NOTHING_URGENT = urgentParts(emptyLoopState(0));

export interface MemoryStoreDeps extends PacedTextDeps {
  /** Receives the memory of an earlier process. */
  readonly recall: (memory: SavedMemory) => void;
  readonly policy: () => Pick<ScaleDownPolicy, 'candidateTtlMs'>;
}

/** The last observed state. */
interface Seen {
  readonly state: LoopState;
  readonly atMs: number;
}

/** Owns what was saved last. Only the leader uses it. */
export class MemoryStore {
  readonly #deps: MemoryStoreDeps;
  readonly #text: PacedText;
  #last: Seen | undefined;
  /** As in the stored text. undefined: nothing is stored. */
  #written: { readonly urgent: UrgentMemory | 'unknown'; readonly idleAtMs: number | undefined } | undefined;
  #dropped: readonly string[] = [];

  constructor(deps: MemoryStoreDeps) {
    this.#deps = deps;
    this.#text = new PacedText(deps, { intervalMs: WRITE_INTERVAL_MS, onFailure: 'Memory for the next process could not be stored' });
  }

  /** Restores the memory of an earlier process. A failure is logged and ignored. Throws only `cancelled`. */
  async restore(signal: AbortSignal): Promise<void> {
    const { kept, log } = this.#deps;
    try {
      const text = await kept.read(signal);
      if (text === undefined) return;
      const read = readMemory(text);
      // Whatever is stored is replaced by the first state that differs.
      this.#written = { urgent: 'unknown', idleAtMs: undefined };
      if (read.ok) this.#recall(read.memory);
      else log.warn({ reason: read.reason }, 'Stored memory not accepted; starting with an empty one');
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      log.warn({ error: error.message }, 'Stored memory could not be read; starting with an empty one');
    }
  }

  #recall(memory: SavedMemory): void {
    const { backoffs, stockouts, unneededSince: idle } = memory;
    const increases = inFlightByGroup(memory).size;
    const sizes = { backoffs: backoffs.size, stockouts: stockouts.length, increases, idleNodes: idle.size };
    this.#deps.log.info({ ...sizes, savedAt: new Date(memory.savedAtMs).toISOString() }, 'Memory of an earlier process restored');
    this.#deps.recall(memory);
  }

  /** Saves what is new, at most once in ten seconds, and running idle timers less often. */
  loopEnded({ observation, state }: LoopReport, signal: AbortSignal): void {
    if (observation === undefined || signal.aborted) return;
    this.#last = { state, atMs: observation.nowMs };
    if (this.#text.isDue && this.#isNew(this.#last)) this.#save(this.#last, signal);
  }

  /** Saves once more at the end of a process, so that the next one continues from its last observation. */
  async end(signal: AbortSignal): Promise<void> {
    await this.#text.settled();
    if (this.#last === undefined || signal.aborted || !this.#differs(this.#last)) return;
    this.#save(this.#last, signal);
    await this.#text.settled();
  }

  /** Resolves when the write under way has ended. */
  settled(): Promise<void> {
    return this.#text.settled();
  }

  #isNew(seen: Seen): boolean {
    if (!this.#differs(seen)) return false;
    const { candidateTtlMs } = this.#deps.policy();
    return this.#text.sinceLastMs >= Math.min(IDLE_INTERVAL_MS, candidateTtlMs / SAVES_PER_TTL) || this.#isUrgent(seen);
  }

  #differs(seen: Seen): boolean {
    return this.#isUrgent(seen) || this.#idleAtMs(seen) !== this.#written?.idleAtMs;
  }

  #isUrgent({ state }: Seen): boolean {
    return !isDeepStrictEqual(urgentParts(state), this.#written?.urgent ?? NOTHING_URGENT);
  }

  /** Running timers are news in every loop, since the time of the save counts. undefined: none runs, or none would count. */
  #idleAtMs({ state, atMs }: Seen): number | undefined {
    const { candidateTtlMs } = this.#deps.policy();
    return state.unneededSince.size === 0 || candidateTtlMs <= 0 ? undefined : atMs;
  }

  #save(seen: Seen, signal: AbortSignal): void {
    const idleAtMs = this.#idleAtMs(seen);
    const state = idleAtMs === undefined ? { ...seen.state, unneededSince: new Map() } : seen.state;
    const written = { urgent: urgentParts(state), idleAtMs };
    const memory = writeMemory(state, seen.atMs);
    this.#reportDropped(memory);
    this.#text.begin(memory.text, () => (this.#written = written), signal);
  }

  #reportDropped({ dropped }: MemoryText): void {
    const sections = Object.keys(dropped);
    if (sections.length > 0 && !isDeepStrictEqual(sections, this.#dropped))
      this.#deps.log.warn({ dropped }, 'Memory for the next process exceeds its size; the rest of it was not stored');
    this.#dropped = sections;
  }
}
