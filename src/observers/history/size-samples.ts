/** The size of each group over time. Only changes are kept. */
import type { HistorySink, SizeSample } from '../../domain/history.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import { factsOfGroups } from '../../planning/facts/group-facts.ts';
import { Recent, type RecentLimits } from './recent.ts';

export class SizeSamples {
  readonly #limits: RecentLimits;
  readonly #sink: HistorySink;
  readonly #groups = new Map<NodeGroupId, Recent<SizeSample>>();

  constructor(limits: RecentLimits, sink: HistorySink) {
    this.#limits = limits;
    this.#sink = sink;
  }

  restore(group: NodeGroupId, sample: SizeSample): void {
    this.#sample(group, sample);
  }

  observe(observation: Observation): void {
    const facts = factsOfGroups(observation);
    for (const { id, target } of observation.cloud.groups) {
      if (!target.known) continue;
      const sample = { atMs: observation.nowMs, target: target.value, ready: facts.get(id)?.ready ?? 0 };
      if (this.#sample(id, sample)) this.#sink({ kind: 'size', group: id, sample });
    }
    for (const [id, samples] of this.#groups) this.#dropOld(id, samples, observation.nowMs);
  }

  /** Returns whether it differs from the one before. */
  #sample(group: NodeGroupId, sample: SizeSample): boolean {
    const samples = this.#groups.get(group) ?? new Recent<SizeSample>(this.#limits);
    this.#groups.set(group, samples);
    const last = samples.all.at(-1);
    if (last?.target === sample.target && last.ready === sample.ready) return false;
    samples.push(sample);
    return true;
  }

  /** The last sample of a group says its present size, however old it is. */
  #dropOld(group: NodeGroupId, samples: Recent<SizeSample>, nowMs: number): void {
    const last = samples.all.at(-1);
    samples.dropOld(nowMs);
    if (samples.all.length === 0 && last !== undefined) samples.push(last);
    if (last === undefined) this.#groups.delete(group);
  }

  since(group: NodeGroupId, fromMs: number): readonly SizeSample[] {
    const all = this.#groups.get(group)?.all ?? [];
    const first = all.findLastIndex(({ atMs }) => atMs <= fromMs);
    return all.slice(Math.max(0, first));
  }
}
