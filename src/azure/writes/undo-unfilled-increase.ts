/**
 * Undoes the part of an increase that Azure accepted and could not fill. Otherwise the next write of any kind would fill the
 * capacity with instances that are no longer needed. This is the only write of ours that lowers a capacity. It is made only
 * with proof that it removes no instance:
 * - the scale set still has the entity tag of our own increase, so there was no other write since;
 * - no operation is in progress in it, so no instance is being created;
 * - a complete list begun later shows fewer instances, none of them in transition, and the set itself counts no more.
 */
import { describeBlock } from '../../domain/group-blocks.ts';
import type { MutationOutcome } from '../../cache/table/mutation.ts';
import { asAutoscalerError, isEffectUnknown } from '../../lib/errors.ts';
import { putCapacity } from './increase-scale-set.ts';
import { type WriteAnswer, type WriteDeps } from './write-context.ts';
import type { OwnIncrease } from '../groups/own-writes.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { countInstances } from '../inventory/single-reads.ts';

/** Lists may be seconds late, and what the loop deletes itself needs no undo. */
const FIRST_CHECK_MS = 30_000;
const NEXT_CHECK_MS = 60_000;
const CHECKS = 5;

export interface UndoDeps {
  readonly writes: WriteDeps;
  /** The group, or why it may not be written now. */
  readonly writable: (group: RegisteredGroup) => RegisteredGroup | string;
}

/** `again`: the reason may pass; `held`: it may last, and it does not count as a check. `over`: nothing is left to undo, or it is not ours to undo. */
type Verdict =
  | { readonly kind: 'write'; readonly set: ScaleSetRow; readonly to: number; readonly listed: number }
  | { readonly kind: 'again' | 'held' | 'over'; readonly reason: string };

type Ended = Verdict | { readonly kind: 'written' };

export class UnfilledIncreaseUndo {
  readonly #deps: UndoDeps;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: UndoDeps) {
    this.#deps = deps;
  }

  /** The operation of an increase failed, or its end was not seen. Returns at once. */
  begin(group: RegisteredGroup, increase: OwnIncrease): void {
    const run: Promise<void> = this.#untilOver(group, increase).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Resolves when no undo is in progress; `WriteDeps.closing` ends those that wait. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Never rejects. */
  async #untilOver(group: RegisteredGroup, increase: OwnIncrease): Promise<void> {
    const { clock, closing, log } = this.#deps.writes;
    let last: Ended = { kind: 'again', reason: 'it has not been checked yet' };
    try {
      for (let check = 0; check < CHECKS && (last.kind === 'again' || last.kind === 'held');) {
        await clock.sleep(check === 0 ? FIRST_CHECK_MS : NEXT_CHECK_MS, closing);
        last = await this.#check(group, increase);
        // A pause may last for days, and what Azure could not fill is there after it, too.
        if (last.kind !== 'held') check += 1;
      }
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') return;
      last = { kind: 'over', reason: error.message };
    }
    if (last.kind === 'written') return;
    this.#deps.writes.ownWrites.increases.forget(group.key, increase);
    const { before, to } = increase;
    log.info(
      { nodeGroup: group.id, before, to, reason: 'reason' in last ? last.reason : '' },
      'Unfilled capacity of a failed increase was not removed',
    );
  }

  /** Checks once, and writes if that is proved safe. The lock keeps our own increases out between the two. */
  #check(group: RegisteredGroup, increase: OwnIncrease): Promise<Ended> {
    const { locks, closing } = this.#deps.writes;
    return locks.hold(group.key, closing, async () => {
      const ours = this.#checkOurs(group, increase);
      if (ours !== undefined) return ours;
      const read = await this.#read(group);
      if (read !== undefined) return read;
      const verdict = this.#checkOurs(group, increase) ?? decideUndo(this.#undoInput(group), increase);
      if (verdict.kind !== 'write') return verdict;
      const confirmed = await this.#confirm(group, increase, verdict.set.name);
      return confirmed.kind === 'write' ? this.#write(group, increase, confirmed) : confirmed;
    });
  }

  #checkOurs(group: RegisteredGroup, increase: OwnIncrease): Verdict | undefined {
    const { inventory, ownWrites, clock } = this.#deps.writes;
    if (!ownWrites.increases.isLast(group.key, increase)) return { kind: 'over', reason: 'a later increase replaced it' };
    if (!inventory.registration().groups.has(group.key)) return { kind: 'over', reason: 'its node group is gone' };
    if (inventory.changes.inFlight(group.key) > 0) return { kind: 'again', reason: 'another change of ours is in progress' };
    const writable = this.#deps.writable(group);
    if (typeof writable === 'string') return { kind: 'held', reason: writable };
    const held = ownWrites.increaseHeldReason(group.key, clock.monotonic());
    return held === undefined ? undefined : { kind: 'again', reason: describeBlock(held) };
  }

  /** Reads the instances before the scale set: then the set is at least as new as the list. */
  async #read(group: RegisteredGroup): Promise<Verdict | undefined> {
    const { inventory, clock, closing } = this.#deps.writes;
    // The lock is held: our own increases must not wait for a list.
    if (inventory.reads.listWaitMs(group.key) > 0) return { kind: 'again', reason: 'its instances were listed twice within a minute' };
    const beganAtMs = clock.now();
    try {
      await inventory.reads.want({ what: 'instances', group: group.key }).served(closing);
      await inventory.reads.want({ what: 'size', group: group.key }).served(closing);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return { kind: 'again', reason: `the scale set could not be read: ${error.message}` };
    }
    const isComplete = (inventory.lists.listedAtMs(group.key) ?? Number.NEGATIVE_INFINITY) >= beganAtMs;
    return isComplete ? undefined : { kind: 'again', reason: 'the list of its instances is incomplete' };
  }

  /** Counts the instances in a second way, only if the list allows a write. */
  async #confirm(group: RegisteredGroup, increase: OwnIncrease, set: string): Promise<Verdict> {
    const { closing } = this.#deps.writes;
    try {
      const counted = await countInstances(this.#deps.writes, { set, state: 'any' }, closing);
      return this.#checkOurs(group, increase) ?? decideUndo({ ...this.#undoInput(group), counted }, increase);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return { kind: 'again', reason: `its instances could not be counted: ${error.message}` };
    }
  }

  #undoInput(group: RegisteredGroup): UndoInput {
    const { inventory } = this.#deps.writes;
    const view = inventory.scaleSets.view(group.key);
    return {
      set: view?.row.value,
      etag: view?.row.etag,
      confirmed: view?.confirmed === true,
      states: [...inventory.instances.scope(group.key).values()].map(({ value }) => value.state),
      counted: undefined,
    };
  }

  async #write(group: RegisteredGroup, increase: OwnIncrease, verdict: Extract<Verdict, { kind: 'write' }>): Promise<Ended> {
    const { writes } = this.#deps;
    const { inventory, ownWrites, log, metrics } = writes;
    const { set, to, listed } = verdict;
    const mutation = inventory.scaleSets.beginMutation({ kind: 'set-target', key: group.key, target: to });
    const settle = (outcome: MutationOutcome): void => {
      mutation.settle(outcome);
      inventory.changes.noteIncreaseEnd(group.key, outcome === 'succeeded');
    };
    let answer: WriteAnswer;
    try {
      answer = await putCapacity(writes, { set, to, etag: increase.etag, shown: 'give-back' }, writes.closing);
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      settle(isEffectUnknown(error) ? 'unknown' : 'refused');
      if (error.kind === 'cancelled') throw error;
      return { kind: 'again', reason: error.message };
    }
    mutation.accepted({ etag: answer.etag, expect: answer.capacity, modelled: answer.capacity === to });
    ownWrites.increases.forget(group.key, increase);
    metrics.scaleUp.givenBack.inc({ node_group: group.id }, increase.to - to);
    const facts = { nodeGroup: group.id, from: increase.to, to, listed, before: increase.before };
    log.info(facts, 'Capacity that Azure accepted and could not fill was removed');
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

export interface UndoInput {
  readonly set: ScaleSetRow | undefined;
  readonly etag: string | undefined;
  /** False while a change of ours has not been read back. */
  readonly confirmed: boolean;
  /** The state of every listed instance, failed and leaving ones included. */
  readonly states: readonly string[];
  /** Instances that the scale set itself counts; undefined: not read, or not counted by sets of this mode. */
  readonly counted: number | undefined;
}

const AT_REST = /^(succeeded|failed)$/i;

/** Whether the capacity may be lowered, and to what: never below the capacity before the increase, nor below the listed instances. */
export function decideUndo({ set, etag, confirmed, states, counted = 0 }: UndoInput, increase: OwnIncrease): Verdict {
  // guard: capacity is given back only with proof that it is ours and empty
  if (set === undefined) return { kind: 'over', reason: 'the scale set no longer exists' };
  if (set.unreadable !== undefined || !confirmed) return { kind: 'again', reason: 'its size is unknown' };
  // A deletion of failed instances, for example, lowers the capacity as well.
  if (set.capacity < increase.to && set.capacity <= Math.max(increase.before, states.length))
    return { kind: 'over', reason: `nothing is left to remove: the capacity is ${set.capacity}` };
  // guard: capacity is given back only while no other writer changed it
  if (etag !== increase.etag || set.capacity !== increase.to)
    return { kind: 'over', reason: 'another writer has changed the scale set since' };
  if (!AT_REST.test(set.provisioningState)) return { kind: 'again', reason: `an operation is in progress: ${set.provisioningState}` };
  const moving = states.find((state) => state !== 'running' && state !== 'failed' && state !== 'deallocated');
  // guard: capacity is given back only as long as nothing is being created
  if (moving !== undefined) return { kind: 'again', reason: `one of its instances is in state ${moving}` };
  // guard: capacity is given back only if the set counts no more instances than its list
  if (counted > states.length) return { kind: 'again', reason: `the scale set counts ${counted} instances, the list has ${states.length}` };
  const to = Math.max(increase.before, states.length);
  if (to >= increase.to) return { kind: 'over', reason: 'all of its instances are listed' };
  return { kind: 'write', set, to, listed: states.length };
}
