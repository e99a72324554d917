/**
 * A fence covers one field group of one row. It stands from the begin of our first change until a read that began after
 * the end of the last one. Pure: the value that our changes lead to, and whether an observation may pass.
 */
import type { MutationState } from './mutation.ts';
import type { RejectReason, Removal, Via, FieldGroup } from './row.ts';

/** How long after a successful change a list may lag behind before it is believed, ms. */
const GRACE_MS = 120_000;
/** A successful change that was not read back within this time leaves the row unconfirmed, ms. */
const CONFIRM_WITHIN_MS = 30_000;

export type Effect =
  | { readonly kind: 'set'; readonly to: number }
  | { readonly kind: 'plus'; readonly count: number }
  | { readonly kind: 'minus'; readonly count: number }
  | { readonly kind: 'gone' };

/** One mutation as a fence sees it. Mutable, since its state changes. */
export interface Change {
  readonly seq: number;
  readonly effect: Effect;
  state: MutationState;
  acceptedSeq: number | undefined;
  settledAtMs: number | undefined;
  /** The number that Azure's own answer announced. It overrides the effect. */
  expect: number | undefined;
  /** Whether the accepted answer already showed the change, so that every later GET includes it. */
  modelled: boolean;
  /** Whether the base already includes it. */
  absorbed: boolean;
}

export interface Fence {
  readonly key: string;
  readonly raisedAtMs: number;
  /** Ordered by `seq`. */
  readonly changes: Change[];
  /** Entity tags from before our changes. A list that still has one of them is stale. */
  readonly oldEtags: Set<string>;
  /** Begin or end of the newest change. Reads that began earlier do not pass. */
  minSeq: number;
  graceUntilMs: number;
  expect: number | 'gone' | undefined;
  /** The number in a GET that began after all of our changes, only removals, had been accepted. */
  glimpse: { readonly seq: number; readonly amount: number } | undefined;
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/**
 * The number with our changes applied in order. Certain changes move both ends; failed and lost ones widen the range.
 * Never below 0.
 */
export function rangeOf(base: number, changes: readonly Change[]): Range {
  let low = base;
  let high = base;
  for (const change of changes) {
    // guard: our own writes are laid over what is read
    if (change.absorbed || change.state === 'refused') continue;
    const moved = { low: applied(change, low), high: applied(change, high) };
    const certain = change.state !== 'failed' && change.state !== 'unknown';
    low = certain ? moved.low : Math.min(low, moved.low);
    high = certain ? moved.high : Math.max(high, moved.high);
  }
  return { low, high };
}

/**
 * The least number that can exist. While our removals run, a GET may show less than they leave. Then another writer
 * removed instances, and Azure checks no condition on the next removal. A GET that shows more may only lag behind.
 */
export function lowest(fence: Fence, range: Range): number {
  const { glimpse } = fence;
  if (glimpse === undefined) return range.low;
  const later = fence.changes.filter(({ seq, state }) => seq > glimpse.seq && state !== 'refused');
  return Math.min(range.low, rangeOf(glimpse.amount, later).low);
}

/** Whether a GET that is not believed yet may set `glimpse`. During an increase it may not: the increase can show late. */
export function isGlimpse(fence: Fence, reading: Reading): boolean {
  const underWay = fence.changes.filter(isInFlight);
  const removed = underWay.every(({ effect, acceptedSeq = Infinity }) => effect.kind === 'minus' && acceptedSeq < reading.seq);
  return reading.via === 'get' && reading.seq >= fence.minSeq && underWay.length > 0 && removed;
}

function applied(change: Change, value: number): number {
  if (change.expect !== undefined) return change.expect;
  switch (change.effect.kind) {
    case 'set':
      return change.effect.to;
    case 'plus':
      return value + change.effect.count;
    case 'minus':
      return Math.max(0, value - change.effect.count);
    default:
      return value;
  }
}

export function inFlight(fence: Fence): number {
  return fence.changes.filter(isInFlight).length;
}

export function isInFlight(change: Change): boolean {
  return change.state === 'sent' || change.state === 'accepted';
}

/** What a read must show once all changes have ended. Undefined unless every change clearly succeeded. */
export function expectedNumber(base: number | undefined, changes: readonly Change[]): number | undefined {
  return base !== undefined && changes.every((change) => change.state === 'succeeded') ? rangeOf(base, changes).high : undefined;
}

export function expectedExistence(changes: readonly Change[]): 'gone' | undefined {
  return changes.every((change) => change.state === 'succeeded') ? 'gone' : undefined;
}

/**
 * False while a failed, refused or lost change awaits a read. Also false if a successful change was not read back in
 * time.
 */
export function isConfirmed(fence: Fence, nowMs: number): boolean {
  return fence.changes.every((change) => {
    if (isInFlight(change)) return true;
    // guard: a size is in doubt until a write of unknown effect is read back
    return change.state === 'succeeded' && nowMs - (change.settledAtMs ?? nowMs) <= CONFIRM_WITHIN_MS;
  });
}

/** What is known of a read when it is checked. */
export interface Reading {
  readonly seq: number;
  readonly via: Via;
  readonly etag: string | undefined;
  readonly nowMs: number;
}

/** `open`: believed, and the fence is removed. `absorb`: believed, and it includes the changes in flight. */
type NumberVerdict = 'open' | 'absorb' | RejectReason;

/**
 * Checks an observed number. A GET that began after the fence is believed even if it contradicts; a list is not, for a
 * while.
 */
export function checkNumber(
  fence: Fence,
  amount: number,
  row: { readonly base: number; readonly etag: string | undefined },
  reading: Reading,
): NumberVerdict {
  // guard: a read from before our write does not count
  if (reading.seq < fence.minSeq) return 'before-fence';
  // guard: while our change runs, a list does not count
  if (inFlight(fence) > 0) return canAbsorb(fence, amount, row.base, reading) ? 'absorb' : 'in-flight';
  if (reading.via !== 'list' || reading.nowMs >= fence.graceUntilMs) return 'open';
  const { etag } = reading;
  if (etag !== undefined && row.etag !== undefined && etag !== row.etag && fence.oldEtags.has(etag)) return 'stale-etag';
  // guard: a list that contradicts our success is not believed at once
  return fence.expect !== undefined && amount !== fence.expect ? 'contradicts-expectation' : 'open';
}

/**
 * An accepted operation may run for minutes while another writer changes the number too. Our next write then gets a
 * 412, which only a read can cure. A GET counts as that read if it began after every acceptance and has a tag from
 * after our changes. In addition, the answers must have said that the model shows our changes already, or the GET must
 * show exactly the expected number.
 */
function canAbsorb(fence: Fence, amount: number, base: number, reading: Reading): boolean {
  if (reading.via !== 'get' || reading.etag === undefined || fence.oldEtags.size === 0 || fence.oldEtags.has(reading.etag)) return false;
  const underWay = fence.changes.filter(isInFlight);
  if (!underWay.every((change) => change.acceptedSeq !== undefined && change.acceptedSeq < reading.seq)) return false;
  const { low, high } = rangeOf(base, fence.changes);
  return underWay.every((change) => change.modelled) || (low === high && amount === low);
}

/** `hold`: shown, but still as being deleted. */
type PresenceVerdict = 'open' | 'hold' | RejectReason;

/** Checks a read that shows the row. */
export function checkPresence(fence: Fence, reading: Reading): PresenceVerdict {
  // guard: a read from before our delete does not bring an instance back
  if (reading.seq < fence.minSeq) return 'before-fence';
  if (inFlight(fence) > 0) return 'in-flight';
  return fence.expect === 'gone' && reading.nowMs < fence.graceUntilMs ? 'hold' : 'open';
}

/** Whether a read that does not show the row is believed: a 404, or absence from a complete list. */
export function isAbsenceBelieved(fence: Fence | undefined, seq: number): boolean {
  // guard: a read from before the end of our change ends no row
  return fence === undefined || seq >= fence.minSeq;
}

/** What our changes mean for a reader of the row. A removal in flight outweighs a later change that failed. */
export function removalOf(fence: Fence): Removal {
  const newest = fence.changes.findLast(isInFlight) ?? fence.changes.findLast((change) => change.state !== 'refused');
  if (newest === undefined) return 'none';
  return newest.state === 'failed' || newest.state === 'unknown' ? 'unconfirmed' : 'under-way';
}

/** A fence as shown to operators. */
export interface FenceStatus {
  readonly key: string;
  readonly group: Exclude<FieldGroup, 'rest'>;
  readonly inFlight: number;
  readonly ageMs: number;
  readonly minSeq: number;
  readonly expect: number | 'gone' | undefined;
  readonly graceUntilMs: number;
}

/** The fences of one field group of a table. */
export class FenceBook {
  readonly #group: FenceStatus['group'];
  readonly #fences = new Map<string, Fence>();

  constructor(group: FenceStatus['group']) {
    this.#group = group;
  }

  get(key: string): Fence | undefined {
    return this.#fences.get(key);
  }

  all(): IterableIterator<Fence> {
    return this.#fences.values();
  }

  /** Raises a fence, or extends the existing one. */
  raise(key: string, change: Change, at: { readonly etag: string | undefined; readonly nowMs: number }): void {
    let fence = this.#fences.get(key);
    if (fence === undefined) {
      fence = {
        key,
        raisedAtMs: at.nowMs,
        changes: [],
        oldEtags: new Set(),
        minSeq: 0,
        graceUntilMs: 0,
        expect: undefined,
        glimpse: undefined,
      };
      this.#fences.set(key, fence);
    }
    fence.changes.push(change);
    fence.minSeq = Math.max(fence.minSeq, change.seq);
    if (at.etag !== undefined) fence.oldEtags.add(at.etag);
  }

  /** Records the end of a change: from now on only reads that began after `seq` pass. Undefined if the fence is gone. */
  settle(key: string, change: Change, seq: number, nowMs: number): Fence | undefined {
    const fence = this.#fences.get(key);
    if (fence === undefined || !fence.changes.includes(change)) return undefined;
    fence.minSeq = Math.max(fence.minSeq, seq);
    fence.graceUntilMs = nowMs + GRACE_MS;
    return fence;
  }

  /** Applies a believed read: ended changes are dropped. The fence stays while others are in flight. */
  open(key: string): void {
    const fence = this.#fences.get(key);
    if (fence !== undefined && inFlight(fence) === 0) this.#fences.delete(key);
  }

  /**
   * Applies a believed read that includes the changes in flight: ended changes are dropped, the others become part of
   * the base.
   */
  absorb(key: string): void {
    const fence = this.#fences.get(key);
    if (fence === undefined) return;
    const { changes } = fence;
    fence.glimpse = undefined;
    const underWay = changes.filter(isInFlight);
    changes.splice(0, changes.length, ...underWay);
    for (const change of underWay) change.absorbed = true;
  }

  drop(key: string): void {
    this.#fences.delete(key);
  }

  status(nowMs: number): readonly FenceStatus[] {
    return [...this.#fences.values()].map((fence) => ({
      key: fence.key,
      group: this.#group,
      inFlight: inFlight(fence),
      ageMs: nowMs - fence.raisedAtMs,
      minSeq: fence.minSeq,
      expect: fence.expect,
      graceUntilMs: fence.graceUntilMs,
    }));
  }
}
