/**
 * What happened lately, kept in memory for people: changes of capacity and who made them, sizes, scale-ups by stage, and decisions. Fed by
 * the report of each loop, bounded in age and number. Decides nothing. Must not know who reads it, or where decisions are made.
 */
import type {
  CapacityChange,
  ChangesQuery,
  DecisionsQuery,
  DurationSummary,
  HistoryEntry,
  HistoryReader,
  ScaleUpProgress,
  SizeSample,
  StageDurations,
  StoredDecision,
} from '../../domain/history.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopReport } from '../../domain/loop-report.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { CapacityChanges } from './capacity-changes.ts';
import { DecisionLog } from './decision-log.ts';
import { ScaleUpFollower } from './scale-up-follower.ts';
import { SizeSamples } from './size-samples.ts';

const DAY_MS = 24 * 3_600_000;
const CHANGES = { maxAgeMs: DAY_MS, maxCount: 2_000 };
const DECISIONS = { maxAgeMs: DAY_MS, maxCount: 500 };
const SCALE_UPS = { maxAgeMs: DAY_MS, maxCount: 200 };
/** Of each group. */
const SIZES = { maxAgeMs: DAY_MS, maxCount: 500 };

interface HistoryDeps {
  /** When the process started, milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly policy: () => Policy;
  /** The file with all inputs of a plan. undefined: none was written. */
  readonly dumpOf?: (plan: ScaleUpPlan | ScaleDownPlan) => string | undefined;
  /** Receives the new entries of each loop. If absent, nothing is written down. */
  readonly write?: ((entries: readonly HistoryEntry[]) => void) | undefined;
}

export class History implements HistoryReader {
  readonly #startedAtMs: number;
  readonly #write: HistoryDeps['write'];
  readonly #changes: CapacityChanges;
  readonly #sizes: SizeSamples;
  readonly #scaleUps: ScaleUpFollower;
  readonly #decisions: DecisionLog;
  /** New entries of the present loop. */
  #entries: HistoryEntry[];
  #sinceMs: number;

  constructor({ startedAtMs, policy, dumpOf = () => undefined, write }: HistoryDeps) {
    this.#startedAtMs = startedAtMs;
    this.#sinceMs = startedAtMs;
    this.#write = write;
    this.#entries = [{ kind: 'start', atMs: startedAtMs }];
    const sink = (entry: HistoryEntry): unknown => this.#entries.push(entry);
    this.#changes = new CapacityChanges(CHANGES, sink);
    this.#sizes = new SizeSamples(SIZES, sink);
    this.#scaleUps = new ScaleUpFollower(SCALE_UPS, sink);
    this.#decisions = new DecisionLog({ policy, dumpOf, sink }, DECISIONS);
  }

  /** Takes in what earlier processes wrote, as far as it is of the last day. Call it before the first loop. */
  restore(entries: readonly HistoryEntry[]): void {
    const fromMs = this.#startedAtMs - DAY_MS;
    const recent = entries.filter((entry) => timeOf(entry) >= fromMs && timeOf(entry) <= this.#startedAtMs);
    for (const entry of recent.toSorted((one, other) => timeOf(one) - timeOf(other))) this.#restoreOne(entry);
    // A process that started before the last day wrote a part of it.
    if (entries.some((entry) => timeOf(entry) < fromMs)) this.#sinceMs = fromMs;
  }

  #restoreOne(entry: HistoryEntry): void {
    this.#sinceMs = Math.min(this.#sinceMs, timeOf(entry));
    switch (entry.kind) {
      case 'start':
        return;
      case 'change':
        return this.#changes.restore(entry.change);
      case 'size':
        return this.#sizes.restore(entry.group, entry.sample);
      case 'stage':
        return this.#scaleUps.restoreStage(entry.group, entry.stage, entry.ms);
      case 'scale-up':
        return this.#scaleUps.restore(entry.progress);
      case 'decision':
        return this.#decisions.restore(entry.decision);
    }
  }

  /** Takes in what one loop saw and did. */
  observe(report: LoopReport): void {
    if (report.observation === undefined) return;
    const increases = this.#decisions.observe(report);
    this.#changes.observe(report, increases, this.#decisions.removals);
    this.#scaleUps.observe(report, increases);
    this.#sizes.observe(report.observation);
    const entries = this.#entries;
    this.#entries = [];
    if (entries.length > 0) this.#write?.(entries);
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  changes({ group, fromMs = 0 }: ChangesQuery): readonly CapacityChange[] {
    return this.#changes.all.filter((change) => change.atMs >= fromMs && (group === undefined || change.group === group)).reverse();
  }

  sizes(group: NodeGroupId, fromMs: number): readonly SizeSample[] {
    return this.#sizes.since(group, fromMs);
  }

  scaleUps(): readonly ScaleUpProgress[] {
    return this.#scaleUps.progress();
  }

  durations(group?: NodeGroupId): readonly StageDurations[] {
    return this.#scaleUps.durations(group);
  }

  timeToReady(group: NodeGroupId): DurationSummary | undefined {
    return this.#scaleUps.timeToReady(group);
  }

  decisions({ text = '', fromMs = 0, limit }: DecisionsQuery): readonly StoredDecision[] {
    const wanted = text.toLowerCase();
    const found = this.#decisions.all.filter((each) => each.atMs >= fromMs && (wanted === '' || searchText(each).includes(wanted)));
    return found.slice(-limit).reverse();
  }

  decision(id: string): StoredDecision | undefined {
    return this.#decisions.all.find((each) => each.id === id);
  }
}

function searchText({ id, sentence, groups, document }: StoredDecision): string {
  return `${id} ${sentence} ${groups.join(' ')} ${JSON.stringify(document)}`.toLowerCase();
}

function timeOf(entry: HistoryEntry): number {
  switch (entry.kind) {
    case 'start':
    case 'stage':
      return entry.atMs;
    case 'change':
      return entry.change.atMs;
    case 'size':
      return entry.sample.atMs;
    case 'scale-up':
      return entry.progress.endedMs ?? 0;
    case 'decision':
      return entry.decision.atMs;
  }
}
