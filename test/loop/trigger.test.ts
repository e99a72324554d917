import { beforeEach, describe, expect, it } from 'vitest';
import { LoopTrigger } from '../../src/loop/trigger.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

const TIMES = { scanIntervalMs: 10_000, batchIdleMs: 250, batchMaxMs: 2000, startEarly: true };

describe('trigger', () => {
  let clock: FakeClock;
  let trigger: LoopTrigger;
  let started: string[];
  const stop = new AbortController();

  /** Waits for one loop and notes when and why it started. */
  function arm(): void {
    void trigger.next(stop.signal).then((cause) => started.push(`${cause}@${clock.now()}`));
  }

  beforeEach(async () => {
    clock = new FakeClock(1000);
    trigger = new LoopTrigger(clock, TIMES);
    started = [];
    arm();
    await settle();
  });

  it('runs at once, then at the scan interval', async () => {
    expect(started).toEqual(['scan@1000']);
    arm();
    await clock.advance(9999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started[1]).toBe('scan@11000');
  });

  it('the interval counts from the start of the loop before, and a late loop is not made up for', async () => {
    await clock.advance(25_000);
    arm();
    await clock.advance(0);
    expect(started[1]).toBe('scan@26000');
    arm();
    await clock.advance(9999);
    expect(started).toHaveLength(2);
  });

  it('a pod wakes it after the idle window', async () => {
    arm();
    await clock.advance(1000);
    trigger.wake('pods');
    await clock.advance(49);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started[1]).toBe('pods@2050');
  });

  it('the window grows with each pod, up to the idle window', async () => {
    arm();
    await clock.advance(1000);
    for (const ms of [40, 90, 190, 240]) {
      trigger.wake('pods');
      await clock.advance(ms);
      expect(started).toHaveLength(1);
    }
    trigger.wake('pods');
    await clock.advance(249);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started[1]).toBe('pods@2810');
  });

  it('soon after another early loop, even one pod waits for the whole window', async () => {
    arm();
    trigger.wake('pods');
    await clock.advance(50);
    expect(started[1]).toBe('pods@1050');
    arm();
    await clock.advance(5_000);
    trigger.wake('pods');
    await clock.advance(249);
    expect(started).toHaveLength(2);
    await clock.advance(1);
    expect(started[2]).toBe('pods@6300');
  });

  it('a burst is one loop, at most two seconds after its first pod', async () => {
    arm();
    for (let pod = 0; pod < 100; pod++) {
      trigger.wake('pods');
      await clock.advance(30);
    }
    expect(started.slice(1)).toEqual(['pods@3000']);
  });

  it('what happens while a loop runs counts for the next, without waiting again', async () => {
    trigger.wake('pods');
    await clock.advance(5000);
    arm();
    await clock.advance(0);
    expect(started[1]).toBe('pods@6000');
  });

  it('news of the cloud wakes it too; pods are the better reason', async () => {
    arm();
    await clock.advance(100);
    trigger.wake('cloud');
    await clock.advance(250);
    expect(started[1]).toBe('cloud@1350');
    arm();
    trigger.wake('cloud');
    trigger.wake('pods');
    trigger.wake('cloud');
    await clock.advance(250);
    expect(started[2]).toBe('pods@1600');
  });

  it('a wake shortly before the scan does not delay the scan, and is spent by it', async () => {
    arm();
    await clock.advance(9970);
    trigger.wake('pods');
    await clock.advance(30);
    expect(started[1]).toBe('scan@11000');
    arm();
    await clock.advance(9999);
    expect(started).toHaveLength(2);
  });

  it('without early loops there is one per scan interval, whatever happens; allowed again, what happened counts at once', async () => {
    trigger.reconfigure({ ...TIMES, startEarly: false });
    arm();
    await clock.advance(1000);
    trigger.wake('pods');
    trigger.wake('cloud');
    await clock.advance(8999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started[1]).toBe('scan@11000');
    arm();
    trigger.wake('pods');
    await clock.advance(5000);
    trigger.reconfigure(TIMES);
    await clock.advance(0);
    expect(started[2]).toBe('pods@16000');
  });

  it('a stream of pods that nothing helps is a loop a second, not one per pod', async () => {
    const ended = new AbortController();
    const loops = (async () => {
      for (;;) started.push(await trigger.next(ended.signal));
    })().catch(() => undefined);
    for (let pod = 0; pod < 200; pod++) {
      trigger.wake('pods');
      await clock.advance(300);
    }
    ended.abort();
    await loops;
    expect(started.length).toBeGreaterThanOrEqual(55);
    expect(started.length).toBeLessThanOrEqual(64);
  });

  it('a timer starts a loop at its end, unless the scan comes first; it counts once', async () => {
    trigger.wakeIn(4_000);
    arm();
    await clock.advance(3_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started[1]).toBe('timer@5000');
    arm();
    await clock.advance(9_999);
    expect(started).toHaveLength(2);
    trigger.wakeIn(60_000);
    await clock.advance(1);
    expect(started[2]).toBe('scan@15000');
  });

  it('a timer that is replaced or withdrawn starts no loop, and pods wake earlier than it', async () => {
    arm();
    trigger.wakeIn(1_000);
    trigger.wakeIn(5_000);
    await clock.advance(2_000);
    expect(started).toHaveLength(1);
    trigger.wakeIn(undefined);
    await clock.advance(7_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    arm();
    trigger.wakeIn(5_000);
    trigger.wake('pods');
    await clock.advance(250);
    expect(started.slice(1)).toEqual(['scan@11000', 'pods@11050']);
  });

  it('of timers that end every second, one starts a loop in each scan interval', async () => {
    const ended = new AbortController();
    const loops = (async () => {
      for (;;) {
        started.push(await trigger.next(ended.signal));
        trigger.wakeIn(1_000);
      }
    })().catch(() => undefined);
    await clock.advance(100_000);
    ended.abort();
    await loops;
    expect(started.length).toBeLessThanOrEqual(23);
    expect(started.filter((cause) => cause === 'timer').length).toBeGreaterThanOrEqual(9);
  });

  it('without early loops no timer starts one', async () => {
    trigger.reconfigure({ ...TIMES, startEarly: false });
    trigger.wakeIn(1_000);
    arm();
    await clock.advance(9_999);
    expect(started).toHaveLength(1);
  });

  it('stops waiting on an abort, and leaves no sleeper behind', async () => {
    const ended = new AbortController();
    const waiting = trigger.next(ended.signal);
    await settle();
    ended.abort();
    await expect(waiting).rejects.toMatchObject({ kind: 'cancelled' });
    await expect(trigger.next(ended.signal)).rejects.toMatchObject({ kind: 'cancelled' });
    expect(clock.sleeping).toBe(0);
  });
});
