/** The memory that the leader saves for the next one, read by commands that plan as the leader would. */
import type { KubernetesConfig } from '../../config/types/config.ts';
import type { SavedMemory } from '../../domain/loop-state.ts';
import type { Kubernetes } from '../../kubernetes/kubernetes.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { readMemory } from '../../loop/memory/memory-text.ts';
import { loopMemory } from './config-map-stores.ts';

/** undefined: none is saved, it may not be read, or it is of another version. Throws only `cancelled`. */
export async function readLeaderMemory(
  kubernetes: Pick<Kubernetes, 'storedText'>,
  config: Pick<KubernetesConfig, 'configMapPrefix'>,
  signal: AbortSignal,
): Promise<SavedMemory | undefined> {
  const { configMap, key } = loopMemory(config);
  try {
    const text = await kubernetes.storedText(configMap, key).read(signal);
    const read = text === undefined ? undefined : readMemory(text);
    return read?.ok === true ? read.memory : undefined;
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind === 'cancelled') throw thrown;
    return undefined;
  }
}
