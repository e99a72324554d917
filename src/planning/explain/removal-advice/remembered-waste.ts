/** What frees the nodes of each kind of blocker, from loop to loop, never simulated for longer than a loop can spare. */
import type { LoopRecord } from '../../../domain/ports/records.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { RemovalFix } from '../advice/fix.ts';
import type { SlicedWork } from '../../../lib/slices.ts';
import { Remembered } from '../advice/remembered.ts';
import { rowKey, wasteRowsInSlices } from './waste.ts';

type WasteFixes = ReadonlyMap<string, RemovalFix>;

/** Time for all simulations: about as long as a plan that is simulated at all. */
const MOST_MS = 100;
const MOST_TRIED = 24;

export class RememberedWaste {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By all blockers at once: one change may free nodes of several kinds. */
  readonly #memory = new Remembered<WasteFixes>({ keepMs: 300_000, remembered: 1 });

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * By kind of blocker, as of `rowKey`. `planMs`: how long the plan of removals took; each simulation takes about as long. If that is too
   * long for any, the result is empty.
   */
  *fixes(record: LoopRecord, names: ResourceNames, planMs: number): SlicedWork<WasteFixes> {
    const mostTried = Math.min(MOST_TRIED, Math.floor(MOST_MS / Math.max(1, planMs)));
    const key = kindsIn(record);
    const known = this.#memory.fresh(key, this.#clock.monotonic());
    if (known !== undefined) return known;
    const rows = mostTried === 0 ? [] : yield* wasteRowsInSlices(record, names, { mostTried });
    const fixes = new Map(rows.flatMap((row) => (row.fix === undefined ? [] : [[rowKey(row), row.fix] as const])));
    this.#memory.remember(key, fixes, this.#clock.monotonic());
    this.#memory.forget();
    return fixes;
  }
}

/** Another node, or another blocker of one, may need another change. */
function kindsIn({ scaleDown }: LoopRecord): string {
  return (scaleDown?.kept ?? [])
    .map(({ node, reason, blocker }) => `${node} ${reason} ${blocker?.reason ?? ''} ${blocker?.pod ?? ''}`)
    .join('\n');
}
