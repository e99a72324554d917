/** What a loop has to say to those who limit, reserve and ask for capacity. Gathers; the words are planning's. */
import type { CapacityObjectRef, CapacityObjects, CapacityStatus } from '../../domain/capacity-objects.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { CapacityPolicy, Policy } from '../../domain/policy.ts';
import type { CapacityObjectWriter } from '../../domain/ports/cluster-writes.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { allowances, bufferStatus } from '../../planning/capacity-objects/buffer-status.ts';
import { quotaStatus } from '../../planning/capacity-objects/capacity-quotas.ts';
import { agedStatus, staleRequests } from '../../planning/capacity-objects/provisioning-requests.ts';
import { brokenOrder } from '../../planning/capacity-objects/request-orders.ts';
import type { Log } from '../../telemetry/log.ts';

// Writes what the loop has to say into objects that ask for capacity: one write per object and change, each conditional on
// what was read. Remembers what it wrote until the watch shows it, so that no loop decides by an older status than its own.
// Decides nothing.

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

export interface CapacityInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** What requests were answered in this loop. */
  readonly answers?: readonly StatusWish[];
}

/** Statuses as they should be, those that are so already included. */
export function capacityWishes({ observation, state, policy, names, answers = [] }: CapacityInput): readonly StatusWish[] {
  const { cluster, nowMs } = observation;
  const { capacity: objects } = cluster;
  if (objects === undefined || policy.capacity === undefined) return [];
  const { bufferController: controls, bufferInjection: injects } = policy.capacity;
  const nodes = [...cluster.nodes.values()];
  const quotas = (objects.quotas ?? []).map((quota) => wish(quota, quotaStatus(quota, nodes, names, nowMs)));
  const input = { objects, names, nowMs, controls, injects, allowances: allowances(objects, names) };
  const buffers = (objects.buffers ?? []).map((buffer) => wish(buffer, bufferStatus(buffer, input)));
  return [...answers, ...aged(observation, { state, policy: policy.capacity, answers }), ...buffers, ...quotas];
}

/** Requests that had no turn in this loop, and what time has made of them. */
function aged(
  observation: Observation,
  { state, policy, answers }: { readonly state: LoopState; readonly policy: CapacityPolicy; readonly answers: readonly StatusWish[] },
): readonly StatusWish[] {
  const answered = new Set(answers.map(({ ref }) => ref.uid));
  const others = (observation.cluster.capacity?.requests ?? []).filter(({ ref }) => !answered.has(ref.uid));
  return others.map((request) => wish(request, agedStatus(request, observation, policy, brokenOrder(state, request.ref.uid))));
}

/** Requests that are over for so long that they are deleted. */
export function outdatedRequests(observation: Observation, policy: CapacityPolicy): readonly CapacityObjectRef[] {
  return staleRequests(observation, policy).map(({ ref }) => ref);
}

function wish({ ref, status }: { readonly ref: CapacityObjectRef; readonly status: CapacityStatus }, after: CapacityStatus): StatusWish {
  return { ref, before: status, after };
}
