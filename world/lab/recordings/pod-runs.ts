/**
 * Pods that end by themselves: when each came, and how long it ran. A pod that the cluster ends before its time comes again, as the
 * same load: it counts once, from its first arrival, with the time that the last one ran. Must not know the format of a recording.
 */
import type { LoadPod } from '../loads/load.ts';
import type { ObservedPod } from './observed.ts';

/** A lost pod whose owner creates no other within this time is over. */
const REPLACED_WITHIN_MS = 600_000;

export interface Run {
  readonly namespace: string;
  /** Of the controller, or the pod's own. */
  readonly name: string;
  readonly isOwned: boolean;
  readonly pod: LoadPod;
  readonly arrivedAtMs: number;
  readonly ranMs: number;
}

interface Lost {
  readonly pod: ObservedPod;
  readonly arrivedAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly lostAtMs: number;
}

interface Present {
  pod: ObservedPod;
  readonly arrivedAtMs: number;
  /** Of its first container; later ones are restarts. */
  startedAtMs: number | undefined;
}

export interface RunCounts {
  /** Pods that were deleted before they started. They are not recorded: how long they would have run is unknown. */
  readonly neverStarted: number;
  /** Pods that were lost and came again. */
  readonly cameAgain: number;
}

export class PodRuns {
  readonly #startMs: number;
  /** Ends until this time are in the recording already. */
  readonly #knownUntilMs: number;
  readonly #present = new Map<string, Present>();
  /** Pods that still exist and are recorded. */
  readonly #over = new Set<string>();
  /** By owner. */
  readonly #lost = new Map<string, Lost[]>();
  #ended: Run[] = [];
  #neverStarted = 0;
  #cameAgain = 0;

  constructor(startMs: number, knownUntilMs = startMs) {
    this.#startMs = startMs;
    this.#knownUntilMs = knownUntilMs;
  }

  get counts(): RunCounts {
    return { neverStarted: this.#neverStarted, cameAgain: this.#cameAgain };
  }

  /** A pod as it is now, new or changed. */
  see(pod: ObservedPod, nowMs: number): void {
    if (this.#over.has(pod.uid)) return;
    const known = this.#present.get(pod.uid);
    const isOver = pod.phase === 'succeeded' || pod.phase === 'failed';
    if (known === undefined && isOver && (pod.endedAtMs ?? nowMs) <= this.#knownUntilMs) return;
    const present = known ?? this.#arrive(pod);
    present.pod = pod;
    present.startedAtMs ??= pod.startedAtMs;
    // Its owner creates the next one as soon as its deletion is requested.
    if (isOver || pod.isLeaving) this.#end(present, pod.endedAtMs ?? nowMs, nowMs);
  }

  /** The pod does not exist any more. */
  forget(uid: string, nowMs: number): void {
    const present = this.#present.get(uid);
    if (present !== undefined) this.#end(present, present.pod.endedAtMs ?? nowMs, nowMs);
    this.#over.delete(uid);
  }

  /** What has ended by now. */
  take(nowMs: number): readonly Run[] {
    for (const [owner, lost] of this.#lost) {
      const waiting = lost.filter((each) => nowMs - each.lostAtMs < REPLACED_WITHIN_MS);
      for (const each of lost.slice(0, lost.length - waiting.length)) this.#record(each, each.lostAtMs);
      if (waiting.length === 0) this.#lost.delete(owner);
      else this.#lost.set(owner, waiting);
    }
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** Everything that still runs ends here. */
  end(nowMs: number): readonly Run[] {
    for (const present of this.#present.values()) this.#record(present, nowMs);
    this.#present.clear();
    return this.take(Number.POSITIVE_INFINITY);
  }

  #arrive(pod: ObservedPod): Present {
    const owed = pod.owner === undefined ? undefined : this.#lost.get(pod.owner.uid)?.shift();
    if (owed !== undefined) this.#cameAgain++;
    const arrivedAtMs = owed?.arrivedAtMs ?? Math.max(pod.createdAtMs, this.#startMs);
    const present = { pod, arrivedAtMs, startedAtMs: undefined };
    this.#present.set(pod.uid, present);
    return present;
  }

  #end(present: Present, endedAtMs: number, nowMs: number): void {
    const { pod, arrivedAtMs, startedAtMs } = present;
    this.#present.delete(pod.uid);
    this.#over.add(pod.uid);
    if (pod.owner === undefined || endedByItself(pod)) return this.#record(present, endedAtMs);
    const lost = this.#lost.get(pod.owner.uid) ?? [];
    this.#lost.set(pod.owner.uid, [...lost, { pod, arrivedAtMs, startedAtMs, lostAtMs: nowMs }]);
  }

  #record({ pod, arrivedAtMs, startedAtMs }: Present | Lost, endedAtMs: number): void {
    if (startedAtMs === undefined) {
      this.#neverStarted++;
      return;
    }
    const ranMs = Math.max(0, endedAtMs - Math.max(startedAtMs, this.#startMs));
    const { namespace, owner } = pod;
    this.#ended.push({ namespace, name: owner?.name ?? pod.name, isOwned: owner !== undefined, pod: pod.pod, arrivedAtMs, ranMs });
  }
}

/** Others are lost: the owner creates another one, unless it is deleted, too. */
function endedByItself({ phase, isDisrupted }: ObservedPod): boolean {
  return phase === 'succeeded' || (phase === 'failed' && !isDisrupted);
}
