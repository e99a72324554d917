/** What the emulated Azure forgets, so that a world of many days stays small. */
import { describe, expect, it } from 'vitest';
import { Journal, type JournalEntry } from '../../../../simulator/arm/http/journal.ts';
import { Throttle } from '../../../../simulator/arm/http/throttling.ts';
import { RequestCounts } from '../../../../simulator/arm/state/seeded-random.ts';
import { VirtualSimClock } from '../../../../simulator/base/sim-clock.ts';

const HOUR = 3_600_000;
const read = (path: string) => ({ method: 'GET', path });

describe('counts of requests', () => {
  it('name the repetition of a request, whatever else is requested', () => {
    const counts = new RequestCounts(0);
    expect([counts.next(read('/A'), 0), counts.next(read('/b'), 0), counts.next(read('/a'), 0)]).toEqual([
      'GET /a|1',
      'GET /b|1',
      'GET /a|2',
    ]);
  });

  it('are forgotten two hours after the last repetition, and no name comes twice', () => {
    const counts = new RequestCounts(0);
    const names = Array.from({ length: 24 }, (_, hour) => [
      counts.next(read('/often'), hour * HOUR),
      counts.next(read(`/once/${hour}`), hour * HOUR),
    ]);
    names.push([counts.next(read('/once/0'), 24 * HOUR)]);
    expect(new Set(names.flat()).size).toBe(names.flat().length);
    expect(names[23]?.[0]).toBe('GET /often|24');
    expect(counts.size).toBeLessThan(7);
  });
});

describe('rate limits', () => {
  it('drop full buckets and keep those that were used lately', () => {
    const clock = new VirtualSimClock(0);
    const throttle = new Throttle(clock);
    const read = (resource: string) =>
      throttle.charge({ method: 'GET', clientId: 'c', subscription: 's', compute: 'GetOperation', resource });
    for (let index = 0; index < 500; index++) read(`operation-${index}`);
    clock.advance(HOUR);
    for (let index = 0; index < 45; index++) read('late');
    expect(throttle.size).toBeLessThan(10);
    expect(read('late').refusal?.status).toBe(429);
  });
});

describe('the journal', () => {
  it('keeps the last entries and notifies listeners of each one', () => {
    const journal = new Journal(10);
    const heard: number[] = [];
    const stop = journal.subscribe(({ seq }) => heard.push(seq));
    const entry: Omit<JournalEntry, 'seq'> = { at: 0, method: 'GET', route: 'GET x', path: '/x', status: 200, principal: '' };
    for (let index = 0; index < 100; index++) journal.add({ ...entry, seq: journal.nextSeq() });
    stop();
    journal.add({ ...entry, seq: journal.nextSeq() });
    const kept = journal.since(0).map(({ seq }) => seq);
    expect([heard.length, kept.at(-1)]).toEqual([100, 101]);
    expect(kept.length).toBeGreaterThanOrEqual(10);
    expect(kept.length).toBeLessThanOrEqual(20);
    expect(journal.since(100).map(({ seq }) => seq)).toEqual([101]);
  });
});
