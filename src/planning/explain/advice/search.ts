/**
 * The smallest change that helps, found by simulation. A change that was not seen to work is never returned. Pure. Must not know what is to
 * be helped, or how a change is carried out.
 */
import type { NodeGroup } from '../../../domain/node-group.ts';
import { compareText } from '../../../lib/comparison.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import type { Change } from '../changes/change-kinds.ts';
import { keyOf } from '../changes/change.ts';

/** A set of changes that is worth trying. */
export interface Candidate {
  /** As a function: with limits raised for so many new nodes. */
  readonly changes: readonly Change[] | ((nodes: number) => readonly Change[]);
  /** How much is asked of people; 1 is a number in our own configuration. */
  readonly effort: number;
  /** Whose nodes are to help. Absent if nodes are to be removed. */
  readonly group?: NodeGroup;
}

interface TriedCandidate<Of extends Candidate, Result> {
  readonly candidate: Of;
  readonly changes: readonly Change[];
  readonly result: Result;
}

interface SearchInput<Of extends Candidate, Result> {
  readonly candidates: readonly Of[];
  /** How many sets of changes are simulated before the search ends; numbers that are lowered afterwards come on top. */
  readonly mostTried: number;
  /** More new nodes are never needed. */
  readonly mostNodes: number;
  /** undefined: the changes have no meaning in this cluster. */
  readonly simulate: (changes: readonly Change[], candidate: Of) => SlicedWork<Result | undefined>;
  /** How much is solved, from 0 to 1. */
  readonly solvedBy: (result: Result) => number;
  readonly newNodesIn: (result: Result) => number;
  /** The set with the changes against a further obstacle, which its simulation met. */
  readonly extend: (tried: TriedCandidate<Of, Result>) => readonly Of[];
}

interface SearchResult<Of extends Candidate, Result> {
  /** The first set that solves all; else, of those that solve some, the one that solves most. undefined: none does. */
  readonly found: TriedCandidate<Of, Result> | undefined;
  /** How many sets of changes were simulated. */
  readonly tried: number;
}

/** What is tried beyond a set of changes that solves only a part. */
const FURTHER_EFFORT = 3;

/** Simulates candidates, least effort first. A set that meets a further obstacle returns to the queue with the change against that, too. */
export function* search<Of extends Candidate, Result>(input: SearchInput<Of, Result>): SlicedWork<SearchResult<Of, Result>> {
  const { simulate, solvedBy, extend, mostTried, mostNodes } = input;
  const seen = new Set<string>();
  let tried = 0;
  const tryOut = function* (candidate: Of, changes: readonly Change[]): SlicedWork<TriedCandidate<Of, Result> | undefined> {
    const result = yield* simulate(changes, candidate);
    if (result === undefined) return undefined;
    tried += 1;
    return { candidate, changes, result };
  };
  const queue = input.candidates.toSorted(byEffort);
  let best: TriedCandidate<Of, Result> | undefined;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    // Once a part is solved, only a little more effort is spent on the rest.
    if (tried >= mostTried || next.effort > (best?.candidate.effort ?? Infinity) + FURTHER_EFFORT) break;
    const changes = changesOf(next, mostNodes);
    if (seen.has(keyOf(changes))) continue;
    seen.add(keyOf(changes));
    const latest = yield* tryOut(next, changes);
    if (latest === undefined) continue;
    if (solvedBy(latest.result) > (best === undefined ? 0 : solvedBy(best.result))) best = latest;
    if (solvedBy(latest.result) === 1) break;
    queue.push(...extend(latest));
    queue.sort(byEffort);
  }
  const found = best && (yield* withLeastNodes(best, input, tryOut));
  return { found, tried };
}

export function changesOf({ changes }: Candidate, nodes: number): readonly Change[] {
  return typeof changes === 'function' ? changes(nodes) : changes;
}

export function byEffort(left: Candidate, right: Candidate): number {
  return left.effort - right.effort || compareText(left.group?.id ?? '', right.group?.id ?? '');
}

/** The same changes with the lowest limits that solve as much; as tried, if the number of nodes misleads. */
function* withLeastNodes<Of extends Candidate, Result>(
  best: TriedCandidate<Of, Result>,
  { solvedBy, newNodesIn }: Pick<SearchInput<Of, Result>, 'solvedBy' | 'newNodesIn'>,
  tryOut: (candidate: Of, changes: readonly Change[]) => SlicedWork<TriedCandidate<Of, Result> | undefined>,
): SlicedWork<TriedCandidate<Of, Result>> {
  const { candidate, changes, result } = best;
  if (keyOf(changesOf(candidate, 1)) === keyOf(changes)) return best;
  const least = yield* leastThatHolds(newNodesIn(result), function* (nodes) {
    const fewer = yield* tryOut(candidate, changesOf(candidate, nodes));
    return fewer !== undefined && solvedBy(fewer.result) >= solvedBy(result) ? fewer : undefined;
  });
  return least ?? best;
}

/** What holds with the least number from 1 to `most`, given that all numbers above it hold; undefined if not even `most` holds. */
function* leastThatHolds<Held>(most: number, holdsFor: (nodes: number) => SlicedWork<Held | undefined>): SlicedWork<Held | undefined> {
  let least = most < 1 ? undefined : yield* holdsFor(most);
  if (least === undefined) return undefined;
  let [low, high] = [1, most];
  while (low < high) {
    // As a rule the number is right: then the first question shows it.
    const nodes = high === most ? most - 1 : Math.floor((low + high) / 2);
    const fewer = yield* holdsFor(nodes);
    if (fewer === undefined) low = high === most ? most : nodes + 1;
    else [least, high] = [fewer, nodes];
  }
  return least;
}
