import { describe, expect, it } from 'vitest';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import type { LoopState, SavedMemory } from '../../../src/domain/loop-state.ts';
import { NOTHING_REPACKED } from '../../../src/domain/repack.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { MemoryStore } from '../../../src/loop/memory/memory-store.ts';
import { writeMemory } from '../../../src/loop/memory/memory-text.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { aCluster, anObservation, START_MS } from '../../support/builders.ts';
import { aLoopReport } from '../../support/loop-report.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aBackoff, aState } from '../../support/state.ts';

const SECOND = 1_000;
const SIGNAL = new AbortController().signal;

const backoffs = (cause: string): LoopState['backoffs'] =>
  new Map([[nodeGroupId('g'), aBackoff({ untilMs: START_MS, durationMs: 1, lastFailureMs: START_MS, cause })]]);
const unneededSince = new Map([['n', START_MS]]);

function stage(kept?: string, candidateTtlMs = 120_000) {
  const clock = new FakeClock(START_MS);
  const written: string[] = [];
  const lines: string[] = [];
  const recalled: SavedMemory[] = [];
  const state = { fails: false };
  const fail = (): void => {
    if (state.fails) throw new AutoscalerError({ kind: 'auth' }, 'no');
  };
  const store = new MemoryStore({
    clock,
    log: createLog('info', { write: (line) => void lines.push(line) }),
    recall: (memory) => void recalled.push(memory),
    policy: () => ({ candidateTtlMs }),
    kept: {
      read: async () => {
        fail();
        return kept;
      },
      write: async (text) => {
        fail();
        written.push(text);
      },
    },
  });
  const empty = aState();
  const report = (change: Partial<LoopState>): LoopReport =>
    aLoopReport({
      startedAtMs: clock.now(),
      observation: { ...anObservation([], aCluster()), nowMs: clock.now() },
      state: { ...empty, ...change },
    });
  const loop = async (change: Partial<LoopState> = {}, afterMs = 10 * SECOND, signal: AbortSignal = SIGNAL): Promise<void> => {
    await clock.advance(afterMs);
    store.loopEnded(report(change), signal);
    await settle();
  };
  return { store, written, lines, recalled, state, loop };
}

describe('the store of the memory', () => {
  it('writes nothing while nothing is remembered', async () => {
    const at = stage();
    for (let loops = 0; loops < 20; loops++) await at.loop();
    await at.store.end(SIGNAL);
    expect(at.written).toEqual([]);
  });

  it('writes nothing for the reasons why no room is made, which differ from loop to loop', async () => {
    const at = stage();
    for (let loops = 0; loops < 5; loops++) {
      const room = { closure: undefined, added: undefined, failed: undefined, why: `reason ${loops}` };
      await at.loop({ repacks: { ...NOTHING_REPACKED, rooms: new Map([['n', room]]) } });
    }
    expect(at.written).toEqual([]);
  });

  it('writes what is new at once, and at most once in ten seconds', async () => {
    const at = stage();
    for (const cause of ['a', 'b', 'c', 'd', 'e']) await at.loop({ backoffs: backoffs(cause) }, 4 * SECOND);
    expect(at.written.map((text) => /"cause":"(.)"/.exec(text)?.[1])).toEqual(['a', 'd']);
    await at.loop({ backoffs: backoffs('e') });
    await at.loop({ backoffs: backoffs('e') });
    expect(at.written).toHaveLength(3);
  });

  it('writes that nothing is remembered any more', async () => {
    const at = stage();
    await at.loop({ backoffs: backoffs('a') });
    await at.loop();
    expect(at.written).toHaveLength(2);
    expect(at.written[1]).toContain('"backoffs":[]');
  });

  it.each([
    { ttlMs: 120_000, writes: 4 },
    { ttlMs: 40_000, writes: 12 },
    { ttlMs: 0, writes: 0 },
  ])('writes running idle timers often enough for a limit of $ttlMs ms', async ({ ttlMs, writes }) => {
    const at = stage(undefined, ttlMs);
    for (let loops = 0; loops < 12; loops++) await at.loop({ unneededSince });
    expect(at.written).toHaveLength(writes);
  });

  it('writes once more at the end, with the time of the last observation', async () => {
    const at = stage();
    await at.loop({ unneededSince });
    await at.loop({ unneededSince }, 5 * SECOND);
    await at.store.end(SIGNAL);
    expect(at.written).toHaveLength(2);
    expect(at.written[1]).toContain(`"savedAtMs":${START_MS + 15 * SECOND}`);
    await at.store.end(SIGNAL);
    expect(at.written).toHaveLength(2);
  });

  it('tries again ten seconds after a refused write, and says so each time', async () => {
    const at = stage();
    at.state.fails = true;
    await at.loop({ backoffs: backoffs('a') });
    at.state.fails = false;
    await at.loop({ backoffs: backoffs('a') }, 5 * SECOND);
    expect([at.written, at.lines.length]).toEqual([[], 1]);
    await at.loop({ backoffs: backoffs('a') }, 5 * SECOND);
    expect(at.written).toHaveLength(1);
  });

  it('writes nothing once its signal has fired', async () => {
    const at = stage();
    const stop = new AbortController();
    stop.abort();
    await at.loop({ backoffs: backoffs('a') }, SECOND, stop.signal);
    await at.store.end(stop.signal);
    expect(at.written).toEqual([]);
  });

  it('names what had no room once, not in every write', async () => {
    const at = stage();
    const idle = new Map(Array.from({ length: 60_000 }, (_, index) => [`node-${index}`.padEnd(30, 'x'), START_MS]));
    for (const cause of ['a', 'b']) await at.loop({ backoffs: backoffs(cause), unneededSince: idle });
    expect(at.written).toHaveLength(2);
    expect(at.lines).toHaveLength(1);
    expect(JSON.parse(at.lines[0] ?? '')).toMatchObject({ level: 'warn', dropped: { idle: expect.any(Number) } });
  });
});

describe('at the start, the store', () => {
  const good = writeMemory(aState({ backoffs: backoffs('a') }), START_MS).text;

  it.each([
    ['passes on what is good, and says so', good, 1, 1],
    ['passes on nothing if there is nothing', undefined, 0, 0],
    ['warns about what is not accepted', 'bad', 0, 1],
  ])('%s', async (_name, kept, recalled, lines) => {
    const at = stage(kept);
    await at.store.restore(SIGNAL);
    expect([at.recalled.length, at.lines.length]).toEqual([recalled, lines]);
  });

  it('begins without a memory if it may not read', async () => {
    const at = stage(good);
    at.state.fails = true;
    await at.store.restore(SIGNAL);
    expect([at.recalled.length, at.lines.length]).toEqual([0, 1]);
  });
});
