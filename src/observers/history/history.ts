/**
 * What happened lately, kept in memory for people: changes of capacity and who made them, sizes, scale-ups by stage, and decisions. Fed by
 * the report of each loop, bounded in age and number. Decides nothing. Must not know who reads it, or where decisions are made.
 */
import type {
  CapacityChange,
  ChangesQuery,
  DecisionsQuery,
  DurationSummary,
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
}

export class History implements HistoryReader {
  readonly #startedAtMs: number;
  readonly #changes = new CapacityChanges(CHANGES);
  readonly #sizes = new SizeSamples(SIZES);
  readonly #scaleUps = new ScaleUpFollower(SCALE_UPS);
  readonly #decisions: DecisionLog;

  constructor({ startedAtMs, policy, dumpOf = () => undefined }: HistoryDeps) {
    this.#startedAtMs = startedAtMs;
    this.#decisions = new DecisionLog({ policy, dumpOf }, DECISIONS);
  }

  /** Takes in what one loop saw and did. */
  observe(report: LoopReport): void {
    if (report.observation === undefined) return;
    const increases = this.#decisions.observe(report);
    this.#changes.observe(report, increases, this.#decisions.removals);
    this.#scaleUps.observe(report, increases);
    this.#sizes.observe(report.observation);
  }

  get sinceMs(): number {
    return this.#startedAtMs;
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
