/**
 * Gives back the part of a raise that Azure accepted and could not fill. A capacity that stays above its machines is filled by
 * whatever write comes next, with machines that nobody asked for then. This is the only write of ours that lowers a capacity,
 * and it is made when it can be proved that no machine goes: the set still has the tag of our own raise, so nobody wrote since;
 * no operation runs in it, so nothing is being born; and a whole list begun later shows fewer machines, all of them at rest, and
 * the set itself counts no more.
 */
import type { MutationOutcome } from '../../cache/table/mutation.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { putCapacity } from './increase-scale-set.ts';
import { isEffectUnknown, type WriteAnswer, type WriteParts } from './write-context.ts';
import type { Raise } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { countInstances } from '../inventory/single-reads.ts';

/** Lists may lag behind by seconds; and what the loop removes itself needs no giving back. */
const FIRST_LOOK_MS = 30_000;
const NEXT_LOOK_MS = 60_000;
const LOOKS = 5;

export interface GiveBackParts {
  readonly writes: WriteParts;
  /** The group, or why it may not be written now. */
  readonly writable: (group: RegisteredGroup) => RegisteredGroup | string;
}

/** `again`: this may pass. `over`: there is nothing to give back, or it is not ours to do. */
type Verdict =
  | { readonly kind: 'write'; readonly set: ScaleSetRow; readonly to: number; readonly listed: number }
  | { readonly kind: 'again' | 'over'; readonly reason: string };

type Ended = Verdict | { readonly kind: 'written' };

export class GiveBack {
  readonly #parts: GiveBackParts;
  readonly #running = new Set<Promise<void>>();

  constructor(parts: GiveBackParts) {
    this.#parts = parts;
  }

  /** The operation of a raise has ended, and not well. Returns at once. */
  begin(group: RegisteredGroup, raise: Raise): void {
    const run: Promise<void> = this.#untilOver(group, raise).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Resolves when nothing is under way any more; `WriteParts.closing` ends what waits. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Never rejects. */
  async #untilOver(group: RegisteredGroup, raise: Raise): Promise<void> {
    const { clock, closing, log } = this.#parts.writes;
    let last: Ended = { kind: 'again', reason: 'it was not looked at' };
    try {
      for (let look = 0; look < LOOKS && last.kind === 'again'; look++) {
        await clock.sleep(look === 0 ? FIRST_LOOK_MS : NEXT_LOOK_MS, closing);
        last = await this.#look(group, raise);
      }
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') return;
      last = { kind: 'over', reason: error.message };
    }
    if (last.kind === 'written') return;
    this.#parts.writes.store.raises.forget(group.key, raise);
    const { before, to } = raise;
    log.info(
      { nodeGroup: group.id, before, to, reason: 'reason' in last ? last.reason : '' },
      'capacity of a failed scale-up is not given back',
    );
  }

  /** One look, and the write if it may be made. The lock keeps our own growth away between the two. */
  #look(group: RegisteredGroup, raise: Raise): Promise<Ended> {
    const { locks, closing } = this.#parts.writes;
    return locks.hold(group.key, closing, async () => {
      const ours = this.#stillOurs(group, raise);
      if (ours !== undefined) return ours;
      const read = await this.#read(group);
      if (read !== undefined) return read;
      const verdict = this.#stillOurs(group, raise) ?? judgeGiveBack(this.#facts(group), raise);
      if (verdict.kind !== 'write') return verdict;
      const confirmed = await this.#confirm(group, raise, verdict.set.name);
      return confirmed.kind === 'write' ? this.#write(group, raise, confirmed) : confirmed;
    });
  }

  #stillOurs(group: RegisteredGroup, raise: Raise): Verdict | undefined {
    const { store, clock } = this.#parts.writes;
    if (!store.raises.isLast(group.key, raise)) return { kind: 'over', reason: 'a later scale-up took it over' };
    if (store.changes.inFlight(group.key) > 0) return { kind: 'again', reason: 'another change of ours runs' };
    const writable = this.#parts.writable(group);
    if (typeof writable === 'string') return { kind: 'again', reason: writable };
    const held = store.writes.growthHeldBecause(group.key, clock.monotonic());
    return held === undefined ? undefined : { kind: 'again', reason: held };
  }

  /** The machines first and the set after them: what the set says then is true of all that the list could show. */
  async #read(group: RegisteredGroup): Promise<Verdict | undefined> {
    const { store, clock, closing } = this.#parts.writes;
    const beganAtMs = clock.now();
    try {
      await store.refreshInstances(group.key, closing);
      await store.refreshSet(group.key, closing);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return { kind: 'again', reason: `it could not be read: ${error.message}` };
    }
    const believed = (store.instancesListedAtMs(group.key) ?? Number.NEGATIVE_INFINITY) >= beganAtMs;
    return believed ? undefined : { kind: 'again', reason: 'its machines were not told completely' };
  }

  /** The second witness is asked only when the first one says that something may be written. */
  async #confirm(group: RegisteredGroup, raise: Raise, set: string): Promise<Verdict> {
    const { closing } = this.#parts.writes;
    try {
      const counted = await countInstances(this.#parts.writes, set, closing);
      return this.#stillOurs(group, raise) ?? judgeGiveBack({ ...this.#facts(group), counted }, raise);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return { kind: 'again', reason: `its machines could not be counted: ${error.message}` };
    }
  }

  #facts(group: RegisteredGroup): GiveBackFacts {
    const { store } = this.#parts.writes;
    const view = store.scaleSets.view(group.key);
    return {
      set: view?.row.value,
      etag: view?.row.etag,
      confirmed: view?.confirmed === true,
      states: [...store.instances.scope(group.key).values()].map(({ value }) => value.state),
      counted: undefined,
    };
  }

  async #write(group: RegisteredGroup, raise: Raise, verdict: Extract<Verdict, { kind: 'write' }>): Promise<Ended> {
    const { writes } = this.#parts;
    const { store, log, metrics } = writes;
    const { set, to, listed } = verdict;
    const mutation = store.scaleSets.beginMutation({ kind: 'set-target', key: group.key, target: to });
    const settle = (outcome: MutationOutcome): void => {
      mutation.settle(outcome);
      store.changes.growthEnded(group.key, outcome === 'succeeded');
    };
    let answer: WriteAnswer;
    try {
      answer = await putCapacity(writes, { set, to, etag: raise.etag }, writes.closing);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      settle(isEffectUnknown(error) ? 'unknown' : 'refused');
      if (error.kind === 'cancelled') throw error;
      return { kind: 'again', reason: error.message };
    }
    mutation.accepted({ etag: answer.etag, expect: answer.capacity, modelled: answer.capacity === to });
    store.raises.forget(group.key, raise);
    metrics.scaleUp.givenBack.inc({ node_group: group.id }, raise.to - to);
    const facts = { nodeGroup: group.id, from: raise.to, to, listed, before: raise.before };
    log.info(facts, 'capacity that Azure accepted and could not fill was given back');
    writes.tracker.follow({
      resource: set.name,
      url: answer.operationUrl,
      retryAfterMs: answer.retryAfterMs,
      hints: { scope: {}, zoneOf: () => undefined },
      onEnd: (end) => settle(end.kind),
    });
    return { kind: 'written' };
  }
}

export interface GiveBackFacts {
  readonly set: ScaleSetRow | undefined;
  readonly etag: string | undefined;
  /** No change of ours is unread. */
  readonly confirmed: boolean;
  /** Of every machine that is listed, failed and leaving ones included. */
  readonly states: readonly string[];
  /** Machines that the set itself counts; undefined: it was not asked, or does not count them. */
  readonly counted: number | undefined;
}

const AT_REST = /^(succeeded|failed)$/i;

/** Whether capacity may be lowered, and to what. Never below what it was before the raise, nor below what is listed. */
export function judgeGiveBack({ set, etag, confirmed, states, counted = 0 }: GiveBackFacts, raise: Raise): Verdict {
  if (set === undefined) return { kind: 'over', reason: 'the scale set is gone' };
  if (set.unreadable !== undefined || !confirmed) return { kind: 'again', reason: 'its size is not known' };
  // A removal of what failed, for one, takes its place along.
  if (set.capacity < raise.to && set.capacity <= Math.max(raise.before, states.length))
    return { kind: 'over', reason: `nothing is left of it: the capacity is ${set.capacity}` };
  if (etag !== raise.etag || set.capacity !== raise.to) return { kind: 'over', reason: 'somebody else has written the scale set since' };
  if (!AT_REST.test(set.provisioningState)) return { kind: 'again', reason: `an operation runs in it: ${set.provisioningState}` };
  const moving = states.find((state) => state !== 'running' && state !== 'failed' && state !== 'deallocated');
  if (moving !== undefined) return { kind: 'again', reason: `a machine of it is not at rest: ${moving}` };
  if (counted > states.length) return { kind: 'again', reason: `the set counts ${counted} machines and ${states.length} are listed` };
  const to = Math.max(raise.before, states.length);
  if (to >= raise.to) return { kind: 'over', reason: 'all machines of it are listed' };
  return { kind: 'write', set, to, listed: states.length };
}
