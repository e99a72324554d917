/**
 * What this cluster and the others of its subscription report to each other about Azure's limits. A stockout that another cluster met keeps our
 * groups from growing until this cluster gets the right to try, which one cluster a minute gets. Throttling that another cluster met
 * delays our reads by a minute at most. Must not know how hints travel.
 */
import type { Hint, SharedHints } from '../../domain/ports/shared-hints.ts';
import { zonePart } from '../../domain/node-template.ts';
import type { AutoscalerError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';

const MINUTE = 60_000;
/** Longer than the time until one cluster tries again, so that the others do not all try when it ends. */
const STOCKOUT_MS = 2.5 * MINUTE;
/** A hold that another cluster reported counts for at most this long. */
const LONGEST_HOLD_MS = MINUTE;
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
}

export class SubscriptionHints {
  readonly #deps: SubscriptionHintsDeps;

  constructor(deps: SubscriptionHintsDeps) {
    this.#deps = deps;
    deps.hints?.onLook(() => this.#holdReads());
  }

  /** Azure refused our own reads of a family. */
  noteThrottled(family: string, untilMs: number): void {
    this.#deps.hints?.report('throttled', family, untilMs);
  }

  /** An increase of ours failed. Only a size that is sold out is reported: other refusals are about this cluster. */
  noteFailure({ detail }: Pick<AutoscalerError, 'detail'>): void {
    if (detail.kind !== 'out-of-capacity' || detail.lack !== undefined) return;
    const { vmSize, zone, priority = 'Regular' } = detail.scope;
    if (vmSize === undefined) return;
    this.#deps.hints?.report('stockout', keyOf(vmSize, priority, zone), this.#deps.clock.now() + STOCKOUT_MS);
  }

  /** Why a group of this size must not grow now. `hasDemand`: pods are waiting, so that the right to try is of use here. */
  reasonAgainst(size: Size, hasDemand: boolean): string | undefined {
    const { hints } = this.#deps;
    if (hints === undefined) return undefined;
    const lacks = hints.reported('stockout');
    const zones = size.zones.length === 0 ? [ANY_ZONE] : size.zones;
    const closed = zones.map((zone) => lacks.find((hint) => covers(hint, size, zone)));
    const [first] = closed;
    if (first === undefined || closed.includes(undefined)) return undefined;
    const keys = [...new Set(closed.flatMap((hint) => (hint === undefined ? [] : [hint.key])))];
    if (keys.some((key) => hints.mayTry(key))) return undefined;
    if (hasDemand) hints.requestTry(first.key);
    const at = new Date(first.atMs).toISOString().slice(11, 19);
    return `another cluster of the subscription got no ${size.vmSize} at ${at} UTC; one cluster a minute tries again`;
  }

  #holdReads(): void {
    for (const { key, atMs, untilMs } of this.#deps.hints?.reported('throttled') ?? [])
      this.#deps.holdReads(key, Math.min(untilMs, atMs + LONGEST_HOLD_MS));
  }
}

function keyOf(vmSize: string, priority: string, zone: string | undefined): string {
  return [vmSize, priority, zone === undefined ? ANY_ZONE : zonePart(zone)].join('/').toLowerCase();
}

function covers({ key }: Hint, { vmSize, priority }: Size, zone: string): boolean {
  return key === keyOf(vmSize, priority, undefined) || (zone !== ANY_ZONE && key === keyOf(vmSize, priority, zone));
}
