/**
 * Gangs while one plan is made: what one node's removal takes of the pods that a running gang can spare is not left for the next node. The rule
 * for one node alone is a drain rule.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { Pod } from '../../domain/pod.ts';
import type { Gang } from '../../domain/workloads.ts';
import type { RunningGangs } from './running-gangs.ts';

/** A gang that the removal of more nodes would take below its minimum. */
interface ShortGang {
  readonly gang: Gang;
  /** The first pod of the nodes that belongs to it. */
  readonly pod: Pod;
  /** Pods that other removals of the plan move. */
  readonly used: number;
  /** Pods that these removals would move. */
  readonly needed: number;
  readonly running: number;
}

/** Mutable, and dropped with the plan. */
export class GangLedger {
  readonly #gangs: RunningGangs | undefined;
  readonly #used = new Map<string, number>();

  /** `gangs` is undefined in a sequence of removals, where the pods of one run again before the next begins. */
  constructor(gangs: RunningGangs | undefined) {
    this.#gangs = gangs;
  }

  /** The first gang, by its pods, that cannot spare these pods of nodes that would be removed together. */
  shortGang(pods: readonly Pod[]): ShortGang | undefined {
    for (const { gang, own, pod, nodes } of this.#group(pods)) {
      const used = this.#used.get(gang.id) ?? 0;
      const running = this.#runningAt(gang, nodes);
      // guard: the removals of one plan together take no running gang below its minimum
      if (running >= gang.minCount && running - used - own < gang.minCount) return { gang, pod, used, needed: own, running };
    }
    return undefined;
  }

  countEvictions(pods: readonly Pod[]): void {
    for (const { gang, own } of this.#group(pods)) this.#used.set(gang.id, (this.#used.get(gang.id) ?? 0) + own);
  }

  /** On nodes that stay, and on these. */
  #runningAt(gang: Gang, nodes: ReadonlySet<NodeName>): number {
    const [first = ''] = nodes;
    const split = this.#gangs?.splitAt(gang, first);
    return (split?.here ?? 0) + (split?.elsewhere ?? 0);
  }

  /** A pod that its owner marks as safe to evict does not count, as for disruption budgets. */
  #group(
    pods: readonly Pod[],
  ): readonly { readonly gang: Gang; readonly pod: Pod; readonly own: number; readonly nodes: ReadonlySet<NodeName> }[] {
    const groups = new Map<string, { gang: Gang; pod: Pod; own: number; nodes: Set<NodeName> }>();
    for (const pod of pods) {
      const gang = pod.annotations.safeToEvict === 'true' ? undefined : this.#gangs?.gangOf(pod);
      if (gang === undefined || pod.nodeName === undefined) continue;
      const known = groups.get(gang.id) ?? { gang, pod, own: 0, nodes: new Set() };
      known.own += 1;
      known.nodes.add(pod.nodeName);
      groups.set(gang.id, known);
    }
    return [...groups.values()];
  }
}
