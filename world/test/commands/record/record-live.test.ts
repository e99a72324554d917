import { describe, expect, it } from 'vitest';
import { recordLive } from '../../../commands/record/record-live.ts';
import { AutoscalerError } from '../../../../src/lib/errors.ts';
import { LoadRecorder } from '../../../lab/recordings/load-recorder.ts';
import { START_MS } from '../../../../test/support/builders.ts';

const WATCHED = { start: () => Promise.resolve([]), takeGap: () => undefined, ended: () => Promise.resolve() };
const FULL = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'The recording x cannot be written: the disk is full (ENOSPC).');

/** Every wait is over at once. */
function aClock() {
  let now = START_MS;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms: number) => {
      now += ms;
      return Promise.resolve();
    },
  };
}

/** The disk is full from the second flush until `flushes`; `isStuck`: too much waits. */
async function recordWith(flushes: number, isStuck: boolean) {
  const said: string[] = [];
  let count = 0;
  const log = {
    append: () => undefined,
    flush: () => (++count > 1 && count < flushes ? Promise.reject(FULL) : Promise.resolve()),
    finish: () => Promise.resolve(),
    close: () => Promise.resolve(),
    isStuck,
  };
  const input = { recorder: new LoadRecorder({ startMs: START_MS }), log, watched: WATCHED, clock: aClock(), forMs: 300_000 };
  const ended = recordLive({ ...input, say: (sentence) => said.push(sentence) }, new AbortController().signal);
  return {
    ended: await ended.then(
      () => 'well',
      (thrown: unknown) => String(thrown),
    ),
    said,
  };
}

describe('a disk that takes nothing', () => {
  it('is named, and the recording goes on when there is room again', async () => {
    const { ended, said } = await recordWith(4, false);
    expect(ended).toBe('well');
    expect(said.filter((sentence) => sentence === `${FULL.message} What is new waits in memory.`)).toHaveLength(2);
  });

  it('ends the recording when too much waits', async () => {
    expect((await recordWith(9, true)).ended).toContain('the disk is full (ENOSPC).');
  });
});
