/**
 * What this cluster and the others of its subscription report to each other about Azure's limits. A stockout that another cluster met makes
 * our groups of that size the last resort: pods that another group can take go there, until this cluster gets the right to try, which one
 * cluster of the region gets a minute. Throttling that another cluster met delays our reads by a minute at most. Must not know how hints
 * travel.
 */
import type { ChoiceBlock } from '../../domain/group-blocks.ts';
import { LOW_FRACTION } from '../arm/rate-limits.ts';
import { StockoutTurns } from './stockout-turns.ts';
import type { Hint, HintCount, SharedHints } from '../../domain/ports/shared-hints.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import { zonePart } from '../../domain/node-template.ts';
import { defined } from '../../lib/defined.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';

const MINUTE = 60_000;
/** Longer than the time until one cluster tries again, so that the others do not all try when it ends: stockouts are tried in turn. */
const STOCKOUT_MS = 2.5 * MINUTE;
const LONGEST_STOCKOUT_MS = 9 * MINUTE;
/** Others delay our reads of a family by this much at most, and again only after the time in which our own answers decide. */
const LONGEST_HOLD_MS = MINUTE;
const HOLD_AGAIN_MS = 5 * MINUTE;
/** A count is old after this, and is reported again after the other. */
const COUNT_MS = MINUTE;
/** Few calls left: a read waits at least this long after the report. */
const LOW_HOLD_MS = 10_000;
const REPORT_COUNT_MS = 15_000;
const ANY_ZONE = '*';

interface Size {
  readonly vmSize: string;
  readonly priority: 'Regular' | 'Spot';
  /** As Azure or Kubernetes names them; empty: the group is not zonal. */
  readonly zones: readonly string[];
}

interface SubscriptionHintsDeps {
  /** undefined: nothing is shared. */
  readonly hints: SharedHints | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** Delays reads of a family until then, ms since the epoch. */
  readonly holdReads: (family: string, untilMs: number) => void;
  /** From 0 to 1, different between clusters: clusters that waited for the same thing do not go on in the same moment. */
  readonly phase: (family: string) => number;
}

export class SubscriptionHints {
  readonly #deps: SubscriptionHintsDeps;

  /** When the others began to delay our reads of a family. */
  readonly #heldSinceMs = new Map<string, number>();
  /** Instances whose failure was reported. */
  #failed: ReadonlySet<string> = new Set();
  /** What Azure last reported to us about a family. */
  readonly #counts = new Map<string, OwnCount>();
  readonly #turns: StockoutTurns | undefined;

  constructor(deps: SubscriptionHintsDeps) {
    this.#deps = deps;
    if (deps.hints !== undefined) this.#turns = new StockoutTurns({ hints: deps.hints, clock: deps.clock });
    deps.hints?.onLook(() => this.#holdReads());
  }

  /** Azure refused our own reads of a family. */
  noteThrottled(family: string, untilMs: number): void {
    this.#deps.hints?.report('throttled', family, untilMs);
  }

  /** Azure reported how many calls of a family all clusters of the subscription have left. */
  noteRemaining(family: string, count: HintCount): void {
    const nowMs = this.#deps.clock.now();
    const known = this.#counts.get(family);
    const isNews = known === undefined || nowMs - known.reportedMs >= REPORT_COUNT_MS || isLow(count) !== isLow(known.count);
    this.#counts.set(family, { count, atMs: nowMs, reportedMs: isNews ? nowMs : known.reportedMs });
    if (isNews) this.#deps.hints?.report('remaining', family, nowMs + COUNT_MS, count);
  }

  /** An increase of ours failed. Only a size that is sold out is reported: other refusals are about this cluster. */
  noteFailure({ detail }: Pick<AutoscalerError, 'detail'>): void {
    if (detail.kind !== 'out-of-capacity' || detail.lack !== undefined) return;
    const { vmSize, zone, priority = 'Regular' } = detail.scope;
    if (vmSize === undefined) return;
    const { hints, clock } = this.#deps;
    const others = hints?.reported('stockout').length ?? 0;
    hints?.report('stockout', keyOf(vmSize, priority, zone), clock.now() + Math.min(LONGEST_STOCKOUT_MS, STOCKOUT_MS + others * MINUTE));
  }

  /** Azure filled an increase of ours: what others reported of that size is over, if it is clear where the nodes are. */
  noteSuccess({ vmSize, priority, zones }: Size): void {
    const { hints, clock } = this.#deps;
    const [zone, ...more] = zones;
    if (more.length > 0) return;
    const disproved = new Set([keyOf(vmSize, priority, zone), keyOf(vmSize, priority, undefined)]);
    for (const { key } of hints?.reported('stockout') ?? []) if (disproved.has(key)) hints?.report('stockout', key, clock.now());
  }

  /** Instances of increases that go on report a lack of capacity minutes before Azure ends the operation. */
  noteFailedInstances(groups: readonly Pick<NodeGroup, 'instances' | 'vmSize' | 'priority'>[]): void {
    const failed = new Set<string>();
    for (const { instances = [], vmSize, priority } of groups)
      for (const { key, state, error, zone } of instances) {
        if (state !== 'failed' || error?.detail.kind !== 'out-of-capacity') continue;
        failed.add(key);
        const scope = { vmSize, priority, ...defined({ zone }), ...error.detail.scope };
        if (!this.#failed.has(key)) this.noteFailure({ detail: { ...error.detail, scope } });
      }
    this.#failed = failed;
  }

  /** Why a group of this size is the last resort now. `hasDemand`: pods are waiting, so that the right to try is of use here. */
  lastResortReason(size: Size, hasDemand: boolean): ChoiceBlock | undefined {
    const { hints } = this.#deps;
    if (hints === undefined || this.#turns === undefined) return undefined;
    const lacks = hints.reported('stockout');
    const zones = size.zones.length === 0 ? [ANY_ZONE] : size.zones;
    const closed = zones.map((zone) => lacks.find((hint) => covers(hint, size, zone)));
    const [first] = closed;
    if (first === undefined || closed.includes(undefined)) return undefined;
    const keys = [...new Set(closed.flatMap((hint) => (hint === undefined ? [] : [hint.key])))];
    if (this.#turns.mayTry(keys)) return undefined;
    if (hasDemand) this.#turns.want(first.key);
    return { code: 'stockout-elsewhere', vmSize: size.vmSize, atMs: first.atMs };
  }

  #holdReads(): void {
    const { hints } = this.#deps;
    for (const { key, untilMs } of hints?.reported('throttled') ?? []) this.#hold(key, untilMs);
    for (const hint of hints?.reported('remaining') ?? []) if (this.#tellsLow(hint)) this.#hold(hint.key, hint.atMs + LOW_HOLD_MS);
  }

  /** What Azure reported to us since then is newer. */
  #tellsLow({ key, atMs, count }: Hint): boolean {
    // guard: what Azure reports to us counts more than an older report of another cluster
    return count !== undefined && isLow(count) && (this.#counts.get(key)?.atMs ?? 0) < atMs;
  }

  /** A program that reports for ever delays our reads for a minute in five. */
  #hold(family: string, untilMs: number): void {
    const nowMs = this.#deps.clock.now();
    const before = this.#heldSinceMs.get(family);
    // guard: a program that reports for ever delays our reads for a minute in five
    const sinceMs = before !== undefined && nowMs - before < HOLD_AGAIN_MS ? before : nowMs;
    const lastMs = sinceMs + LONGEST_HOLD_MS;
    // guard: a pause that another cluster met delays our reads by a minute at most
    const soonestMs = Math.min(untilMs, lastMs);
    if (soonestMs <= nowMs) return;
    this.#heldSinceMs.set(family, sinceMs);
    // guard: clusters that waited for the same limit do not go on in the same moment
    this.#deps.holdReads(family, soonestMs + this.#deps.phase(family) * (lastMs - soonestMs));
  }
}

interface OwnCount {
  readonly count: HintCount;
  readonly atMs: number;
  readonly reportedMs: number;
}

function isLow({ left, of }: HintCount): boolean {
  return left < of * LOW_FRACTION;
}

function keyOf(vmSize: string, priority: string, zone: string | undefined): string {
  return [vmSize, priority, zone === undefined ? ANY_ZONE : zonePart(zone)].join('/').toLowerCase();
}

function covers({ key }: Hint, { vmSize, priority }: Size, zone: string): boolean {
  return key === keyOf(vmSize, priority, undefined) || (zone !== ANY_ZONE && key === keyOf(vmSize, priority, zone));
}
