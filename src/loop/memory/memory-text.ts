/**
 * The memory of a process as text, and back. Sections are filled in order of importance up to the size limit, so the last ones
 * are dropped first: idle timers, then sentences for people, then the pods of increases. Reading refuses whatever this version did not write.
 */
import type { output, ZodError } from 'zod';
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Backoff, BudgetedRemoval, LoopState, SavedMemory, Stockout } from '../../domain/loop-state.ts';
import { isNothingRepacked, NOTHING_REPACKED, type RepackMemory } from '../../domain/repack.ts';
import { compareText } from '../../lib/comparison.ts';
import { requestedLastMinute } from '../../planning/state/increases/increase-rate.ts';
import type { InFlightIncrease } from '../../planning/state/increases/increase-records.ts';
import { fromStored, toStored, type StoredIncrease } from '../../planning/state/increases/stored-increases.ts';
import { withTimes } from '../../planning/state/state-times.ts';
import { totalBackoff, totalPromise, type StoredBackoff } from '../../planning/state/stored-state.ts';
import { shownText } from '../../lib/shown-text.ts';
import { LONGEST_MS, savedMemory, SUFFIX_LENGTH } from './memory-schema.ts';

const PROGRAM = 'aks-autoscaler';
const VERSION = 1;
/** A ConfigMap holds 1 MiB; every write sends all of it. */
const MOST_BYTES = 250_000;
/** For names, brackets and the parts of fixed size. */
const FRAME_BYTES = 2_000;
/** Azure's sentence, for people. */
const MESSAGE_BYTES = 500;
const CODE_BYTES = 200;

export interface MemoryText {
  readonly text: string;
  /** How many entries had no room, by section. Empty if all had. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** `savedAtMs` is the time of the observation that the state belongs to. */
export function writeMemory(state: LoopState, savedAtMs: number): MemoryText {
  const { take, dropped } = sections(MOST_BYTES - FRAME_BYTES);
  const { increases, accepted } = toStored(state);
  const body = {
    program: PROGRAM,
    version: VERSION,
    savedAtMs,
    lastScaleUpMs: state.lastScaleUpMs,
    lastScaleDownMs: state.lastScaleDownMs,
    lastScaleDownFailureMs: state.lastScaleDownFailureMs,
    stockouts: take('stockouts', state.stockouts.toSorted(byEnd).map(withShortCode)),
    backoffs: take('backoffs', [...state.backoffs].toSorted(([, left], [, right]) => byEnd(left, right)).map(withoutMessage)),
    // guard: in-flight increases survive a restart
    increases: take('increases', [...increases.values()]),
    broken: take('broken', [...state.broken]),
    brokenZones: take('brokenZones', [...state.brokenZones]),
    groupTimes: take('groupTimes', [...state.groupTimes]),
    targets: take('targets', [...state.targets]),
    asked: take('asked', [...requestedLastMinute(state, savedAtMs)]),
    accepted: take('accepted', [...accepted].map(savedIncreases)),
    readyTimes: take('readyTimes', [...state.readyTimes]),
    ...(state.startTimes.size === 0 ? {} : { startTimes: take('startTimes', [...state.startTimes]) }),
    // guard: what budgets of removals have counted survives a restart
    ...(state.budgetedRemovals.length === 0
      ? {}
      : { budgetedRemovals: take('budgetedRemovals', state.budgetedRemovals.map(savedRemoval)) }),
    ...(isNothingRepacked(state.repacks) ? {} : { repacks: savedRepacks(state.repacks, take) }),
    messages: take('messages', [...state.backoffs].flatMap(messageOf)),
    idle: take('idle', timersByPrefix(state.unneededSince, savedAtMs)),
  };
  return { text: JSON.stringify(body), dropped: dropped() };
}

/** What must be saved soon. The other parts are saved with it, or from time to time. Equal parts need no save. */
export type UrgentMemory = Pick<LoopState, 'backoffs' | 'stockouts' | 'broken' | 'brokenZones' | 'groupTimes'> & {
  readonly repacks: Omit<RepackMemory, 'search' | 'left' | 'rooms'> & { readonly rooms: readonly unknown[] };
  readonly increases: ReadonlyMap<NodeGroupId, InFlightIncrease>;
  readonly accepted: readonly SavedIncreases[];
};

export function urgentParts(state: LoopState): UrgentMemory {
  const { backoffs, stockouts, broken, brokenZones, groupTimes } = state;
  const { search: _search, left: _left, rooms, ...others } = state.repacks;
  // Why no room is made is said in each loop, and saved in none.
  const repacks = { ...others, rooms: savedRooms(rooms) };
  const { increases, accepted } = toStored(state);
  return { backoffs, stockouts, increases, accepted: [...accepted].map(savedIncreases), broken, brokenZones, groupTimes, repacks };
}

/** A repack that is not stored would leave its new nodes idle, and its old ones as they were. */
function savedRepacks({ running, closures, begunMs, moved, replaced, rooms }: RepackMemory, take: Sections['take']) {
  const closed = savedRooms(rooms);
  return {
    // guard: repacks under way survive a restart
    running: take('repacks', running),
    closures: take('repackClosures', [...closures]),
    begunMs: take('repackStarts', begunMs),
    // guard: after a restart no pod is moved a second time
    ...(moved.length === 0 ? {} : { moved: take('movedPods', moved.toReversed()) }),
    // guard: after a restart no room is made on a node a second time
    ...(closed.length === 0 ? {} : { rooms: take('rooms', closed) }),
    ...(replaced.size === 0 ? {} : { replaced: take('replacedSickNodes', [...replaced]) }),
  };
}

function savedRooms(rooms: RepackMemory['rooms']) {
  return [...rooms].flatMap(([node, { closure, added }]) => (closure === undefined ? [] : [[node, { ...closure, added }] as const]));
}

/** Causes that each version reads. */
const FIRST_CAUSES: ReadonlySet<string | undefined> = new Set(['empty', 'underutilized', 'unready', undefined]);

function savedRemoval({ cause, ...removal }: BudgetedRemoval) {
  return FIRST_CAUSES.has(cause) ? { ...removal, cause } : { ...removal, why: cause };
}

type SavedIncreases = readonly [NodeGroupId, readonly StoredIncrease[]];

/** Pods are found again by their class, those that exist only in plans are not. A member without news is left out. */
function savedIncreases([id, increases]: SavedIncreases): SavedIncreases {
  return [
    id,
    increases.map(({ planned: _planned, ...increase }) => ({
      ...increase,
      incomplete: increase.incomplete ? true : undefined,
      started: increase.started === 0 ? undefined : increase.started,
      // guard: the pods of in-flight increases survive a restart, by their class
      pods: increase.pods.map(({ uids: _uids, firstAskedAtMs, ...pods }) =>
        firstAskedAtMs === increase.acceptedAtMs ? pods : { ...pods, firstAskedAtMs },
      ),
    })),
  ];
}

interface Sections {
  /** The first of the entries, as many as fit. */
  readonly take: <Entry>(name: string, entries: readonly Entry[]) => readonly Entry[];
  readonly dropped: () => Readonly<Record<string, number>>;
}

function sections(mostBytes: number): Sections {
  let left = mostBytes;
  const dropped: Record<string, number> = {};
  const take = <Entry>(name: string, entries: readonly Entry[]): readonly Entry[] => {
    const end = entries.findIndex((entry) => {
      const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1;
      // guard: a saved memory has a limited size, and loses what matters least first
      const isTooLarge = bytes > left;
      if (!isTooLarge) left -= bytes;
      return isTooLarge;
    });
    if (end < 0) return entries;
    dropped[name] = entries.length - end;
    return entries.slice(0, end);
  };
  return { take, dropped: () => dropped };
}

/** The last end first. */
function byEnd(left: { readonly untilMs: number }, right: { readonly untilMs: number }): number {
  return right.untilMs - left.untilMs;
}

function withShortCode(lack: Stockout): Stockout {
  return { ...lack, code: shownText(lack.code, CODE_BYTES) };
}

function withoutMessage([id, { message: _apart, ...rest }]: readonly [NodeGroupId, Backoff]): readonly [NodeGroupId, StoredBackoff] {
  return [id, { ...rest, cause: shownText(rest.cause, CODE_BYTES), refused: rest.refused ? true : undefined }];
}

function messageOf([id, { message }]: readonly [NodeGroupId, Backoff]): readonly (readonly [NodeGroupId, string])[] {
  // guard: a saved memory holds no credential
  return message === undefined ? [] : [[id, shownText(message, MESSAGE_BYTES)]];
}

/** Entries of limited size, so that a part of them fits. */
const MOST_PER_ENTRY = 100;

type IdleEntry = readonly [prefix: string, nodes: readonly (readonly [suffix: string, idleMs: number])[]];

/** The longest timers first. */
function timersByPrefix(unneededSince: LoopState['unneededSince'], savedAtMs: number): readonly IdleEntry[] {
  const entries: (readonly [string, (readonly [string, number])[]])[] = [];
  const open = new Map<string, (readonly [string, number])[]>();
  for (const [name, sinceMs] of [...unneededSince].toSorted(([a, left], [b, right]) => left - right || compareText(a, b))) {
    const prefix = name.slice(0, -SUFFIX_LENGTH);
    let nodes = open.get(prefix);
    if (nodes === undefined || nodes.length >= MOST_PER_ENTRY) entries.push([prefix, (nodes = [])]);
    nodes.push([name.slice(prefix.length), savedAtMs - sinceMs]);
    open.set(prefix, nodes);
  }
  return entries;
}

type ReadMemory =
  | { readonly ok: true; readonly memory: SavedMemory }
  /** Why the text is not used, as a sentence. */
  | { readonly ok: false; readonly reason: string };

/** Never throws. */
export function readMemory(text: string): ReadMemory {
  // guard: a huge memory is not read
  if (Buffer.byteLength(text) > MOST_BYTES) return refused(`it has ${Buffer.byteLength(text)} bytes; at most ${MOST_BYTES} are read`);
  const parsed = parseJson(text);
  if (typeof parsed !== 'object' || parsed === null) return refused('it is not a JSON object');
  if (!('program' in parsed) || parsed.program !== PROGRAM) return refused(`it was not written by ${PROGRAM}`);
  if (!('version' in parsed) || parsed.version !== VERSION) return refused(`its version is not ${VERSION}`);
  const checked = savedMemory.safeParse(parsed);
  if (!checked.success) return refused(`its ${pathOf(checked.error)} is not valid`);
  return withinBounds(restored(checked.data));
}

/** Nothing happened after the save. What seems to end long after it was not written by this program. */
function withinBounds(memory: SavedMemory): ReadMemory {
  const { savedAtMs } = memory;
  let isLate = false;
  const bounded = withTimes(memory, (atMs, kind) => {
    // guard: no event of a saved memory lies after the save
    if (kind === 'past') return Math.min(atMs, savedAtMs);
    // guard: a saved memory with a time far in the future is not used
    isLate ||= atMs > savedAtMs + LONGEST_MS;
    return atMs;
  });
  return isLate ? refused('it holds a time that lies too far in the future') : { ok: true, memory: bounded };
}

function refused(reason: string): ReadMemory {
  return { ok: false, reason };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The place only: values may be anything. */
function pathOf({ issues }: ZodError): string {
  return issues[0]?.path.slice(0, 3).join('.') ?? 'content';
}

function restored({ messages, idle, asked, ...saved }: output<typeof savedMemory>): SavedMemory {
  const said = new Map(messages);
  const {
    backoffs,
    increases,
    accepted,
    broken,
    brokenZones = [],
    groupTimes,
    targets,
    readyTimes = [],
    startTimes = [],
    ...others
  } = saved;
  const { budgetedRemovals = [], repacks, ...rest } = others;
  return {
    ...rest,
    backoffs: new Map(backoffs.map(([id, entry]) => [id, totalBackoff({ ...entry, message: said.get(id) })])),
    increases: fromStored(
      { increases: new Map(increases.map((increase) => [increase.group, increase])), accepted: new Map(accepted), asked: new Map(asked) },
      rest.savedAtMs,
    ),
    knowsAccepted: true,
    broken: new Map(broken.map(([id, promise]) => [id, totalPromise(promise)])),
    brokenZones: new Map(brokenZones.map(([id, promise]) => [id, totalPromise(promise)])),
    groupTimes: new Map(groupTimes),
    readyTimes: new Map(readyTimes),
    startTimes: new Map(startTimes),
    budgetedRemovals: budgetedRemovals.map(({ cause, why, ...removal }) => ({ ...removal, cause: cause ?? why })),
    targets: new Map(targets),
    repacks: repacks === undefined ? NOTHING_REPACKED : restoredRepacks(repacks),
    unneededSince: new Map(idle.flatMap((entry) => timersOf(entry, rest.savedAtMs))),
  };
}

function restoredRepacks({
  running,
  closures,
  begunMs,
  moved = [],
  replaced = [],
  rooms = [],
}: NonNullable<output<typeof savedMemory>['repacks']>): RepackMemory {
  const whole = running.map(({ set, ...repack }) => {
    const { remove, add, saved, ...numbers } = set;
    const nodes = remove.map(({ condition, ...one }) => ({ ...one, condition }));
    return { ...repack, set: { ...numbers, remove: nodes, add, saved: { ...saved, perHour: saved.perHour } } };
  });
  return {
    ...NOTHING_REPACKED,
    running: whole,
    closures: new Map(closures),
    begunMs,
    moved: moved.toReversed(),
    rooms: new Map(rooms.map(([node, { added, ...closure }]) => [node, { closure, added, failed: undefined, why: undefined }])),
    replaced: new Map(replaced.map(([id, { sinceMs, image, again, closure }]) => [id, { sinceMs, image, again, closure }])),
  };
}

function timersOf([prefix, nodes]: IdleEntry, savedAtMs: number): readonly (readonly [NodeName, number])[] {
  return nodes.map(([suffix, idleMs]) => [prefix + suffix, savedAtMs - idleMs]);
}
