import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { onAbort, untilAborted, withAbort, withTimeout } from '../../src/lib/abort.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** What a promise came to, as one word. */
async function endOf(promise: Promise<unknown>): Promise<string> {
  try {
    return `resolved ${String(await promise)}`;
  } catch (thrown) {
    return `rejected ${thrown instanceof AutoscalerError ? thrown.kind : String(thrown)}`;
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const unhandled: unknown[] = [];
const keep = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', keep);
});
afterEach(async () => {
  await settled();
  process.off('unhandledRejection', keep);
  expect(unhandled).toEqual([]);
});

type Step = 'wait' | 'abort' | 'resolve' | 'reject';

/** Runs the steps one after the other, a leading abort before the wait begins. */
async function play(
  steps: readonly Step[],
  start: (work: Promise<string>, signal: AbortSignal) => Promise<unknown>,
): Promise<{ readonly end: string; readonly listeners: number }> {
  const controller = new AbortController();
  const work = Promise.withResolvers<string>();
  const step = {
    wait: () => undefined,
    abort: () => controller.abort('stop'),
    resolve: () => work.resolve('value'),
    reject: () => work.reject('broken'),
  };
  const [first, ...later] = steps;
  if (first === 'abort') step.abort();
  const end = endOf(start(work.promise, controller.signal));
  for (const name of first === 'abort' ? later : steps) {
    step[name]();
    await settled();
  }
  return { end: await end, listeners: getEventListeners(controller.signal, 'abort').length };
}

describe('onAbort', () => {
  it('reacts once when the signal fires, and at once to a signal that has fired', () => {
    const controller = new AbortController();
    const reactions: string[] = [];
    onAbort(controller.signal, () => reactions.push('first'));
    expect(reactions).toEqual([]);
    controller.abort();
    onAbort(controller.signal, () => reactions.push('second'));
    expect(reactions).toEqual(['first', 'second']);
  });

  it('does not react after its listener was removed', () => {
    const controller = new AbortController();
    const reactions: string[] = [];
    onAbort(controller.signal, () => reactions.push('late'))();
    controller.abort();
    expect(reactions).toEqual([]);
  });
});

describe('withAbort', () => {
  it.each<[string, readonly Step[], string]>([
    ['the value when the work ends', ['resolve'], 'resolved value'],
    ['the error when the work fails', ['reject'], 'rejected broken'],
    ['the value when the signal fires after it', ['resolve', 'abort'], 'resolved value'],
    ['cancelled, and swallows a late error', ['abort', 'reject'], 'rejected cancelled'],
    ['cancelled with a signal that has fired', ['abort'], 'rejected cancelled'],
    ['cancelled when the signal fires during the wait', ['wait', 'abort', 'reject'], 'rejected cancelled'],
  ])('gives %s', async (_, steps, expected) => {
    expect(await play(steps, (work, signal) => withAbort(work, signal))).toEqual({ end: expected, listeners: 0 });
  });

  it('rejects with the error that the caller makes', async () => {
    const { end } = await play(['abort'], (work, signal) => withAbort(work, signal, { error: () => signal.reason }));
    expect(end).toBe('rejected stop');
  });

  it.each<[string, readonly Step[], readonly string[]]>([
    ['hands over a value that comes after the abort', ['abort', 'resolve'], ['value']],
    ['keeps a value that came before the abort', ['resolve', 'abort'], []],
    ['hands over nothing when the work fails late', ['abort', 'reject'], []],
  ])('%s', async (_, steps, expected) => {
    const late: string[] = [];
    await play(steps, (work, signal) => withAbort(work, signal, { late: (value) => late.push(value) }));
    expect(late).toEqual(expected);
  });

  it('hands over a value that was there already when the signal fired in the same tick', async () => {
    const late: string[] = [];
    const controller = new AbortController();
    const end = endOf(withAbort(Promise.resolve('slot'), controller.signal, { late: (value) => late.push(value) }));
    controller.abort();
    expect([await end, late]).toEqual(['rejected cancelled', ['slot']]);
  });
});

describe('untilAborted', () => {
  it.each<[string, readonly Step[], string]>([
    ['done when the work ends', ['resolve'], 'resolved done'],
    ['the error when the work fails first', ['reject'], 'rejected broken'],
    ['aborted when the signal fires first, and swallows a late error', ['abort', 'reject'], 'resolved aborted'],
    ['aborted with a signal that has fired', ['abort'], 'resolved aborted'],
    ['aborted when the signal fires during the wait', ['wait', 'abort'], 'resolved aborted'],
  ])('gives %s', async (_, steps, expected) => {
    expect(await play(steps, (work, signal) => untilAborted(work, signal))).toEqual({
      end: expected,
      listeners: 0,
    });
  });
});

describe('withTimeout', () => {
  it.each<[string, readonly Step[], string]>([
    ['the value when the work ends in time', ['resolve'], 'resolved value'],
    ['the error when the work fails in time', ['reject'], 'rejected broken'],
    ['cancelled when an outer signal fires', ['abort', 'resolve'], 'rejected cancelled'],
    ['cancelled, and swallows a late error', ['abort', 'reject'], 'rejected cancelled'],
  ])('gives %s', async (_, steps, expected) => {
    const clock = new FakeClock(0);
    const run = (work: Promise<string>, signal: AbortSignal): Promise<unknown> =>
      withTimeout(clock, { timeoutMs: 1000, signals: [signal], run: () => work });
    expect((await play(steps, run)).end).toBe(expected);
  });

  it.each<[string, (work: PromiseWithResolvers<string>) => void]>([
    ['never ends', () => undefined],
    ['fails after the deadline', (work) => work.reject('broken')],
    ['ends after the deadline', (work) => work.resolve('value')],
  ])('gives timed-out for work that ignores its signal and %s', async (_, afterwards) => {
    const clock = new FakeClock(0);
    const work = Promise.withResolvers<string>();
    let fired = false;
    const end = endOf(
      withTimeout(clock, {
        timeoutMs: 1000,
        signals: [],
        run: (signal) => {
          onAbort(signal, () => (fired = true));
          return work.promise;
        },
      }),
    );
    await clock.advance(999);
    expect(fired).toBe(false);
    await clock.advance(1);
    afterwards(work);
    expect([await end, fired]).toEqual(['resolved timed-out', true]);
  });

  it('turns a throw before the first wait into a rejection', async () => {
    const run = (): Promise<string> => {
      throw new Error('at once');
    };
    expect(await endOf(withTimeout(new FakeClock(0), { timeoutMs: 1, signals: [], run }))).toBe('rejected Error: at once');
  });
});
