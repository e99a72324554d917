/** Who watches gets what changed, once per loop. */
import { describe, expect, it } from 'vitest';
import { applyMergePatch } from '../../src/api/documents/merge-patch.ts';
import type { Overview } from '../../src/api/documents/overview.ts';
import { EventStreams, type StreamTarget } from '../../src/api/served/event-streams.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { START_MS } from '../support/builders.ts';

class Watcher implements StreamTarget {
  text = '';
  ended = false;
  destroyed = false;
  writableLength = 0;
  #close = (): void => undefined;
  write(text: string): void {
    if (this.ended || this.destroyed) throw new Error('a write after the end');
    this.text += text;
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  on(_event: 'close', listener: () => void): void {
    this.#close = listener;
  }
  leave(): void {
    this.#close();
  }
  events(): readonly { readonly event: string; readonly id?: string | undefined; readonly data: Readonly<Record<string, unknown>> }[] {
    return this.text
      .split('\n\n')
      .filter((part) => part.includes('event: '))
      .map((part) => ({
        event: /event: (.*)/.exec(part)?.[1] ?? '',
        id: /id: (.*)/.exec(part)?.[1],
        data: JSON.parse(/data: (.*)/.exec(part)?.[1] ?? '{}') as Readonly<Record<string, unknown>>,
      }));
  }
  names(): readonly string[] {
    return this.events().map(({ event }) => event);
  }
}

function aWorld(first = 1) {
  const clock = new FakeClock(START_MS);
  let [loopId, made] = [first, 0];
  const streams = new EventStreams({
    clock,
    overview: () => {
      made += 1;
      if (loopId === 0) return undefined;
      return { loopId, leader: { name: 'a', since: '2026-11-21T00:00:00.000Z' }, pods: loopId * 10, same: 'x' } as unknown as Overview;
    },
  });
  const loop = async (): Promise<void> => {
    loopId += 1;
    streams.loopEnded();
    await clock.advance(2_000);
  };
  const watch = (last?: string): Watcher => {
    const watcher = new Watcher();
    if (!streams.open(watcher, last)) throw new Error('refused');
    return watcher;
  };
  return { clock, streams, loop, watch, made: () => made };
}

describe('event streams', () => {
  it('compute nothing without a watcher', async () => {
    const { loop, made } = aWorld();
    await loop();
    await loop();
    expect(made()).toBe(0);
  });

  it('begin with the whole overview, and then say what changed', async () => {
    const { loop, watch } = aWorld();
    const watcher = watch();
    await loop();
    const [hello, whole, change] = watcher.events();
    expect([hello?.event, whole?.event, change?.event]).toEqual(['ping', 'resync', 'loop']);
    expect(change?.data).toEqual({ loopId: 2, pods: 20 });
    expect(applyMergePatch(whole?.data, change?.data)).toMatchObject({ loopId: 2, pods: 20, same: 'x' });
  });

  it('begin when the first loop ends', async () => {
    const { loop, watch } = aWorld(0);
    const watcher = watch();
    await loop();
    await loop();
    expect(watcher.names()).toEqual(['ping', 'resync', 'loop']);
  });

  it('make one payload for ten watchers, and refuse the eleventh', async () => {
    const { loop, watch, made } = aWorld();
    const watchers = Array.from({ length: 10 }, () => watch());
    const before = made();
    await loop();
    expect(made()).toBe(before + 1);
    expect(new Set(watchers.map(({ text }) => text.split('event: loop')[1])).size).toBe(1);
    expect(() => watch()).toThrow('refused');
    watchers[0]?.leave();
    expect(() => watch()).not.toThrow();
  });

  it('continue after a short absence, and start over after a long one or another process', async () => {
    const { loop, watch } = aWorld();
    const stays = watch();
    await loop();
    const id = stays.events().at(-1)?.id ?? '';
    expect(watch(id).names()).toEqual(['ping']);
    await loop();
    expect(watch(id).names()).toEqual(['ping', 'loop']);
    expect(watch('other.2').names()).toEqual(['ping', 'resync']);
  });

  it('send at most one change in a second', async () => {
    const { clock, streams, watch, loop } = aWorld();
    const watcher = watch();
    await loop();
    for (let at = 0; at < 5; at++) streams.loopEnded();
    const before = watcher.names().length;
    expect(watcher.names()).toHaveLength(before);
    await clock.advance(1_000);
    expect(watcher.names().length).toBeLessThanOrEqual(before + 1);
  });

  it('say that they live, drop a watcher that does not read, and end with the leadership', async () => {
    const { clock, streams, watch, loop } = aWorld();
    const [reads, stuck] = [watch(), watch()];
    stuck.writableLength = 2_000_000;
    await clock.advance(5_000);
    expect(reads.names().filter((name) => name === 'ping').length).toBeGreaterThan(1);
    expect([reads.destroyed, stuck.destroyed]).toEqual([false, true]);
    // A write after the end would be an error without a listener, which ends the process.
    stuck.writableLength = 0;
    await loop();
    streams.end({ event: 'leader', data: {} });
    expect([reads.ended, reads.names().at(-1)]).toEqual([true, 'leader']);
  });
});
