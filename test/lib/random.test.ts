import { describe, expect, it } from 'vitest';
import { seededRandom, seededStreams, streamFor } from '../../src/lib/random.ts';

const draws = (random: () => number, count = 3): readonly number[] => Array.from({ length: count }, () => random());

describe('streams of a seeded source', () => {
  it('a consumer draws the same, whatever others draw before it', () => {
    const [calm, busy] = [seededStreams(7), seededStreams(7)];
    draws(busy, 5);
    draws(streamFor(busy, 'b'), 5);
    expect(draws(streamFor(busy, 'a'))).toEqual(draws(streamFor(calm, 'a')));
  });

  it('names and seeds differ, and a stream goes on where it was', () => {
    const source = seededStreams(7);
    const all = [...draws(streamFor(source, 'a')), ...draws(streamFor(source, 'a')), ...draws(streamFor(source, 'b')), ...draws(source)];
    expect(new Set([...all, ...draws(streamFor(seededStreams(8), 'a'))]).size).toBe(15);
  });

  it('without streams all consumers share the source', () => {
    const source = seededRandom(7);
    expect([streamFor(source, 'a')(), streamFor(source, 'b')()]).toEqual(draws(seededRandom(7), 2));
  });
});
