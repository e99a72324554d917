/**
 * The statuses of objects that limit, reserve and request capacity. A loop collects them and writes one per object and
 * change, each conditional on the version that was read. Must not know the wording of a status, which is planning's.
 */
import type { CapacityObjectRef, CapacityObjects, CapacityStatus } from '../../domain/capacity-objects.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import type { Observation } from '../../domain/observation.ts';
import type { CapacityPolicy, Policy } from '../../domain/policy.ts';
import type { CapacityObjectWriter } from '../../domain/ports/cluster-writes.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { quotaAllowances, bufferStatus } from '../../planning/capacity-objects/buffer-status.ts';
import { quotaStatus } from '../../planning/capacity-objects/capacity-quotas.ts';
import { statusOverTime, staleRequests } from '../../planning/capacity-objects/provisioning-requests.ts';
import { failureOfRequest } from '../../planning/state/increases/requests-of-increases.ts';
import type { Log } from '../../telemetry/log.ts';

/** The status that an object has and the one that it should have. */
export interface StatusWrite {
  readonly ref: CapacityObjectRef;
  readonly before: CapacityStatus;
  readonly after: CapacityStatus;
}

interface CapacityStatusesDeps {
  readonly writer: CapacityObjectWriter;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes per loop; the others follow in later loops. The Cluster Autoscaler's number for requests. */
const MAX_WRITES_PER_LOOP = 20;
/** Wait after a failed write. A newer version of the object ends it. */
const RETRY_AFTER_MS = 60_000;

interface Tracked {
  readonly ref: CapacityObjectRef;
  readonly status: CapacityStatus;
}

/**
 * Owns what was written until the watch shows it, so that no loop decides by a status older than its own. Only the leader
 * uses it.
 */
export class CapacityStatuses {
  readonly #deps: CapacityStatusesDeps;
  /** By uid: the version that was read, and the status written since. */
  readonly #written = new Map<string, { readonly version: string; readonly status: CapacityStatus }>();
  /** By uid: the version whose write failed, and when it may be tried again. */
  readonly #refused = new Map<string, { readonly version: string; readonly untilMs: number }>();

  constructor(deps: CapacityStatusesDeps) {
    this.#deps = deps;
  }

  /** Returns the objects with the statuses written last, where the watch does not show them yet. */
  overlay(objects: CapacityObjects): CapacityObjects {
    const { quotas, buffers, requests } = objects;
    const present = [...quotas, ...buffers, ...requests];
    this.#forget(new Map(present.map(({ ref }) => [ref.uid, ref.version])));
    if (this.#written.size === 0) return objects;
    return {
      ...objects,
      quotas: quotas.map((one) => this.#withWritten(one)),
      buffers: buffers.map((one) => this.#withWritten(one)),
      requests: requests.map((one) => this.#withWritten(one)),
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

  /** Writes the statuses that differ. A failure is logged and does not affect other objects. Never throws. */
  async write(statuses: readonly StatusWrite[], signal: AbortSignal): Promise<void> {
    const due = statuses.filter(({ ref, before, after }) => before !== after && this.#mayWrite(ref)).slice(0, MAX_WRITES_PER_LOOP);
    await Promise.all(due.map((status) => this.#writeStatus(status, signal)));
  }

  /** Deletes objects that have expired. */
  async remove(refs: readonly CapacityObjectRef[], signal: AbortSignal): Promise<void> {
    const due = refs.filter((ref) => this.#mayWrite(ref)).slice(0, MAX_WRITES_PER_LOOP);
    const { writer } = this.#deps;
    await Promise.all(due.map((ref) => this.#tryWrite(ref, () => writer.remove(ref, signal))));
  }

  /** A version that was already written or refused is out of date: the watch brings the next. */
  #mayWrite({ uid, version }: CapacityObjectRef): boolean {
    if (this.#written.get(uid)?.version === version) return false;
    const refused = this.#refused.get(uid);
    return refused === undefined || refused.version !== version || this.#deps.clock.monotonic() >= refused.untilMs;
  }

  async #writeStatus({ ref, before, after }: StatusWrite, signal: AbortSignal): Promise<void> {
    const isWritten = await this.#tryWrite(ref, () => this.#deps.writer.writeStatus(ref, { before, after }, signal));
    if (isWritten) this.#written.set(ref.uid, { version: ref.version, status: after });
  }

  async #tryWrite(ref: CapacityObjectRef, call: () => Promise<void>): Promise<boolean> {
    const { clock, log } = this.#deps;
    const { kind, namespace, name, uid, version } = ref;
    try {
      await call();
      return true;
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') return false;
      const isOld = error.kind === 'conflict' || error.kind === 'not-found';
      this.#refused.set(uid, { version, untilMs: clock.monotonic() + RETRY_AFTER_MS });
      if (!isOld) log.warn({ kind, namespace, name, error: error.message }, 'Capacity object could not be written');
      return false;
    }
  }
}

export interface CapacityStatusInput {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly names: ResourceNames;
  /** Statuses of the requests that had their turn in this loop. */
  readonly answers: readonly StatusWrite[];
}

/** Returns the status that every object should have, including those that have it already. */
export function capacityStatusWrites({ observation, state, policy, names, answers }: CapacityStatusInput): readonly StatusWrite[] {
  const { cluster, nowMs } = observation;
  const { capacity: objects } = cluster;
  const { bufferController: controls, bufferInjection: injects } = policy.capacity;
  const nodes = [...cluster.nodes.values()];
  const quotas = objects.quotas.map((quota) => statusWrite(quota, quotaStatus(quota, nodes, names, nowMs)));
  const input = { objects, names, nowMs, controls, injects, allowances: quotaAllowances(objects, names) };
  const buffers = objects.buffers.map((buffer) => statusWrite(buffer, bufferStatus(buffer, input)));
  return [...answers, ...agedRequests(observation, { state, policy: policy.capacity, answers }), ...buffers, ...quotas];
}

/** Statuses of requests that had no turn in this loop: they change with time alone. */
function agedRequests(
  observation: Observation,
  { state, policy, answers }: { readonly state: LoopState; readonly policy: CapacityPolicy; readonly answers: readonly StatusWrite[] },
): readonly StatusWrite[] {
  const answered = new Set(answers.map(({ ref }) => ref.uid));
  const others = observation.cluster.capacity.requests.filter(({ ref }) => !answered.has(ref.uid));
  return others.map((request) =>
    statusWrite(request, statusOverTime(request, observation, policy, failureOfRequest(state, request.ref.uid))),
  );
}

/** Finished requests whose retention time is over: they are deleted. */
export function expiredRequests(observation: Observation, policy: CapacityPolicy): readonly CapacityObjectRef[] {
  return staleRequests(observation, policy).map(({ ref }) => ref);
}

function statusWrite(
  { ref, status }: { readonly ref: CapacityObjectRef; readonly status: CapacityStatus },
  after: CapacityStatus,
): StatusWrite {
  return { ref, before: status, after };
}
