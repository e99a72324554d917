/**
 * The increases as dumps and the saved memory have them: the nodes in flight by group, and beside them our own increases with their pods.
 * Must not know where a form is stored.
 * Idea: increase, dump, saved memory.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { AcceptedIncrease, LoopState, PodsOfClass } from '../../../domain/loop-state.ts';
import { isRecent, type RequestedNodes, type RequestsByGroup } from './increase-rate.ts';
import { endedIncrease, increaseByOthers, inFlightByGroup, ownByGroup, type InFlightIncrease } from './increase-records.ts';

/** The members without a value may be missing, at the top of a value only. */
export type Partly<Value, Always extends keyof Value> = Pick<Value, Always> & {
  readonly [Key in Exclude<keyof Value, Always>]?: Value[Key] | undefined;
};
type OfGroups<Value> = ReadonlyMap<NodeGroupId, Value>;
type StoredPods = Partly<PodsOfClass, 'class' | 'count'>;

/** One of our own, without what other keys say of it. */
export type StoredIncrease = Partly<
  Omit<AcceptedIncrease, 'pods' | 'by' | 'coming' | 'isOver' | 'followed' | 'podsGoneSinceMs'>,
  'nodes' | 'acceptedAtMs'
> & {
  readonly pods: readonly StoredPods[];
};

export interface StoredIncreases {
  readonly increases?: OfGroups<InFlightIncrease>;
  readonly accepted?: OfGroups<readonly StoredIncrease[]>;
  /** Nodes that we requested within a minute. */
  readonly asked?: RequestsByGroup;
}

/** One record for each increase. */
export function fromStored(
  { increases = new Map(), accepted = new Map(), asked = new Map() }: StoredIncreases,
  nowMs: number,
): LoopState['increases'] {
  const groups = new Set([...accepted.keys(), ...increases.keys(), ...asked.keys()]);
  const records = [...groups].map((group) => {
    const own = (accepted.get(group) ?? []).map(totalIncrease);
    const recent = (asked.get(group) ?? []).filter(({ atMs }) => isRecent(atMs, nowMs));
    return [group, [...withoutPods(recent, own), ...recordsOf(own, increases.get(group))]] as const;
  });
  return new Map(records.filter(([, all]) => all.length > 0));
}

/** The recent increases whose nodes and pods have come. */
function withoutPods(recent: readonly RequestedNodes[], own: readonly AcceptedIncrease[]): readonly AcceptedIncrease[] {
  const left = [...own];
  const over = recent.filter(({ atMs, nodes }) => {
    const at = left.findIndex((record) => record.acceptedAtMs === atMs && record.nodes === nodes);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return over.map(({ atMs, nodes }) => endedIncrease(nodes, atMs));
}

/** The nodes in flight are of our newest increases, unless others requested some later than we did. */
function recordsOf(own: readonly AcceptedIncrease[], known: InFlightIncrease | undefined): readonly AcceptedIncrease[] {
  if (known === undefined) return own;
  const { nodes, requestedAtMs, expectedByMs } = known;
  if (own.at(-1)?.acceptedAtMs !== requestedAtMs) return [...own, increaseByOthers(nodes, known)];
  let left = nodes;
  const newestFirst = own.toReversed().map((record, at): AcceptedIncrease => {
    if (at > 0 && (left === 0 || record.joinedAtMs !== undefined)) return record;
    const awaited = Math.min(left, record.nodes);
    left -= awaited;
    return { ...record, coming: { nodes: awaited, expectedByMs } };
  });
  const records = newestFirst.toReversed();
  return left > 0 ? [increaseByOthers(left, known), ...records] : records;
}

/** Two of the three views that are stored. The third is {@link requestedLastMinute}. */
export function toStored(state: Pick<LoopState, 'increases'>): Required<Omit<StoredIncreases, 'asked'>> {
  const accepted = [...ownByGroup(state)].map(([group, records]) => [group, records.map(storedIncrease)] as const);
  return { increases: inFlightByGroup(state), accepted: new Map(accepted) };
}

function storedIncrease({
  by: _ours,
  coming: _ofGroup,
  isOver: _not,
  followed: _forPeople,
  podsGoneSinceMs: _again,
  ...record
}: AcceptedIncrease): StoredIncrease {
  return record;
}

// What is stored keeps its place in the new value, and what was missing comes last: the text of the memory depends on the order of members.
function totalIncrease(stored: StoredIncrease): AcceptedIncrease {
  const { planned = [], started = 0, incomplete = false, joinedAtMs, readyAtMs } = stored;
  const pods = stored.pods.map((some) => ({ ...some, uids: some.uids, firstAskedAtMs: some.firstAskedAtMs ?? stored.acceptedAtMs }));
  return {
    ...stored,
    pods,
    planned,
    started,
    incomplete,
    joinedAtMs,
    readyAtMs,
    by: 'us',
    coming: undefined,
    isOver: false,
    podsGoneSinceMs: undefined,
    followed: undefined,
  };
}
