/**
 * Writes what the loop has to say into objects that ask for capacity: one write per object and change, each conditional on
 * what was read. Remembers what it wrote until the watch shows it, so that no loop decides by an older status than its own.
 * Decides nothing.
 */
import type { CapacityObjectRef, CapacityObjects, CapacityStatus } from '../domain/capacity-objects.ts';
import type { Clock } from '../domain/clock.ts';
import { asAutoscalerError } from '../domain/errors.ts';
import type { CapacityObjectWriter } from '../ports/capacity-object-writer.ts';
import type { Log } from '../telemetry/log.ts';

/** What an object should say. */
export interface StatusWish {
  readonly ref: CapacityObjectRef;
  readonly before: CapacityStatus;
  readonly after: CapacityStatus;
}

export interface CapacityStatusesDeps {
  readonly writer: CapacityObjectWriter;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes of one loop; the rest has its turn in the next ones. Upstream's number for requests. */
const MOST_PER_LOOP = 20;
/** Rest after a write that failed; a newer version of the object ends it. */
const REST_MS = 60_000;

interface Tracked {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
}

/** Owns what was written and is not seen yet. Used by who leads, and by nobody else. */
export class CapacityStatuses {
  readonly #deps: CapacityStatusesDeps;
  /** By uid: the version that was read, and what the object says since. */
  readonly #written = new Map<string, { readonly version: string; readonly status: CapacityStatus }>();
  /** By uid: the version that was not written, and until when it is not tried again. */
  readonly #refused = new Map<string, { readonly version: string; readonly untilMs: number }>();

  constructor(deps: CapacityStatusesDeps) {
    this.#deps = deps;
  }

  /** The objects as they are after what was written last, where the watch does not show that yet. */
  overlay(objects: CapacityObjects): CapacityObjects {
    const present = [...(objects.quotas ?? []), ...(objects.buffers ?? []), ...(objects.requests ?? [])];
    this.#forget(new Map(present.map(({ ref }) => [ref.uid, ref.version])));
    if (this.#written.size === 0) return objects;
    const { quotas, buffers, requests } = objects;
    return {
      ...objects,
      ...(quotas === undefined ? {} : { quotas: quotas.map((one) => this.#withWritten(one)) }),
      ...(buffers === undefined ? {} : { buffers: buffers.map((one) => this.#withWritten(one)) }),
      ...(requests === undefined ? {} : { requests: requests.map((one) => this.#withWritten(one)) }),
    };
  }

  #withWritten<Item extends Tracked>(item: Item): Item {
    const written = this.#written.get(item.ref.uid);
    return written === undefined ? item : { ...item, status: written.status };
  }

  #forget(versions: ReadonlyMap<string, string>): void {
    for (const memory of [this.#written, this.#refused])
      for (const [uid, { version }] of memory) if (versions.get(uid) !== version) memory.delete(uid);
  }

  /** Writes what differs. One object's failure is told and bothers no other; nothing is thrown. */
  async write(wishes: readonly StatusWish[], signal: AbortSignal): Promise<void> {
    const due = wishes.filter(({ ref, before, after }) => before !== after && this.#mayWrite(ref)).slice(0, MOST_PER_LOOP);
    await Promise.all(due.map((wish) => this.#writeOne(wish, signal)));
  }

  /** Deletes objects that are over and done with. */
  async remove(refs: readonly CapacityObjectRef[], signal: AbortSignal): Promise<void> {
    const due = refs.filter((ref) => this.#mayWrite(ref)).slice(0, MOST_PER_LOOP);
    const { writer } = this.#deps;
    await Promise.all(due.map((ref) => this.#attempt(ref, () => writer.remove(ref, signal))));
  }

  /** A version that was written on, or refused, is an old one: the watch brings the next. */
  #mayWrite({ uid, version }: CapacityObjectRef): boolean {
    if (this.#written.get(uid)?.version === version) return false;
    const refused = this.#refused.get(uid);
    return refused === undefined || refused.version !== version || this.#deps.clock.monotonic() >= refused.untilMs;
  }

  async #writeOne({ ref, before, after }: StatusWish, signal: AbortSignal): Promise<void> {
    const isWritten = await this.#attempt(ref, () => this.#deps.writer.writeStatus(ref, { before, after }, signal));
    if (isWritten) this.#written.set(ref.uid, { version: ref.version, status: after });
  }

  async #attempt(ref: CapacityObjectRef, call: () => Promise<void>): Promise<boolean> {
    const { clock, log } = this.#deps;
    const { kind, namespace, name, uid, version } = ref;
    try {
      await call();
      return true;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') return false;
      const isOld = error.kind === 'conflict' || error.kind === 'not-found';
      this.#refused.set(uid, { version, untilMs: clock.monotonic() + REST_MS });
      if (!isOld) log.warn({ kind, namespace, name, error: error.message }, 'an object that asks for capacity could not be written');
      return false;
    }
  }
}
