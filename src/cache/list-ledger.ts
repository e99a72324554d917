import type { Stamp } from './logical-clock.ts';

interface ListRecord {
  readonly firstSeq: number;
  /** Start of the last complete, believed list. */
  readonly atMs: number | undefined;
  readonly doubted: boolean;
}

/** Which list of a table is meant: one agent's, of all its rows ('') or of one scope. */
export interface ListName {
  readonly agentId: string;
  readonly scope?: string;
}

/** What is remembered of the lists of a table: their order, their age, and whether the last one was doubted. */
export class ListLedger {
  readonly #lists = new Map<string, Map<string, ListRecord>>();
  #distrustSeq = 0;

  /** True when a list begun later was committed before. */
  isOld(name: ListName, first: Stamp): boolean {
    const record = this.#get(name);
    return record !== undefined && first.seq < record.firstSeq;
  }

  wasDoubted(name: ListName): boolean {
    return this.#get(name)?.doubted ?? false;
  }

  atMs(name: ListName): number | undefined {
    return this.#get(name)?.atMs;
  }

  /** `believed`: complete and not doubted; only such a list makes the rows fresh. */
  remember(name: ListName, first: Stamp, outcome: { readonly believed: boolean; readonly doubted: boolean }): void {
    const byScope = this.#lists.get(name.agentId) ?? new Map<string, ListRecord>();
    const scope = name.scope ?? '';
    const trusted = first.seq > this.#distrustSeq ? first.atMs : Number.NEGATIVE_INFINITY;
    const atMs = outcome.believed ? trusted : byScope.get(scope)?.atMs;
    this.#lists.set(name.agentId, byScope.set(scope, { firstSeq: first.seq, atMs, doubted: outcome.doubted }));
  }

  /** Lists begun before `seq` no longer count as fresh. */
  distrust(scope: string | undefined, seq: number): void {
    this.#distrustSeq = seq;
    for (const byScope of this.#lists.values()) {
      for (const [name, record] of byScope) {
        const covered = scope === undefined || name === '' || name === scope;
        if (covered && record.atMs !== undefined) byScope.set(name, { ...record, atMs: Number.NEGATIVE_INFINITY });
      }
    }
  }

  forgetAllBut(agentIds: ReadonlySet<string>): void {
    for (const agentId of this.#lists.keys()) if (!agentIds.has(agentId)) this.#lists.delete(agentId);
  }

  #get(name: ListName): ListRecord | undefined {
    return this.#lists.get(name.agentId)?.get(name.scope ?? '');
  }
}
