/** Waiting for the real world: asked again and again until it is so, never a fixed time. */
import { setTimeout as pause } from 'node:timers/promises';
import { Patience } from '../../world/lab/patience.ts';

const ASK_EVERY_MS = 500;
/** What must never be so is looked for more often. */
const LOOK_EVERY_MS = 150;

/**
 * Asks until the answer is neither undefined nor false, and returns it. An error counts as "not yet". Rejects after
 * `patienceMs` of an idle machine, longer on a busy one, with what was waited for and what was seen last.
 */
export async function until<Answer>(
  what: string,
  ask: () => Promise<Answer | undefined | false> | Answer | undefined | false,
  patienceMs = 60_000,
  seen: () => Promise<string> | string = () => '',
): Promise<Answer> {
  const patience = new Patience(patienceMs);
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (thrown) {
      last = thrown;
    }
    if (patience.isOver()) break;
    await pause(ASK_EVERY_MS);
  }
  const more = last === undefined ? '' : `; last error: ${last instanceof Error ? last.message : JSON.stringify(last)}`;
  throw new Error(`not within ${patienceMs / 1000} s of an idle machine: ${what}${more}\n${await seen()}`.trimEnd());
}

/**
 * Looks all the time for `forMs` and rejects as soon as it is not so. A question that gets no answer (a busy machine, a server
 * that is away) proves nothing and is asked again.
 */
export async function always(what: string, ask: () => Promise<boolean> | boolean, forMs: number): Promise<void> {
  const end = Date.now() + forMs;
  while (Date.now() < end) {
    const so = await Promise.resolve(ask()).catch(() => undefined);
    if (so === false) throw new Error(`no longer so: ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}
