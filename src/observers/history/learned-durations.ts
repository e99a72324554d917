/** How long each stage of a scale-up took lately, by group. */
import { type DurationSummary, SCALE_UP_STAGES, type ScaleUpStage, type StageDurations } from '../../domain/history.ts';
import type { NodeGroupId } from '../../domain/ids.ts';

/** The last ones of each group and stage: newer sizes and images replace older ones. */
const MOST_SAMPLES = 100;

type Measured = ScaleUpStage | 'accepted-to-ready';

export class LearnedDurations {
  readonly #samples = new Map<NodeGroupId, Map<Measured, number[]>>();

  /** A short stage may be negative, since its ends come from different clocks. */
  add(group: NodeGroupId, what: Measured, ms: number): void {
    const ofGroup = this.#samples.get(group) ?? new Map<Measured, number[]>();
    this.#samples.set(group, ofGroup);
    ofGroup.set(what, [...(ofGroup.get(what) ?? []), Math.max(0, ms)].slice(-MOST_SAMPLES));
  }

  stages(group: NodeGroupId | undefined): readonly StageDurations[] {
    const groups = group === undefined ? [...this.#samples.keys()] : [group];
    return groups.flatMap((id) =>
      SCALE_UP_STAGES.flatMap((stage) => {
        const summary = this.#summaryOf(id, stage);
        return summary === undefined ? [] : [{ group: id, stage, ...summary }];
      }),
    );
  }

  timeToReady(group: NodeGroupId): DurationSummary | undefined {
    return this.#summaryOf(group, 'accepted-to-ready');
  }

  #summaryOf(group: NodeGroupId, what: Measured): DurationSummary | undefined {
    const samples = this.#samples.get(group)?.get(what);
    return samples === undefined ? undefined : summaryOf(samples);
  }
}

/** By nearest rank. */
function summaryOf(samples: readonly number[]): DurationSummary {
  const sorted = [...samples].sort((one, other) => one - other);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { count: sorted.length, p50Ms: rank(0.5), p90Ms: rank(0.9) };
}
