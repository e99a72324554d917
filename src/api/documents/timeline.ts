/** The last hours of each pool's size on one time axis: its steps, and every change with its cause and who made it. */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { CapacityChange, ChangeActor, SizeSample } from '../../domain/history.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { stepsAhead } from '../../planning/explain/schedule-text.ts';
import { familyName, sumOfSizes, zoneSiblings } from './zone-lanes.ts';
import { type CommonFields, commonFields, type DocumentInput, sum } from './document-input.ts';
import { isoTime } from '../../lib/duration.ts';

/** `try`: nothing changed, since it was refused or failed. */
type MarkKind = 'increase' | 'removal' | 'try' | 'other-writer' | 'eviction';

export interface TimelineMark {
  readonly at: string;
  readonly kind: MarkKind;
  readonly actor: ChangeActor;
  readonly actorName?: string;
  readonly from: number;
  readonly to: number;
  readonly cause: string;
  readonly decision?: string;
  /** In a lane of siblings: the pool that changed, and the sum of the siblings' targets after it. */
  readonly pool?: string;
  readonly level?: number;
}

interface TimelineSpan {
  readonly from: string;
  /** Absent if no end is known. */
  readonly to?: string;
  readonly kind: 'backing-off' | 'frozen';
  readonly cause: string;
}

export interface TimelineLane {
  /** Of siblings, the part of their names that is the same. */
  readonly pool: string;
  /** Pools that differ only by their zone: the numbers of the lane are their sums. Absent for a single pool. */
  readonly siblings?: readonly string[];
  readonly max: number;
  readonly ready: number;
  readonly target?: number;
  /** Milliseconds since the epoch, target and ready, oldest first: each holds until the next. */
  readonly steps: readonly (readonly [ms: number, target: number, ready: number])[];
  readonly marks: readonly TimelineMark[];
  readonly spans: readonly TimelineSpan[];
}

export interface Timeline extends CommonFields {
  readonly from: string;
  readonly to: string;
  /** Since when anything is known; later than `from` after a restart. */
  readonly knownSince: string;
  /** Pools that changed or tried to: failures and other writers first, then the newest change. */
  readonly lanes: readonly TimelineLane[];
  /** Further pools that changed. */
  readonly more: number;
  /** What schedules change in the next day, the earliest first. Absent if nothing. */
  readonly ahead?: readonly TimelineStep[];
  readonly otherWriters: number;
}

/** One time at which schedules change the same in some pools. */
export interface TimelineStep {
  readonly at: string;
  /** The time as clocks of the rule's zone show it. */
  readonly local: string;
  readonly pools: readonly string[];
  readonly text: string;
}

export interface TimelineQuery {
  readonly fromMs: number;
  /** If empty, the pools that changed. */
  readonly pools: readonly string[];
  /** Pixel columns of the drawing. */
  readonly columns?: number;
  readonly lanes?: number;
}

const COLUMNS = 700;
const MOST_LANES = 8;
const MOST_MARKS = 60;

export function timelineOf(input: DocumentInput, { fromMs, pools, columns = COLUMNS, lanes = MOST_LANES }: TimelineQuery): Timeline {
  const { report, history } = input;
  const { observation } = report;
  const toMs = observation.nowMs;
  const changes = Map.groupBy(history.changes({ fromMs }), ({ group }) => group);
  const chosen =
    pools.length > 0
      ? observation.cloud.groups.filter(({ id }) => pools.includes(id)).map((group) => [group])
      : families(changedPools(input, changes), observation.cloud.groups);
  const shown = pools.length > 0 ? chosen : chosen.slice(0, lanes);
  const columnMs = Math.max(1, (toMs - fromMs) / columns);
  return {
    ...commonFields(input),
    from: isoTime(fromMs),
    to: isoTime(toMs),
    knownSince: isoTime(history.sinceMs),
    lanes: shown.map((groups) =>
      laneOf(
        groups,
        groups.flatMap(({ id }) => changes.get(id) ?? []),
        input,
        { fromMs, columnMs },
      ),
    ),
    more: chosen.length - shown.length,
    ...defined({ ahead: stepsOfPools(input) }),
    otherWriters: [...changes.values()].flat().filter(({ actor }) => actor !== 'autoscaler').length,
  };
}

const AHEAD_MS = 24 * 3_600_000;
const MOST_STEPS = 20;

/** Pools with the same step share it: a rule may be about a hundred of them. */
function stepsOfPools({ report: { observation, state } }: DocumentInput): readonly TimelineStep[] | undefined {
  const steps = new Map<string, TimelineStep>();
  for (const group of observation.cloud.groups) {
    for (const { at, local, text } of stepsAhead(group, { observation, state }, AHEAD_MS).slice(1)) {
      const key = `${at} ${text}`;
      steps.set(key, { at, local, text, pools: [...(steps.get(key)?.pools ?? []), group.id] });
    }
  }
  const found = [...steps.values()].sort((left, right) => compareText(left.at, right.at) || compareText(left.text, right.text));
  return found.length === 0 ? undefined : found.slice(0, MOST_STEPS);
}

function changedPools({ report }: DocumentInput, changes: ReadonlyMap<string, readonly CapacityChange[]>): readonly NodeGroup[] {
  const rank = ({ id }: NodeGroup): number => {
    const own = changes.get(id) ?? [];
    if (own.some(({ outcome }) => outcome === 'failed' || outcome === 'refused')) return 0;
    return own.some(({ actor }) => actor !== 'autoscaler') ? 1 : 2;
  };
  const newest = ({ id }: NodeGroup): number => changes.get(id)?.[0]?.atMs ?? 0;
  return report.observation.cloud.groups
    .filter(({ id }) => changes.has(id))
    .toSorted((left, right) => rank(left) - rank(right) || newest(right) - newest(left) || compareText(left.id, right.id));
}

/** Each pool with its siblings in other zones, at the place of the first of them. */
function families(changed: readonly NodeGroup[], all: readonly NodeGroup[]): readonly (readonly NodeGroup[])[] {
  const siblings = zoneSiblings(all);
  return [...new Set(changed.map((group) => siblings.get(group.id) ?? [group]))];
}

interface LaneOptions {
  readonly fromMs: number;
  readonly columnMs: number;
}

function laneOf(
  groups: readonly NodeGroup[],
  changes: readonly CapacityChange[],
  input: DocumentInput,
  { fromMs, columnMs }: LaneOptions,
): TimelineLane {
  const [first] = groups;
  const isShared = groups.length > 1;
  const samples = sumOfSizes(groups.map(({ id }) => input.history.sizes(id, fromMs)));
  const targets = groups.map(({ target }) => (target.known ? target.value : undefined));
  const marks = changes
    .toSorted((left, right) => right.atMs - left.atMs)
    .slice(0, MOST_MARKS)
    .map((change) => ({ ...markOf(change), ...(isShared ? placeOf(change, samples) : {}) }));
  return {
    pool: (isShared && first !== undefined ? familyName(first) : first?.id) ?? '',
    max: sum(groups.map(({ maxSize }) => maxSize)),
    ready: samples.at(-1)?.ready ?? 0,
    steps: reduced(samples, columnMs).map(({ atMs, target, ready }) => [Math.max(atMs, fromMs), target, ready]),
    marks: marks.reverse(),
    spans: groups.flatMap((group) => spansOf(group, input)),
    ...defined({
      siblings: isShared ? groups.map(({ id }) => id) : undefined,
      target: targets.includes(undefined) ? undefined : sum(targets.map((target = 0) => target)),
    }),
  };
}

/** A sample may be taken after the change: the sum then has the new size. */
function placeOf({ group, atMs, from, to, outcome }: CapacityChange, samples: readonly SizeSample[]): Pick<TimelineMark, 'pool' | 'level'> {
  const before = samples.findLast((sample) => sample.atMs < atMs)?.target ?? samples[0]?.target;
  const change = outcome === 'failed' || outcome === 'refused' ? 0 : to - from;
  return { pool: group, ...defined({ level: before === undefined ? undefined : Math.max(0, before + change) }) };
}

function markOf({ atMs, actor, actorName, from, to, why, outcome, decision }: CapacityChange): TimelineMark {
  return {
    at: isoTime(atMs),
    kind: kindOf({ actor, outcome, from, to }),
    actor,
    from,
    to,
    cause: why,
    ...defined({ actorName, decision }),
  };
}

function kindOf({ actor, outcome, from, to }: Pick<CapacityChange, 'actor' | 'outcome' | 'from' | 'to'>): MarkKind {
  if (outcome === 'failed' || outcome === 'refused') return 'try';
  if (actor === 'eviction') return 'eviction';
  if (actor !== 'autoscaler') return 'other-writer';
  return to > from ? 'increase' : 'removal';
}

/** What holds now, as far as it reaches into the past. */
function spansOf(group: NodeGroup, { report: { state, observation } }: DocumentInput): readonly TimelineSpan[] {
  const backoff = state.backoffs.get(group.id);
  const held = state.heldGroups.get(group.id);
  const spans: TimelineSpan[] = [];
  if (backoff !== undefined && backoff.untilMs > observation.nowMs)
    spans.push({ from: isoTime(backoff.lastFailureMs), to: isoTime(backoff.untilMs), kind: 'backing-off', cause: backoff.cause });
  const { change } = group.blocks;
  if (change !== undefined && held !== undefined) spans.push({ from: isoTime(held.sinceMs), kind: 'frozen', cause: describeBlock(change) });
  return spans;
}

/** At most two samples per column: the first, and the last that differs. */
function reduced(samples: readonly SizeSample[], columnMs: number): readonly SizeSample[] {
  const kept: SizeSample[] = [];
  let column = Number.NaN;
  let inColumn = 0;
  for (const sample of samples) {
    const own = Math.floor(sample.atMs / columnMs);
    if (own !== column) {
      column = own;
      inColumn = 0;
    }
    inColumn += 1;
    if (inColumn > 2) kept.pop();
    kept.push(sample);
  }
  return kept;
}
