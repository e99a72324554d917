import { describe, expect, it } from 'vitest';
import { OnDemand, type OnDemandDeps } from '../../../src/cache/table/refresh.ts';
import { Slots } from '../../../src/cache/concurrency.ts';
import { NO_HOOKS } from '../support.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';

const never = new AbortController().signal;

/** A refresher whose reads end on request. */
function refresher(options: Partial<OnDemandDeps> = {}) {
  const clock = new FakeClock(0);
  const begun: string[] = [];
  const outcomes: string[] = [];
  const ends: { readonly name: string; readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const read = (name: string) => (): Promise<void> => {
    begun.push(name);
    return new Promise((resolve, reject) => ends.push({ name, resolve, reject }));
  };
  const onDemand = new OnDemand({
    name: 'sets',
    clock,
    slots: new Slots(8),
    readOne: (key) => read(key)(),
    readScope: (scope) => read(`list ${scope}`)(),
    timeoutMs: 30_000,
    listAbove: 10,
    hooks: { ...NO_HOOKS, onDemand: (_table, outcome) => void outcomes.push(outcome) },
    ...options,
  });
  const endNext = async (): Promise<void> => {
    ends.shift()?.resolve();
    await settle();
  };
  return { clock, onDemand, begun, ends, outcomes, endNext };
}

describe('reads out of turn', () => {
  it('three requests during a read lead to exactly one more', async () => {
    const at = refresher();
    at.onDemand.want('a', 's');
    await settle();
    for (let count = 0; count < 3; count++) at.onDemand.want('a', 's');
    await settle();
    expect(at.begun).toEqual(['a']);
    await at.endNext();
    expect(at.begun).toEqual(['a', 'a']);
    await at.endNext();
    expect(at.begun).toEqual(['a', 'a']);
    expect(at.outcomes).toEqual(['merged', 'merged', 'refreshed', 'refreshed']);
  });

  it('a failed one is tried again after 5, 15 and 45 seconds, and then the next list must show the row', async () => {
    const starts: number[] = [];
    const failing = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Down.');
    const at = refresher({ readOne: () => (starts.push(at.clock.now() / 1000), Promise.reject(failing)) });
    const first = at.onDemand.want('a', 's').served(never);
    await expect(first).rejects.toBe(failing);
    await at.clock.advance(600_000);
    expect(starts).toEqual([0, 5, 20, 65]);
    at.onDemand.want('a', 's');
    await at.clock.advance(5_000);
    expect(starts).toHaveLength(6);
    at.onDemand.stop();
    expect(at.clock.sleeping).toBe(0);
  });

  it.each([
    ['a success', undefined, [0, 5]],
    ['the time that the server asks for', 30_000, [0, 30]],
  ])('is tried again until %s', async (_name, retryAfterMs, expected) => {
    const starts: number[] = [];
    const error = new AutoscalerError({ kind: 'throttled', retryAfterMs }, 'Later.');
    const at = refresher({
      readOne: () => (starts.push(at.clock.now() / 1000), starts.length === 1 ? Promise.reject(error) : Promise.resolve()),
    });
    at.onDemand.want('a', 's');
    await at.clock.advance(600_000);
    expect(starts).toEqual(expected);
  });

  it('a request during a read waits for the next one', async () => {
    const at = refresher();
    at.onDemand.want('a', 's');
    await settle();
    let done = false;
    const wait = at.onDemand
      .want('a', 's')
      .served(never)
      .then(() => (done = true));
    await at.endNext();
    expect(done).toBe(false);
    await at.endNext();
    await wait;
    expect(done).toBe(true);
  });

  it('fifty rows of one scope become one list', async () => {
    const at = refresher();
    const waits = Array.from({ length: 50 }, (_, index) => at.onDemand.want(`a/${index}`, 'a').served(never));
    await settle();
    expect(at.begun).toEqual(['list a']);
    await at.endNext();
    await Promise.all(waits);
    expect(at.begun).toEqual(['list a']);
  });

  it('ten rows of one scope, or eleven of two, are read one by one', async () => {
    const at = refresher({ slots: new Slots(100) });
    for (let index = 0; index < 10; index++) at.onDemand.want(`a/${index}`, 'a');
    at.onDemand.want('b/1', 'b');
    await settle();
    expect(at.begun).toHaveLength(11);
    expect(at.begun.some((name) => name.startsWith('list'))).toBe(false);
  });

  it('a request during a list of its scope is read after it', async () => {
    const at = refresher({ listAbove: 1 });
    at.onDemand.want('a/1', 'a');
    at.onDemand.want('a/2', 'a');
    await settle();
    expect(at.begun).toEqual(['list a']);
    at.onDemand.want('a/1', 'a');
    at.onDemand.want('a/2', 'a');
    await settle();
    expect(at.begun).toEqual(['list a']);
    await at.endNext();
    expect(at.begun).toEqual(['list a', 'list a']);
  });

  it('reads no more at once than there are slots', async () => {
    const at = refresher({ slots: new Slots(2) });
    for (const key of ['a', 'b', 'c']) at.onDemand.want(key, key);
    await settle();
    expect(at.begun).toEqual(['a', 'b']);
    await at.endNext();
    expect(at.begun).toEqual(['a', 'b', 'c']);
  });

  it('a failed read fails those who wait for it, and the next one runs', async () => {
    const at = refresher();
    const failing = at.onDemand.want('a', 's').served(never);
    await settle();
    const next = at.onDemand.want('a', 's').served(never);
    at.ends.shift()?.reject(new AutoscalerError({ kind: 'auth' }, 'No.'));
    await expect(failing).rejects.toMatchObject({ kind: 'auth' });
    await settle();
    await at.endNext();
    await next;
    expect(at.outcomes).toEqual(['failed', 'refreshed']);
  });

  it('an abort ends the wait of one, not the read', async () => {
    const at = refresher();
    const stop = new AbortController();
    const one = at.onDemand.want('a', 's').served(stop.signal);
    const other = at.onDemand.want('a', 's').served(never);
    await settle();
    stop.abort();
    await expect(one).rejects.toMatchObject({ kind: 'cancelled' });
    await at.endNext();
    await other;
  });

  it('a read that takes too long fails, and its key is free again', async () => {
    const at = refresher({ timeoutMs: 5000 });
    const slow = at.onDemand.want('a', 's').served(never);
    const failed = expect(slow).rejects.toMatchObject({ kind: 'unavailable' });
    await at.clock.advance(5000);
    await failed;
    at.onDemand.want('a', 's');
    await settle();
    expect(at.begun).toEqual(['a', 'a']);
    // The limit of this read, and the pause after the failed one, which a success ends.
    expect(at.clock.sleeping).toBe(2);
    at.ends[1]?.resolve();
    await settle();
    expect(at.clock.sleeping).toBe(0);
  });

  it('stopping cancels what runs and what waits', async () => {
    const at = refresher({ slots: new Slots(1) });
    const running = at.onDemand.want('a', 's').served(never);
    const queued = at.onDemand.want('b', 's').served(never);
    const both = Promise.allSettled([running, queued]);
    await settle();
    at.onDemand.stop();
    expect((await both).map((one) => one.status === 'rejected' && (one.reason as AutoscalerError).kind)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    at.onDemand.want('c', 's');
    await settle();
    expect(at.begun).toEqual(['a']);
    expect(at.clock.sleeping).toBe(0);
  });
});
