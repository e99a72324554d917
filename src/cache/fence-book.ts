import { GRACE_MS, inFlight, isInFlight, type Change, type Fence } from './fence.ts';
import type { FieldGroup } from './row.ts';

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
