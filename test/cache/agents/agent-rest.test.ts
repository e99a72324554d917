/** Agents that skip turns while a read would show nothing new. */
import { describe, expect, it } from 'vitest';
import { settle } from '../../support/fake-clock.ts';
import { DONE, failure, MINUTE, START, world } from '../scheduler-world.ts';

/** An agent with a turn each minute that rests while `quiet` is true, for five minutes at most. It has run once. */
async function resting(load = () => Promise.resolve(DONE)) {
  const at = world();
  const sign = { quiet: true };
  at.add('sets', load, { rest: { mayRest: () => sign.quiet, atMostMs: 5 * MINUTE } });
  const running = at.run();
  at.scheduler.want('sets');
  await settle();
  const end = async (): Promise<void> => {
    at.stop.abort();
    await running;
  };
  return { ...at, sign, end, minutes: () => at.starts.map(({ atMs }) => atMs / MINUTE) };
}

describe('an agent that may rest', () => {
  it('skips its turns, and runs in any case when the longest rest is over', async () => {
    const at = await resting();
    await at.clock.advance(11 * MINUTE);
    expect(at.minutes()).toEqual([0, 5, 10]);
    expect(at.status('sets')).toMatchObject({ lastSuccessMs: START + 10 * MINUTE, lastRestMs: START + 11 * MINUTE });
    await at.end();
  });

  it('runs at its next turn once it may no longer rest', async () => {
    const at = await resting();
    await at.clock.advance(2.5 * MINUTE);
    at.sign.quiet = false;
    await at.clock.advance(2 * MINUTE);
    expect(at.minutes()).toEqual([0, 3, 4]);
    expect(at.status('sets').lastRestMs).toBeUndefined();
    await at.end();
  });

  it('runs at once when its rest is ended after a skipped turn, and not before one', async () => {
    const at = await resting();
    await at.clock.advance(0.5 * MINUTE);
    at.scheduler.want('sets', { because: 'unrest' });
    await at.clock.advance(MINUTE);
    expect(at.minutes()).toEqual([0]);
    at.sign.quiet = false;
    at.scheduler.want('sets', { because: 'unrest' });
    await settle();
    expect(at.minutes()).toEqual([0, 1.5]);
    at.scheduler.want('sets', { because: 'unrest' });
    at.scheduler.want('unknown', { because: 'unrest' });
    await settle();
    expect(at.minutes()).toEqual([0, 1.5]);
    await at.end();
  });

  it('is not asked for a requested run', async () => {
    const at = await resting();
    await at.clock.advance(1.5 * MINUTE);
    at.scheduler.want('sets');
    await settle();
    expect(at.minutes()).toEqual([0, 1.5]);
    await at.end();
  });

  it('does not rest after a failure', async () => {
    const loads = [() => Promise.resolve(DONE), failure, () => Promise.resolve(DONE)];
    const at = await resting(() => loads.shift()?.() ?? Promise.resolve(DONE));
    at.scheduler.want('sets');
    await at.clock.advance(MINUTE);
    // The run at 0 that failed is repeated after its error interval.
    expect(at.minutes().length).toBe(3);
    expect(at.status('sets').lastError).toBeUndefined();
    await at.end();
  });
});
