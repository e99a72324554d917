import { describe, expect, it } from 'vitest';
import { giveBackStartMemory } from '../../../src/cli/process/process.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('memory of the start', () => {
  it('is given back once, after a while', async () => {
    const clock = new FakeClock(0);
    let over = false;
    const work = giveBackStartMemory(clock, new AbortController().signal).then(() => (over = true));
    await clock.advance(19_999);
    expect(over).toBe(false);
    await clock.advance(1);
    await work;
    expect(over).toBe(true);
  });

  it('does not outlive the process', async () => {
    const stop = new AbortController();
    const work = giveBackStartMemory(new FakeClock(0), stop.signal);
    stop.abort();
    await expect(work).resolves.toBeUndefined();
  });
});
