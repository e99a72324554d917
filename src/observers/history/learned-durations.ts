/** How long each stage of a scale-up took lately, by group. */
import { SCALE_UP_STAGES, type ScaleUpStage, type StageDurations, summarizeDurations } from '../../domain/history.ts';
import type { NodeGroupId } from '../../domain/ids.ts';

/** The last ones of each group and stage: newer sizes and images replace older ones. */
const MOST_SAMPLES = 100;

export class LearnedDurations {
  readonly #samples = new Map<NodeGroupId, Map<ScaleUpStage, number[]>>();

  /** A short stage may be negative, since its ends come from different clocks. */
  add(group: NodeGroupId, what: ScaleUpStage, ms: number): void {
    const ofGroup = this.#samples.get(group) ?? new Map<ScaleUpStage, number[]>();
    this.#samples.set(group, ofGroup);
    ofGroup.set(what, [...(ofGroup.get(what) ?? []), Math.max(0, ms)].slice(-MOST_SAMPLES));
  }

  stages(group: NodeGroupId | undefined): readonly StageDurations[] {
    const groups = group === undefined ? [...this.#samples.keys()] : [group];
    return groups.flatMap((id) =>
      SCALE_UP_STAGES.flatMap((stage) => {
        const summary = summarizeDurations(this.#samples.get(id)?.get(stage) ?? []);
        return summary === undefined ? [] : [{ group: id, stage, ...summary }];
      }),
    );
  }
}
