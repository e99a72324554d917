/** The memory that the leader saves for the next one, read by commands that plan as the leader would. */
import type { SavedMemory } from '../../domain/loop-state.ts';
import type { Kubernetes } from '../../kubernetes/kubernetes.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { readMemory } from '../../loop/memory/memory-text.ts';
import { LOOP_MEMORY } from './config-map-stores.ts';

/** undefined: none is saved, it may not be read, or it is of another version. Throws only `cancelled`. */
export async function readLeaderMemory(kubernetes: Pick<Kubernetes, 'storedText'>, signal: AbortSignal): Promise<SavedMemory | undefined> {
  try {
    const text = await kubernetes.storedText(LOOP_MEMORY.configMap, LOOP_MEMORY.key).read(signal);
    const read = text === undefined ? undefined : readMemory(text);
    return read?.ok === true ? read.memory : undefined;
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind === 'cancelled') throw thrown;
    return undefined;
  }
}
