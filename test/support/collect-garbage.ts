import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects everything that nothing holds any more. A weak reference that was read keeps its value until the end of a turn. */
export async function collectGarbage(): Promise<void> {
  await nextTurn();
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('the runtime does not collect on request');
  collect();
}
