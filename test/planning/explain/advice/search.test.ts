import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { type Candidate, search } from '../../../../src/planning/explain/advice/search.ts';
import type { Change } from '../../../../src/planning/explain/changes/change-kinds.ts';

const cordoned = (group: string): Change => ({ kind: 'uncordon-template', group: nodeGroupId(group) });
const raised = (to: number): Change => ({ kind: 'raise-nodes-per-scale-up', from: 0, to });
const fixed = (effort: number, ...groups: readonly string[]): Candidate => ({ effort, changes: groups.map(cordoned) });
const namesOf = (changes: readonly Change[]): string =>
  changes
    .map((change) => (change.kind === 'uncordon-template' ? change.group : change.kind === 'raise-nodes-per-scale-up' ? change.to : ''))
    .join('+');

interface Problem {
  readonly candidates: readonly Candidate[];
  /** The share that each set solves; of sets that are absent, none. `undefined`: it has no meaning. */
  readonly shares: Readonly<Record<string, number | undefined>>;
  readonly mostTried?: number;
  readonly mostNodes?: number;
  readonly newNodes?: number;
  readonly further?: Readonly<Record<string, readonly Candidate[]>>;
}

function solve({ candidates, shares, mostTried = 9, mostNodes = 9, newNodes = 0, further = {} }: Problem) {
  const simulated: string[] = [];
  const { found, tried } = finishAtOnce(
    search({
      candidates,
      mostTried,
      mostNodes,
      *simulate(changes) {
        yield;
        const name = namesOf(changes);
        if (name in shares && shares[name] === undefined) return undefined;
        simulated.push(name);
        return { share: shares[name] ?? 0, name };
      },
      solvedBy: ({ share }) => share,
      newNodesIn: () => newNodes,
      extend: ({ result }) => further[result.name] ?? [],
    }),
  );
  expect(tried).toBe(simulated.length);
  return { found: found === undefined ? undefined : namesOf(found.changes), simulated: simulated.join(' ') };
}

describe('the search for the smallest change', () => {
  it.each<[string, Problem, ReturnType<typeof solve>]>([
    [
      'ends with the first that solves all, least effort first',
      { candidates: [fixed(2, 'b'), fixed(1, 'a'), fixed(3, 'c')], shares: { b: 1, c: 1 } },
      { found: 'b', simulated: 'a b' },
    ],
    [
      'tries no set twice',
      { candidates: [fixed(1, 'a'), fixed(2, 'a'), fixed(3, 'b')], shares: { b: 1 } },
      { found: 'b', simulated: 'a b' },
    ],
    ['finds nothing where nothing helps', { candidates: [fixed(1, 'a')], shares: {} }, { found: undefined, simulated: 'a' }],
    [
      'does not count what has no meaning',
      { candidates: [fixed(1, 'a'), fixed(2, 'b')], shares: { a: undefined, b: 1 }, mostTried: 1 },
      { found: 'b', simulated: 'b' },
    ],
    [
      'ends at its limit',
      { candidates: [fixed(1, 'a'), fixed(2, 'b')], shares: { b: 1 }, mostTried: 1 },
      { found: undefined, simulated: 'a' },
    ],
    [
      'takes the one that solves most, and spends only a little more effort on the rest',
      { candidates: [fixed(1, 'a'), fixed(3, 'b'), fixed(6, 'c'), fixed(6.1, 'd')], shares: { a: 0.5, b: 0.7, d: 1 } },
      { found: 'b', simulated: 'a b c' },
    ],
    [
      'returns to a set with the change against what it met',
      { candidates: [fixed(1, 'a'), fixed(4, 'c')], shares: { 'a+b': 1 }, further: { a: [fixed(3, 'a', 'b')] } },
      { found: 'a+b', simulated: 'a a+b' },
    ],
  ])('%s', (_what, problem, expected) => {
    expect(solve(problem)).toEqual(expected);
  });

  const byNumber: Candidate = { effort: 1, changes: (nodes) => [raised(nodes)] };
  const holding = (least: number) => Object.fromEntries(Array.from({ length: 100 }, (_, at) => [String(at), at >= least ? 1 : 0]));
  it.each([
    ['as many nodes as were added', 5, 5, '5', '99 5 4'],
    ['fewer', 5, 3, '3', '99 5 4 2 3'],
    ['more', 5, 7, '99', '99 5'],
    ['none that it adds', 0, 0, '99', '99'],
  ])('lowers a number to the least that solves as much: %s', (_what, newNodes, least, found, simulated) => {
    expect(solve({ candidates: [byNumber], shares: holding(least), mostNodes: 99, newNodes })).toEqual({ found, simulated });
  });
});
