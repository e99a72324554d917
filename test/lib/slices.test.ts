import { describe, expect, it } from 'vitest';
import { finishAtOnce, Turns, type SlicedWork } from '../../src/lib/slices.ts';

/** Every step takes a millisecond. */
function stage(steps: number) {
  const seen = { now: 0, steps: 0, pauses: [] as number[], undone: false };
  function* work(): SlicedWork<string> {
    try {
      for (; seen.steps < steps; seen.steps++) {
        seen.now += 1;
        yield;
      }
      return 'done';
    } finally {
      seen.undone = seen.steps < steps;
    }
  }
  const stop = new AbortController();
  const pacing = (sliceMs: number, onPause: () => void = () => undefined) => ({
    clock: { monotonic: () => seen.now },
    sliceMs,
    pause: async () => {
      seen.pauses.push(seen.now);
      onPause();
      await Promise.resolve();
    },
  });
  return { seen, work, stop, pacing };
}

describe('work in slices', () => {
  it('is done at once without pacing', async () => {
    const { seen, work, stop } = stage(50);
    expect(await new Turns(undefined).finishUnless(stop.signal, work())).toBe('done');
    expect(seen.pauses).toEqual([]);
    expect(finishAtOnce(stage(50).work())).toBe('done');
  });

  it('pauses after each slice', async () => {
    const { seen, work, stop, pacing } = stage(50);
    expect(await new Turns(pacing(20)).finishUnless(stop.signal, work())).toBe('done');
    expect(seen.pauses).toEqual([20, 40]);
  });

  it('goes on with the turn of the work before it', async () => {
    const { seen, work, pacing } = stage(50);
    const turns = new Turns(pacing(20));
    seen.now = 15;

    expect(await turns.finish(work())).toBe('done');

    expect(seen.pauses).toEqual([20, 40, 60]);
  });

  it('begins a turn after a wait', async () => {
    const { seen, work, pacing } = stage(50);
    const turns = new Turns(pacing(20));
    seen.now = 15;
    turns.begin();

    expect(await turns.finish(work())).toBe('done');

    expect(seen.pauses).toEqual([35, 55]);
  });

  it('ends when the signal fires, and undoes what it has begun', async () => {
    const { seen, work, stop, pacing } = stage(50);
    const turns = new Turns(pacing(20, () => stop.abort()));
    expect(await turns.finishUnless(stop.signal, work())).toBeUndefined();
    expect(seen).toMatchObject({ steps: 19, undone: true });
  });

  it('passes an error on', async () => {
    const { stop, pacing } = stage(1);
    function* failing(): SlicedWork<void> {
      yield;
      throw new Error('no');
    }
    await expect(new Turns(pacing(1)).finishUnless(stop.signal, failing())).rejects.toThrow('no');
  });
});
