/**
 * What frees the nodes of each kind of blocker, from loop to loop. The same blockers stay for hours: they are simulated once in a while, and
 * never for longer than a loop can spare. Must not know who asks.
 */
import type { LoopRecord } from '../../../domain/ports/records.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { RemovalFix } from '../advice/fix.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { rowKey, wasteRowsInSlices } from './waste.ts';

interface WasteMemory {
  /** As of `rowKey`. */
  readonly fixes: ReadonlyMap<string, RemovalFix>;
  /** The kinds of blockers that were simulated. */
  readonly kinds: string;
  readonly untilMs: number;
}

const KEEP_MS = 300_000;
/** Time for all simulations: about as long as a plan that is simulated at all. */
const MOST_MS = 100;
const MOST_TRIED = 24;

export class RememberedWaste {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #memory: WasteMemory | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * By kind of blocker, as of `rowKey`. `planMs`: how long the plan of removals took; each simulation takes about as long. If that is too
   * long for any, the result is empty.
   */
  *fixes(record: LoopRecord, names: ResourceNames, planMs: number): SlicedWork<ReadonlyMap<string, RemovalFix>> {
    const mostTried = Math.min(MOST_TRIED, Math.floor(MOST_MS / Math.max(1, planMs)));
    const kinds = kindsIn(record);
    const known = this.#memory;
    if (known !== undefined && known.kinds === kinds && known.untilMs > this.#clock.monotonic()) return known.fixes;
    const rows = mostTried === 0 ? [] : yield* wasteRowsInSlices(record, names, { mostTried });
    const fixes = new Map(rows.flatMap((row) => (row.fix === undefined ? [] : [[rowKey(row), row.fix] as const])));
    this.#memory = { fixes, kinds, untilMs: this.#clock.monotonic() + KEEP_MS };
    return fixes;
  }
}

/** Another node, or another blocker of one, may need another change. */
function kindsIn({ scaleDown }: LoopRecord): string {
  return (scaleDown?.kept ?? [])
    .map(({ node, reason, blocker }) => `${node} ${reason} ${blocker?.reason ?? ''} ${blocker?.pod ?? ''}`)
    .join('\n');
}
