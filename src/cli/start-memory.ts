/**
 * What the start needed and nothing needs after it (parsed modules, first answers) is given back to the machine once. V8
 * would keep the room for a growth that a small cluster never brings. Best effort: nothing depends on it.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../domain/clock.ts';

/** Two loops of the default interval: by then everything that is used has been loaded. */
const AFTER_MS = 20_000;
/** Above, a full collection would be felt, and the room is used anyway. */
const SMALL_HEAP_BYTES = 96 * 1024 * 1024;

/** Waits and collects once; ends early, and quietly, when the signal fires. */
export async function giveBackStartMemory(clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(AFTER_MS, signal);
  } catch {
    // Cancelled: the process ends, and its memory with it.
    return;
  }
  if (getHeapStatistics().used_heap_size > SMALL_HEAP_BYTES) return;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') await collect({ type: 'major', execution: 'async', flavor: 'last-resort' });
}
