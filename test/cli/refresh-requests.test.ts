import { describe, expect, it } from 'vitest';
import { RefreshRequests } from '../../src/cli/refresh-requests.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

function requests() {
  const clock = new FakeClock(START_MS);
  const stop = new AbortController();
  const started: (readonly [number, readonly string[] | 'all'])[] = [];
  const refreshes = new RefreshRequests({
    clock,
    signal: stop.signal,
    start: (groups) => void started.push([clock.monotonic() - START_MS, groups === undefined ? 'all' : [...groups]]),
  });
  return { clock, stop, started, refreshes };
}

describe('requests for a refresh of Azure data', () => {
  it('the first starts at once; those of the next ten seconds start together at their end', async () => {
    const { clock, started, refreshes } = requests();
    expect(refreshes.request('a')).toBe(0);
    expect(started).toEqual([[0, ['a']]]);
    await clock.advance(4_000);
    expect([refreshes.request('a'), refreshes.request('b'), refreshes.request('a')]).toEqual([6_000, 6_000, 6_000]);
    await clock.advance(5_999);
    expect(started).toHaveLength(1);
    await clock.advance(1);
    expect(started.slice(1)).toEqual([[10_000, ['a', 'b']]]);
    await clock.advance(60_000);
    expect(started).toHaveLength(2);
    expect(refreshes.request('c')).toBe(0);
  });

  it('a request for all groups contains the others, whichever comes first', async () => {
    const { clock, started, refreshes } = requests();
    refreshes.request(undefined);
    refreshes.request('a');
    refreshes.request(undefined);
    refreshes.request('b');
    await clock.advance(10_000);
    expect(started).toEqual([
      [0, 'all'],
      [10_000, 'all'],
    ]);
  });

  it('a thousand requests in a minute start seven refreshes and hold one timer', async () => {
    const { clock, started, refreshes } = requests();
    for (let request = 0; request < 1_000; request++) {
      refreshes.request(`group-${request % 7}`);
      expect(clock.sleeping).toBeLessThanOrEqual(1);
      await clock.advance(60);
    }
    expect(started.map(([atMs]) => atMs)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
  });

  it('a request that waits is cancelled when the daemon stops', async () => {
    const { clock, stop, started, refreshes } = requests();
    refreshes.request('a');
    refreshes.request('b');
    stop.abort();
    await clock.advance(60_000);
    expect(started).toHaveLength(1);
  });
});
