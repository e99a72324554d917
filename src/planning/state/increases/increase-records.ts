/**
 * The records of increases by group, and their views: nodes in flight, and increases of our own. Must not know what changes a record.
 * Idea: increase.
 */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { AcceptedIncrease, FollowedInstances, LoopState } from '../../../domain/loop-state.ts';
import { isRecentRequest } from './increase-rate.ts';

type Increases = LoopState['increases'];
type Known = Pick<LoopState, 'increases'>;
type Records = readonly AcceptedIncrease[];

/** Nodes of a group that were requested, by us or by others, and have not joined yet. */
export interface InFlightIncrease {
  readonly group: NodeGroupId;
  readonly nodes: number;
  readonly requestedAtMs: number;
  readonly expectedByMs: number;
}

/** undefined: the group awaits no node. */
export function inFlight({ increases }: Known, group: NodeGroupId): InFlightIncrease | undefined {
  return inFlightIn(group, increases.get(group) ?? []);
}

/** In the order in which the groups began to await nodes. */
export function inFlightByGroup({ increases }: Known): ReadonlyMap<NodeGroupId, InFlightIncrease> {
  const begun = [...increases].flatMap(([group, records]) => {
    const first = records.find(({ coming }) => coming !== undefined);
    const all = inFlightIn(group, records);
    return first === undefined || all === undefined ? [] : [{ all, beganAtMs: first.acceptedAtMs }];
  });
  begun.sort((left, right) => left.beganAtMs - right.beganAtMs);
  return new Map(begun.map(({ all }) => [all.group, all]));
}

/**
 * The nodes that these increases of one group await together: Azure's target size does not say whose node is missing. They were requested
 * when we last requested some. If we did not, they were requested when the first of them was seen.
 */
export function inFlightIn(group: NodeGroupId, records: Records): InFlightIncrease | undefined {
  const open = records.filter(({ coming }) => coming !== undefined);
  const first = open[0];
  const expectedByMs = open.at(-1)?.coming?.expectedByMs;
  if (first === undefined || expectedByMs === undefined) return undefined;
  const requestedAtMs = (open.findLast(({ by }) => by === 'us') ?? first).acceptedAtMs;
  return { group, nodes: awaitedNodes(open), requestedAtMs, expectedByMs };
}

/** The same increases while they await so many nodes, at most as many as before. Nodes come in the order of the increases. */
export function awaiting(records: Records, nodes: number): Records {
  let gone = awaitedNodes(records) - nodes;
  return records.map((record): AcceptedIncrease => {
    if (record.coming === undefined) return record;
    if (nodes <= 0) return { ...record, coming: undefined };
    // guard: a node that came is awaited no more
    const taken = Math.min(gone, record.coming.nodes);
    gone -= taken;
    return { ...record, coming: { ...record.coming, nodes: record.coming.nodes - taken } };
  });
}

function awaitedNodes(records: Records): number {
  return records.reduce((sum, { coming }) => sum + (coming?.nodes ?? 0), 0);
}

/** The increases with these of one group. */
export function withRecords(increases: Increases, group: NodeGroupId, records: Records): Increases {
  if (records.length === 0 && !increases.has(group)) return increases;
  const next = new Map(increases);
  if (records.length > 0) next.set(group, records);
  else next.delete(group);
  return next;
}

/** Increases that another writer made. */
export function increaseByOthers(
  nodes: number,
  { requestedAtMs, expectedByMs }: Pick<InFlightIncrease, 'requestedAtMs' | 'expectedByMs'>,
): AcceptedIncrease {
  return { ...NOTHING_KNOWN, nodes, acceptedAtMs: requestedAtMs, by: 'other', coming: { nodes, expectedByMs } };
}

/** An increase of our own whose nodes and pods are not waited for any more. */
export function endedIncrease(nodes: number, acceptedAtMs: number): AcceptedIncrease {
  return { ...NOTHING_KNOWN, nodes, acceptedAtMs, by: 'us', coming: undefined, isOver: true };
}

const NOTHING_KNOWN = {
  pods: [],
  planned: [],
  started: 0,
  incomplete: false,
  podsGoneSinceMs: undefined,
  joinedAtMs: undefined,
  readyAtMs: undefined,
  isOver: false,
  followed: undefined,
} as const;

/** Of our own, not over. */
export function ownIncreases({ increases }: Known, group: NodeGroupId): Records {
  return (increases.get(group) ?? []).filter(isOwn);
}

/** Groups without an increase of our own are absent. */
export function ownByGroup({ increases }: Known): Increases {
  const own = [...increases].map(([group, records]) => [group, records.filter(isOwn)] as const);
  return new Map(own.filter(([, records]) => records.length > 0));
}

export function isOwn({ by, isOver }: AcceptedIncrease): boolean {
  return by === 'us' && !isOver;
}

/** The increases that some view still needs. */
export function withoutForgotten(increases: Increases, nowMs: number): Increases {
  const isNeeded = (record: AcceptedIncrease): boolean =>
    record.coming !== undefined || record.followed !== undefined || isOwn(record) || isRecentRequest(record, nowMs);
  const left = [...increases].map(([group, records]) => [group, records.filter(isNeeded)] as const);
  return new Map(left.filter(([, records]) => records.length > 0));
}

/** An increase of the last hour that this process made. */
export interface FollowedIncrease extends FollowedInstances {
  readonly group: NodeGroupId;
  /** How many nodes were requested. */
  readonly nodes: number;
}

/** The oldest first. */
export function followedIncreases({ increases }: Known): readonly FollowedIncrease[] {
  const all = [...increases].flatMap(([group, records]) =>
    records.flatMap(({ nodes, followed }) => (followed === undefined ? [] : [{ group, nodes, ...followed }])),
  );
  return all.sort((left, right) => left.answeredAtMs - right.answeredAtMs);
}

/** The increases as if these groups awaited no node, and as if whatever nodes they have needed no explanation. */
export function withoutAwaited(increases: Increases, groups: Iterable<NodeGroupId>): Increases {
  return [...groups].reduce((next, group) => withRecords(next, group, [...awaiting(next.get(group) ?? [], 0), NO_INCREASE]), increases);
}

const NO_INCREASE: AcceptedIncrease = { ...NOTHING_KNOWN, nodes: 0, acceptedAtMs: 0, by: 'us', coming: undefined };
