import { describe, expect, it } from 'vitest';
import { AutoscalerError, type ErrorKind } from '../../../src/lib/errors.ts';
import { TemplateStore } from '../../../src/loop/memory/template-store.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

const MINUTE = 60_000;
const SIGNAL = new AbortController().signal;

function stage(kept?: string) {
  const clock = new FakeClock(START_MS);
  const written: string[] = [];
  const lines: string[] = [];
  const restored: string[] = [];
  const state = { revision: 0, failsWith: undefined as ErrorKind | undefined };
  const fail = (): void => {
    if (state.failsWith !== undefined) throw new AutoscalerError(state.failsWith, 'no');
  };
  const keeper = new TemplateStore({
    clock,
    log: createLog('info', { write: (line) => void lines.push(line) }),
    learner: {
      learnedTemplates: () => ({ revision: state.revision, text: () => `text ${state.revision}` }),
      restoreTemplates: (text) => {
        restored.push(text);
        return text === 'bad' ? 'it is not JSON' : undefined;
      },
    },
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
  const loop = async (revision: number, afterMs = 10_000): Promise<void> => {
    await clock.advance(afterMs);
    state.revision = revision;
    keeper.loopEnded(SIGNAL);
    await settle();
  };
  return { keeper, clock, written, lines, restored, state, loop };
}

describe('the keeper of learned templates', () => {
  it('writes what is new, at most once a minute', async () => {
    const at = stage();
    for (const revision of [0, 1, 1, 2, 3, 4, 4, 4]) await at.loop(revision);
    expect(at.written).toEqual(['text 1', 'text 4']);
    for (let loops = 0; loops < 30; loops++) await at.loop(4);
    expect(at.written).toHaveLength(2);
  });

  it('tries again a minute after a write that was refused, and says so each time', async () => {
    const at = stage();
    at.state.failsWith = { kind: 'conflict', etag: undefined } as ErrorKind;
    await at.loop(1);
    at.state.failsWith = undefined;
    await at.loop(1, 30_000);
    expect([at.written, at.lines.length]).toEqual([[], 1]);
    await at.loop(1, MINUTE);
    expect(at.written).toEqual(['text 1']);
  });

  it.each([
    ['nothing', undefined, [], 0],
    ['what is good', 'good', ['good'], 0],
    ['what is not believed, with a sentence', 'bad', ['bad'], 1],
  ])('restores %s', async (_name, kept, restored, lines) => {
    const at = stage(kept);
    await at.keeper.restore(SIGNAL);
    expect([at.restored, at.lines.length]).toEqual([restored, lines]);
  });

  it('begins without when it may not read', async () => {
    const at = stage('good');
    at.state.failsWith = { kind: 'auth' };
    await at.keeper.restore(SIGNAL);
    expect([at.restored, at.lines.length]).toEqual([[], 1]);
  });

  it('writes nothing once its signal has fired', async () => {
    const at = stage();
    const stop = new AbortController();
    stop.abort();
    at.state.revision = 1;
    at.keeper.loopEnded(stop.signal);
    await at.keeper.settled();
    expect(at.written).toEqual([]);
  });
});
