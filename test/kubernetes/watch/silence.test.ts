/** The end of a watch that has fallen silent. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { endWhenSilent } from '../../../src/kubernetes/watch/watch-errors.ts';

/** Timeouts that fire when the test says so, oldest first. */
function timeouts(): { readonly made: AbortController[]; readonly timeout: () => AbortSignal } {
  const made: AbortController[] = [];
  return {
    made,
    timeout: () => {
      const next = new AbortController();
      made.push(next);
      return next.signal;
    },
  };
}

describe('the silence of a watch', () => {
  it('ends the watch after a period without news, and not after one with news', () => {
    const { made, timeout } = timeouts();
    const silence = endWhenSilent({ limitMs: () => 1_000, timeout });
    silence.heard();
    made[0]?.abort();
    expect(silence.signal.aborted).toBe(false);
    made[1]?.abort();
    expect(silence.signal.aborted).toBe(true);
  });

  it('is not waited for after the end of the watch: no timeout holds what ended', () => {
    const { made, timeout } = timeouts();
    const silence = endWhenSilent({ limitMs: () => 1_000, timeout });
    silence.heard();
    made[0]?.abort();
    silence.stop();
    expect(made.map(({ signal }) => getEventListeners(signal, 'abort').length)).toEqual([0, 0]);
    made[1]?.abort();
    expect(silence.signal.aborted).toBe(false);
  });
});
