/**
 * What Azure's placement scores say of the sizes of Spot pools. A score is valid for a while after it was given; an older one does not count.
 * Sends no call.
 * Idea: evidence.
 */
import { PLACEMENT_SCORES, type PlacementScore } from '../../domain/node-group.ts';
import type { PlacementRow, SpotPlace } from './placement-scores.ts';

/** Two turns of the agent that reads them. */
const VALID_MS = 60 * 60_000;

/** A Spot pool. `zones`: numbers; empty: the pool is regional. */
export interface SpotPool {
  readonly vmSize: string;
  readonly zones: readonly string[];
}

export class PlacementScores {
  readonly #pools: () => readonly SpotPool[];
  #known = new Map<string, { readonly score: PlacementScore; readonly atMs: number }>();

  constructor(pools: () => readonly SpotPool[]) {
    this.#pools = pools;
  }

  /** The places that pools have. */
  places(): readonly SpotPlace[] {
    return this.#pools().map(({ vmSize, zones }) => ({ vmSize: vmSize.toLowerCase(), isZonal: zones.length > 0 }));
  }

  /** Takes one answer. A place without a score in it has none from now on. */
  keep(rows: readonly PlacementRow[], nowMs: number): void {
    for (const { vmSize, zone, score } of rows) {
      if (score === undefined) this.#known.delete(keyOf(vmSize, zone));
      else this.#known.set(keyOf(vmSize, zone), { score, atMs: nowMs });
    }
    for (const [key, { atMs }] of this.#known) if (!isValid(atMs, nowMs)) this.#known.delete(key);
  }

  /** Of several zones the best: Azure places new VMs in any of them. undefined: unknown, or no Spot pool. `poolOf` is asked if a score is known. */
  scoreOf(poolOf: () => SpotPool | undefined, nowMs: number): PlacementScore | undefined {
    const pool = this.#known.size === 0 ? undefined : poolOf();
    if (pool === undefined) return undefined;
    const { vmSize, zones } = pool;
    const places = zones.length === 0 ? [undefined] : zones;
    const scores = places.flatMap((zone) => {
      const known = this.#known.get(keyOf(vmSize, zone));
      // guard: an old placement score counts as none
      return known !== undefined && isValid(known.atMs, nowMs) ? [known.score] : [];
    });
    return PLACEMENT_SCORES.find((score) => scores.includes(score));
  }
}

function isValid(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) <= VALID_MS;
}

function keyOf(vmSize: string, zone: string | undefined): string {
  return `${vmSize.toLowerCase()}/${zone ?? ''}`;
}
