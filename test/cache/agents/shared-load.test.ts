/** A value that processes share: who reads the source, and what becomes of a run that fails, is too slow, or finds no place. */
import { beforeEach, describe, expect, it } from 'vitest';
import { loadTogether, type LoadedTogether, type SharingProblem } from '../../../src/cache/agents/shared-load.ts';
import type { SharedText } from '../../../src/domain/ports/shared-text.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryTextServer } from '../../support/memory-shared-text.ts';

const LIFE_MS = 60_000;
const REST = { successMs: 50_000, failureMs: 20_000 };

/** The value is the time of its reading. */
type Load = Promise<LoadedTogether<number>>;

let clock = new FakeClock(START_MS);
let server = new MemoryTextServer(() => clock.now());
let reads: string[] = [];
let problems: SharingProblem['kind'][] = [];
/** What the source does when it is read. */
let source = (): Promise<number> => Promise.resolve(clock.now());
beforeEach(() => {
  clock = new FakeClock(START_MS);
  server = new MemoryTextServer(() => clock.now());
  reads = [];
  problems = [];
  source = () => Promise.resolve(clock.now());
});

function load(
  process: string,
  change: { readonly current?: number; readonly mayGoOn?: boolean; readonly place?: Pick<MemoryTextServer, 'of'> } = {},
): Load {
  const { place = server, ...more } = change;
  const work = loadTogether<number>(
    {
      share: place.of(process),
      clock,
      decode: (text) => (Number.isFinite(Number(text)) ? { ok: true, value: Number(text) } : { ok: false, reason: 'it is no number' }),
      encode: String,
      isFresh: (value) => clock.now() - value < LIFE_MS,
      read: () => {
        reads.push(process);
        return source();
      },
      onProblem: ({ kind }) => problems.push(kind),
      current: undefined,
      mayGoOn: false,
      rest: REST,
      ...more,
    },
    new AbortController().signal,
  );
  work.catch(() => undefined);
  return work;
}

const fails = (kind: 'unavailable' | 'auth') => (): Promise<number> =>
  Promise.reject(new AutoscalerError(kind === 'auth' ? { kind } : { kind, effect: 'none' }, 'No.'));

describe('a value that processes share', () => {
  it('is read by one of thirty', async () => {
    const loads = Array.from({ length: 30 }, (_, at) => load(`p${at}`));
    await clock.advance(3_000);
    expect(new Set((await Promise.all(loads)).map(({ value }) => value))).toEqual(new Set([START_MS]));
    expect(reads).toEqual(['p0']);
    expect((await loads[7])?.by).toBe('p0');
  });

  it('is not read again before the lock of the last run ends, whatever the clock of a process says', async () => {
    await load('one');
    await clock.advance(REST.successMs - 1_000);
    expect(await server.of('other').claim(2)).toBe(false);
    await clock.advance(2_000);
    expect(await server.of('other').claim(2)).toBe(true);
  });

  it('is not what a run read that lost its lock: that publishes nothing and takes the newer value', async () => {
    let finish: (value: number) => void = () => undefined;
    source = () => new Promise((resolve) => (finish = resolve));
    const slow = load('slow', { current: 1 });
    await clock.advance(200_000);
    source = () => Promise.resolve(clock.now());
    const next = await load('next', { current: 1 });
    finish(START_MS);
    expect(await slow).toMatchObject({ value: next.value, origin: 'shared', by: 'next' });
    expect(server.record).toMatchObject({ text: String(next.value), by: 'next' });
    expect(problems).toEqual(['outrun']);
  });

  it.each([
    ['may pass', 'unavailable', ['one']],
    ['is about this process', 'auth', ['one', 'two']],
  ] as const)('after a failure that %s, the others read at once or not', async (_what, kind, expected) => {
    source = fails(kind);
    await expect(load('one')).rejects.toMatchObject({ kind });
    const two = load('two', { current: 1, mayGoOn: true });
    await clock.advance(10_000);
    expect(reads).toEqual(expected);
    await clock.advance(60_000);
    await two.catch(() => undefined);
    expect(reads).toEqual(['one', 'two']);
  });

  it('is used on by a process that has one while others have the turn', async () => {
    await server.of('hangs').claim(1);
    const loaded = load('one', { current: 7, mayGoOn: true });
    await clock.advance(60_000);
    expect(await loaded).toEqual({ value: 7, origin: 'current' });
    expect(reads).toEqual([]);
  });

  it('is read without a turn by a process whose value is too old to go on with', async () => {
    await server.of('hangs').claim(1);
    const loaded = load('one', { current: 7, mayGoOn: false });
    await clock.advance(60_000);
    expect(await loaded).toMatchObject({ origin: 'own' });
  });

  it('is waited for by a process without one no longer than its own read takes', async () => {
    await server.of('hangs').claim(1);
    const loaded = load('one');
    await clock.advance(6_000);
    expect(await loaded).toMatchObject({ origin: 'own' });
  });

  it('is read at once if the place is away, without asking it for a turn', async () => {
    server.isAway = true;
    expect(await load('one')).toMatchObject({ origin: 'own' });
    expect(problems).toEqual(['unreachable']);
  });

  it('is asked for within 50 ms by a process without one, and within the limit of the place by others', async () => {
    const limits: (number | undefined)[] = [];
    const of = (process: string): SharedText => {
      const share = server.of(process);
      const latest = (limitMs?: number) => {
        limits.push(limitMs);
        return share.latest(limitMs);
      };
      return { ...share, latest };
    };
    await load('one', { place: { of } });
    await load('two', { place: { of }, current: 1 });
    expect(limits).toEqual([50, 50, undefined]);
  });

  it('is read once on each side of a place that is split', async () => {
    const otherSide = new MemoryTextServer(() => clock.now());
    const loads = [load('a'), load('b'), load('c', { place: otherSide }), load('d', { place: otherSide })];
    await clock.advance(3_000);
    await Promise.all(loads);
    expect(reads).toEqual(['a', 'c']);
  });

  it('is an old one that others published if this process has none and the source fails', async () => {
    server.put({ epoch: 4, text: '5', by: 'before' });
    source = fails('unavailable');
    expect(await load('one')).toMatchObject({ value: 5, origin: 'shared', by: 'before', error: { kind: 'unavailable' } });
    await clock.advance(60_000);
    await expect(load('one', { current: 6 })).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
