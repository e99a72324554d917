import { describe, expect, it } from 'vitest';
import { lineOfEntry, WorldHash } from '../../simulator/world-hash.ts';

type Happening = readonly [atMs: number, line: string];

function hashOf(happenings: readonly Happening[]): string {
  const hash = new WorldHash();
  for (const [atMs, line] of happenings) hash.add(atMs, line);
  return hash.digest();
}

const RUN: readonly Happening[] = [
  [1, 'a'],
  [1, 'b'],
  [2, 'c'],
];

describe('the hash of a world', () => {
  it.each<{ readonly what: string; readonly other: readonly Happening[]; readonly same: boolean }>([
    { what: 'the same run', other: RUN, same: true },
    {
      what: 'another order of arrival within an instant',
      other: [
        [1, 'b'],
        [1, 'a'],
        [2, 'c'],
      ],
      same: true,
    },
    {
      what: 'the same request twice',
      other: [
        [1, 'a'],
        [1, 'a'],
        [1, 'b'],
        [2, 'c'],
      ],
      same: false,
    },
    {
      what: 'another instant',
      other: [
        [1, 'a'],
        [2, 'b'],
        [2, 'c'],
      ],
      same: false,
    },
    {
      what: 'another request',
      other: [
        [1, 'a'],
        [1, 'x'],
        [2, 'c'],
      ],
      same: false,
    },
    { what: 'one request less', other: RUN.slice(0, 2), same: false },
  ])('$what: equal is $same', ({ other, same }) => expect(hashOf(other) === hashOf(RUN)).toBe(same));

  it('can be read at any time', () => {
    const hash = new WorldHash();
    hash.add(1, 'a');
    const early = hash.digest();
    expect(hash.digest()).toBe(early);
    hash.add(2, 'b');
    expect(hash.digest()).not.toBe(early);
  });

  it('reports each instant, sorted', () => {
    const instants: string[] = [];
    const hash = new WorldHash((atMs, lines) => instants.push(`${atMs} ${lines.join(' ')}`));
    for (const [atMs, line] of [
      [1, 'b'],
      [1, 'a'],
      [2, 'c'],
    ] as const)
      hash.add(atMs, line);
    hash.digest();
    expect(instants).toEqual(['1 a b', '2 c']);
  });

  it('leaves out the order of arrival of a request', () => {
    const entry = { seq: 1, at: 5, method: 'GET', route: 'GET x', path: '/x', status: 200, principal: 'p' };
    expect(lineOfEntry(entry)).toBe(lineOfEntry({ ...entry, seq: 2 }));
    expect(lineOfEntry(entry)).not.toBe(lineOfEntry({ ...entry, status: 404 }));
  });

  it('the order of VMs in one batch does not matter, the VMs do', () => {
    const entry = { seq: 1, at: 1, method: 'POST', route: 'r', path: '/p', status: 202, principal: '' };
    const line = (...machines: readonly string[]): string => lineOfEntry({ ...entry, machines });
    expect(line('a', 'b')).toBe(line('b', 'a'));
    expect(line('a', 'b')).not.toBe(line('a', 'c'));
  });
});
