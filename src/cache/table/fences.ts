/**
 * A fence stands over one field group of one row from the begin of our first change until a read that began after the last
 * of them ended. Pure judgements: what our changes make of a number, and whether an observation may pass.
 */
import type { MutationState } from './mutation.ts';
import type { RejectReason, Removal, Via, FieldGroup } from './row.ts';

/** How long after success a list may lag behind before it is believed. */
export const GRACE_MS = 120_000;
/** A change that succeeded and was not read back for this long leaves the row unconfirmed. */
export const CONFIRM_WITHIN_MS = 30_000;

export type Effect =
  | { readonly kind: 'set'; readonly to: number }
  | { readonly kind: 'minus'; readonly count: number }
  | { readonly kind: 'gone' }
  | { readonly kind: 'present' };

/** One mutation as a fence remembers it. Mutable: its state moves on. */
export interface Change {
  readonly seq: number;
  readonly effect: Effect;
  state: MutationState;
  acceptedSeq: number | undefined;
  settledAtMs: number | undefined;
  /** The number that Azure's own answer announced; overrules the effect. */
  expect: number | undefined;
  /** The accepted answer already showed the change, so that every later GET has it. */
  modelled: boolean;
  /** The base already contains it. */
  absorbed: boolean;
}

export interface Fence {
  readonly key: string;
  readonly raisedAtMs: number;
  /** In order of `seq`. */
  readonly changes: Change[];
  /** Entity tags from before our changes; a list that still carries one is stale. */
  readonly oldEtags: Set<string>;
  /** Begin or settle of the newest change; reads begun before it do not pass. */
  minSeq: number;
  graceUntilMs: number;
  expect: number | 'gone' | 'present' | undefined;
  /** What a GET showed while nothing but removals of ours ran, all of them accepted before it began. */
  glimpse: { readonly seq: number; readonly amount: number } | undefined;
}

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** The number with our changes applied in order. Certain changes move both ends, failed and lost ones widen. Never below 0. */
export function rangeOf(base: number, changes: readonly Change[]): Range {
  let low = base;
  let high = base;
  for (const change of changes) {
    if (change.absorbed || change.state === 'refused') continue;
    const moved = { low: applied(change, low), high: applied(change, high) };
    const certain = change.state !== 'failed' && change.state !== 'unknown';
    low = certain ? moved.low : Math.min(low, moved.low);
    high = certain ? moved.high : Math.max(high, moved.high);
  }
  return { low, high };
}

/**
 * The number that at least is there. While removals of ours run, a GET that shows less than they leave tells what somebody else
 * took meanwhile, and Azure checks no condition on the next removal; one that shows more may only lag behind them.
 */
export function lowest(fence: Fence, range: Range): number {
  const { glimpse } = fence;
  if (glimpse === undefined) return range.low;
  const later = fence.changes.filter(({ seq, state }) => seq > glimpse.seq && state !== 'refused');
  return Math.min(range.low, rangeOf(glimpse.amount, later).low);
}

/** Whether a GET that is not believed yet can be a glimpse. A raise under way may show late, and says nothing. */
export function isGlimpse(fence: Fence, reading: Reading): boolean {
  const underWay = fence.changes.filter(isInFlight);
  const removed = underWay.every(({ effect, acceptedSeq = Infinity }) => effect.kind === 'minus' && acceptedSeq < reading.seq);
  return reading.via === 'get' && reading.seq >= fence.minSeq && underWay.length > 0 && removed;
}

function applied(change: Change, value: number): number {
  if (change.expect !== undefined) return change.expect;
  if (change.effect.kind === 'set') return change.effect.to;
  return change.effect.kind === 'minus' ? Math.max(0, value - change.effect.count) : value;
}

export function inFlight(fence: Fence): number {
  return fence.changes.filter(isInFlight).length;
}

export function isInFlight(change: Change): boolean {
  return change.state === 'sent' || change.state === 'accepted';
}

/** What a read must show once all changes are settled; undefined when one of them did not plainly succeed. */
export function expectedNumber(base: number | undefined, changes: readonly Change[]): number | undefined {
  return base !== undefined && changes.every((change) => change.state === 'succeeded') ? rangeOf(base, changes).high : undefined;
}

export function expectedExistence(changes: readonly Change[]): 'gone' | 'present' | undefined {
  const kind = changes.every((change) => change.state === 'succeeded') ? changes.at(-1)?.effect.kind : undefined;
  return kind === 'gone' || kind === 'present' ? kind : undefined;
}

/** False while a failed, refused or lost change, or a success that nobody read back in time, awaits a read. */
export function isConfirmed(fence: Fence, nowMs: number): boolean {
  return fence.changes.every((change) => {
    if (isInFlight(change)) return true;
    return change.state === 'succeeded' && nowMs - (change.settledAtMs ?? nowMs) <= CONFIRM_WITHIN_MS;
  });
}

/** What is known of a read when it is judged. */
export interface Reading {
  readonly seq: number;
  readonly via: Via;
  readonly etag: string | undefined;
  readonly nowMs: number;
}

/** `open`: believed, the fence goes. `absorb`: believed, and the changes under way are part of it. */
export type NumberVerdict = 'open' | 'absorb' | RejectReason;

/** Judges an observed number. A GET begun after the fence is believed even when it contradicts; a list is not, for a while. */
export function judgeNumber(
  fence: Fence,
  amount: number,
  row: { readonly base: number; readonly etag: string | undefined },
  reading: Reading,
): NumberVerdict {
  if (reading.seq < fence.minSeq) return 'before-fence';
  if (inFlight(fence) > 0) return canAbsorb(fence, amount, row.base, reading) ? 'absorb' : 'in-flight';
  if (reading.via !== 'list' || reading.nowMs >= fence.graceUntilMs) return 'open';
  const { etag } = reading;
  if (etag !== undefined && row.etag !== undefined && etag !== row.etag && fence.oldEtags.has(etag)) return 'stale-etag';
  return fence.expect !== undefined && amount !== fence.expect ? 'contradicts-expectation' : 'open';
}

/**
 * While an accepted operation runs for minutes, somebody else may write too, and our next write then meets a 412 that only
 * a read can cure. A GET that began after every acceptance and carries a tag from after our changes is that read, if the
 * answers said that the model shows our changes already, or if it says exactly what we expect.
 */
function canAbsorb(fence: Fence, amount: number, base: number, reading: Reading): boolean {
  if (reading.via !== 'get' || reading.etag === undefined || fence.oldEtags.size === 0 || fence.oldEtags.has(reading.etag)) return false;
  const underWay = fence.changes.filter(isInFlight);
  if (!underWay.every((change) => change.acceptedSeq !== undefined && change.acceptedSeq < reading.seq)) return false;
  const { low, high } = rangeOf(base, fence.changes);
  return underWay.every((change) => change.modelled) || (low === high && amount === low);
}

/** `hold`: shown, but still as being deleted. */
export type PresenceVerdict = 'open' | 'pass' | 'hold' | RejectReason;

/** Judges that a read shows the row. */
export function judgePresence(fence: Fence, reading: Reading): PresenceVerdict {
  if (reading.seq < fence.minSeq) return 'before-fence';
  if (inFlight(fence) > 0) return isBeingRemoved(fence) ? 'in-flight' : 'pass';
  return fence.expect === 'gone' && reading.nowMs < fence.graceUntilMs ? 'hold' : 'open';
}

/** Judges that a read (404, or absence from a complete list) does not show the row. `keep`: not believed yet. */
export function judgeAbsence(fence: Fence, reading: Reading): 'open' | 'pass' | 'keep' {
  if (reading.seq < fence.minSeq) return 'keep';
  if (inFlight(fence) > 0) return isBeingRemoved(fence) ? 'pass' : 'keep';
  return reading.via === 'list' && fence.expect === 'present' && reading.nowMs < fence.graceUntilMs ? 'keep' : 'open';
}

/** What our changes make of the row for a reader. What is under way weighs more than a later change that failed. */
export function removalOf(fence: Fence): Removal {
  const newest = fence.changes.findLast(isInFlight) ?? fence.changes.findLast((change) => change.state !== 'refused');
  if (newest?.effect.kind !== 'gone') return 'none';
  return newest.state === 'failed' || newest.state === 'unknown' ? 'unconfirmed' : 'under-way';
}

function isBeingRemoved(fence: Fence): boolean {
  return fence.changes.findLast(isInFlight)?.effect.kind === 'gone';
}

/** A fence as shown to operators. */
export interface FenceStatus {
  readonly key: string;
  readonly group: Exclude<FieldGroup, 'rest'>;
  readonly inFlight: number;
  readonly ageMs: number;
  readonly minSeq: number;
  readonly expect: number | 'gone' | 'present' | undefined;
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

  /** Raises the fence, or makes the one that stands higher. */
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

  /** The change has ended: only reads begun after `seq` pass from here on. Undefined when the fence is gone. */
  settle(key: string, change: Change, seq: number, nowMs: number): Fence | undefined {
    const fence = this.#fences.get(key);
    if (fence === undefined || !fence.changes.includes(change)) return undefined;
    fence.minSeq = Math.max(fence.minSeq, seq);
    fence.graceUntilMs = nowMs + GRACE_MS;
    return fence;
  }

  /** A believed read: the settled changes are history. The fence stays while others are under way. */
  open(key: string): void {
    const fence = this.#fences.get(key);
    if (fence !== undefined && inFlight(fence) === 0) this.#fences.delete(key);
  }

  /** A believed read that already contains what is under way: the settled changes are history, the others part of the base. */
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
