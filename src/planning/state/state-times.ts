/**
 * What each number in the memory of the loop means, and one walk over those that are times. A new number does not compile until it is listed.
 * Must not know why times change.
 * Idea: state.
 */
import type { LoopState, SavedMemory } from '../../domain/loop-state.ts';

/** The keys under which a value holds numbers, itself or in lists and maps, at any depth. */
type NumberKeys<Value, Key extends string = never> = Value extends string | boolean | undefined
  ? never
  : Value extends number
    ? Key
    : Value extends ReadonlyMap<unknown, infer Entry> | readonly (infer Entry)[]
      ? NumberKeys<Entry, Key>
      : { [Name in keyof Value & string]-?: NumberKeys<NonNullable<Value[Name]>, Name> }[keyof Value & string];

/** `past`: something that happened by then. `end`: until then something holds. Both in milliseconds since the epoch. */
type TimeKind = 'past' | 'end';
type NumberKind = TimeKind | 'duration' | 'amount';

/** A key means the same wherever it stands. */
const NUMBERS: Readonly<Record<NumberKeys<LoopState> | NumberKeys<SavedMemory>, NumberKind>> = {
  acceptedAtMs: 'past',
  // guard: if the wall clock is set, the times of requests move with it, too
  answeredAtMs: 'past',
  atMs: 'past',
  begunMs: 'past',
  createdAtMs: 'past',
  emptyRemovals: 'past',
  firstAskedAtMs: 'past',
  joinedAtMs: 'past',
  lastFailureMs: 'past',
  lastScaleDownFailureMs: 'past',
  lastScaleDownMs: 'past',
  lastScaleUpMs: 'past',
  nodeCameMs: 'past',
  podsGoneSinceMs: 'past',
  readyAtMs: 'past',
  removals: 'past',
  registeredAtMs: 'past',
  reportedAtMs: 'past',
  savedAtMs: 'past',
  scaleDownFailureMs: 'past',
  scaleDownMs: 'past',
  scaleUpMs: 'past',
  sentAtMs: 'past',
  sinceMs: 'past',
  stageSinceMs: 'past',
  startedAtMs: 'past',
  started: 'amount',
  unneededSince: 'past',
  unregisteredSince: 'past',
  expectedByMs: 'end',
  untilMs: 'end',
  durationMs: 'duration',
  readyTimes: 'duration',
  startTimes: 'duration',
  count: 'amount',
  cpuMillis: 'amount',
  disruption: 'amount',
  estimateFrom: 'amount',
  nodes: 'amount',
  offered: 'amount',
  perHour: 'amount',
  pods: 'amount',
  port: 'amount',
  promised: 'amount',
  score: 'amount',
  targets: 'amount',
  to: 'amount',
  uses: 'amount',
  vcpus: 'amount',
};
const KINDS: ReadonlyMap<string, NumberKind> = new Map(Object.entries(NUMBERS));

/** The value with each of its times replaced, at any depth. Other numbers stay. */
export function withTimes<Value>(value: Value, replace: (atMs: number, kind: TimeKind) => number): Value {
  return walk(value, '', replace) as Value;
}

function walk(part: unknown, key: string, replace: (atMs: number, kind: TimeKind) => number): unknown {
  if (typeof part === 'number') {
    const kind = KINDS.get(key);
    return kind === 'past' || kind === 'end' ? replace(part, kind) : part;
  }
  if (part instanceof Map) return new Map([...part].map(([name, entry]) => [name, walk(entry, key, replace)]));
  if (Array.isArray(part)) return part.map((entry) => walk(entry, key, replace));
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, walk(entry, name, replace)]));
}
