/** Virtual time: work that waits for time gets it, and a wait that nothing can end becomes an error with its name. */
import { describe, expect, it } from 'vitest';
import { clockOf, type ProcessState } from '../../lab/process-clock.ts';
import { VirtualTime } from '../../lab/virtual-time.ts';
import { VirtualSimClock } from '../../simulator/base/sim-clock.ts';
import { START_MS } from '../../../test/support/builders.ts';

const SECOND = 1_000;
const never = new Promise<never>(() => undefined);

function stage() {
  const clock = new VirtualSimClock(START_MS);
  const state: ProcessState = { skewMs: 0, dead: false };
  // Each look at the computer finds it a second later, and idle.
  let lookedMs = 0;
  const meter = { now: () => (lookedMs += SECOND), slowdown: () => 1 };
  const time = new VirtualTime(clock, () => undefined, meter);
  return { clock, state, time, process: clockOf(clock, state), passedMs: () => clock.now() - START_MS };
}

describe('work in virtual time', () => {
  it('gets the time that it waits for', async () => {
    const { time, process, state, passedMs } = stage();
    expect(
      await time.drive(
        'a sleep',
        process.sleep(3 * SECOND).then(() => 'done'),
        state,
      ),
    ).toBe('done');
    expect(passedMs()).toBe(3 * SECOND);
  });

  it('takes no virtual time while it does not wait for it', async () => {
    const { clock, time, state, passedMs } = stage();
    clock.after(SECOND, () => undefined);
    const work = new Promise<string>((resolve) => {
      let rounds = 200;
      const round = (): void => void (--rounds > 0 ? setImmediate(round) : resolve('read'));
      round();
    });
    expect(await time.drive('a file that is read', work, state)).toBe('read');
    expect(passedMs()).toBe(0);
  });

  it('fails with its own error', async () => {
    const { time, state } = stage();
    await expect(time.drive('a failure', Promise.reject(new Error('refused')), state)).rejects.toThrow('refused');
  });

  it('is left when its process dies', async () => {
    const { clock, time, process, state } = stage();
    clock.after(SECOND, () => {
      state.dead = true;
    });
    expect(await time.drive('a dead process', process.sleep(2 * SECOND), state)).toBeUndefined();
  });
});

describe('a wait that nothing can end', () => {
  it('is named when its process waits for no time', async () => {
    const { clock, time, state } = stage();
    clock.after(203, () => undefined);
    const work = time.drive('the start of the daemon', never, state);
    await expect(work).rejects.toThrow(
      /^the start of the daemon does not end, .* \(at 20.*, the next timer is due in 203 ms; the world is at rest\)/,
    );
  });

  it('is named when no timer is due', async () => {
    const { time, state } = stage();
    await expect(time.drive('the start of the daemon', never, { ...state, waits: 1 })).rejects.toThrow('but no timer is due');
  });

  it('is named when time passes and nothing comes of it', async () => {
    const { time, process, state } = stage();
    const polling = (async () => {
      for (;;) await process.sleep(60 * SECOND);
    })();
    await expect(time.drive('the start of the daemon', polling, state)).rejects.toThrow('has not ended after an hour of virtual time');
  });
});
