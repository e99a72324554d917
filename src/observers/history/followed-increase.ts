/** One accepted increase: which instances and pods are its, and how far each has come. */
import { type DurationSummary, SCALE_UP_STAGES, type ScaleUpProgress, type StageProgress } from '../../domain/history.ts';
import type { InstanceKey, NodeGroupId, PodUid } from '../../domain/ids.ts';
import type { Pod } from '../../domain/pod.ts';
import { defined } from '../../lib/defined.ts';

interface FollowedIncreaseInput extends Pick<ScaleUpProgress, 'id' | 'group' | 'from' | 'to' | 'cause' | 'decision'> {
  readonly decidedMs: number;
  readonly acceptedMs: number;
  readonly pods: readonly Pod[];
}

/** When an instance reached each stage, milliseconds since the epoch. */
export interface InstanceStages {
  readonly created: number;
  readonly registered?: number;
  readonly ready?: number;
}

/** Nodes and pods that have not come after this time are not expected any more. */
const ENDS_AFTER_MS = 3_600_000;

export class FollowedIncrease {
  readonly #input: Omit<FollowedIncreaseInput, 'pods'>;
  readonly #podCount: number;
  readonly #waiting: Set<PodUid>;
  readonly #instances = new Map<InstanceKey, InstanceStages>();
  #boundMs: number | undefined;
  #bound = 0;
  #failure: string | undefined;
  #ended: { readonly atMs: number; readonly stages: readonly StageProgress[] } | undefined;

  constructor({ pods, ...input }: FollowedIncreaseInput) {
    this.#input = input;
    this.#waiting = new Set(pods.map(({ uid }) => uid));
    this.#podCount = pods.length;
  }

  get group(): NodeGroupId {
    return this.#input.group;
  }

  get acceptedMs(): number {
    return this.#input.acceptedMs;
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** How many of its pods were seen on a node. */
  get bound(): number {
    return this.#bound;
  }

  /** Pods that were not seen on a node yet. */
  get waiting(): ReadonlySet<PodUid> {
    return this.#waiting;
  }

  get misses(): number {
    return this.isOpen ? Math.max(0, this.#input.to - this.#input.from - this.#instances.size) : 0;
  }

  stagesOf(instance: InstanceKey): InstanceStages | undefined {
    return this.#instances.get(instance);
  }

  reach(instance: InstanceKey, stages: InstanceStages): void {
    this.#instances.set(instance, stages);
  }

  podBound(uid: PodUid, atMs: number): void {
    if (!this.#waiting.delete(uid)) return;
    this.#bound += 1;
    this.#boundMs = atMs;
  }

  fail(failure: string, atMs: number): void {
    this.#failure ??= failure;
    this.#end(atMs);
  }

  /** Ends it if all its nodes are ready and none of its pods is pending, or if it is too old. */
  settle(pending: ReadonlySet<PodUid>, nowMs: number): void {
    if (!this.isOpen) return;
    for (const uid of this.#waiting) if (!pending.has(uid)) this.#waiting.delete(uid);
    const ready = [...this.#instances.values()].filter((stages) => stages.ready !== undefined).length;
    const hasCome = this.misses === 0 && ready === this.#instances.size && this.#waiting.size === 0;
    if (hasCome || nowMs - this.acceptedMs > ENDS_AFTER_MS) this.#end(nowMs);
  }

  progress(timeToReady: DurationSummary | undefined): ScaleUpProgress {
    const { id, group, from, to, cause, decision, acceptedMs } = this.#input;
    const expectation =
      timeToReady === undefined ? {} : { expectedReadyMs: acceptedMs + timeToReady.p50Ms, lateAfterMs: acceptedMs + timeToReady.p90Ms };
    const ends = defined({ failure: this.#failure, endedMs: this.#ended?.atMs });
    return {
      id,
      group,
      from,
      to,
      cause,
      decision,
      pods: this.#podCount,
      stages: this.#ended?.stages ?? this.#stages(),
      ...expectation,
      ...ends,
    };
  }

  /** What came of each instance and pod is not needed any more: a day has hundreds of increases, one of a thousand nodes takes 300 kB. */
  #end(atMs: number): void {
    if (!this.isOpen) return;
    this.#ended = { atMs, stages: this.#stages() };
    this.#instances.clear();
    this.#waiting.clear();
  }

  #stages(): readonly StageProgress[] {
    return SCALE_UP_STAGES.map((stage) => this.#stage(stage));
  }

  #stage(stage: StageProgress['stage']): StageProgress {
    const { decidedMs, acceptedMs, from, to } = this.#input;
    if (stage === 'decided') return { stage, atMs: decidedMs, count: to - from };
    if (stage === 'accepted') return { stage, atMs: acceptedMs, count: to - from };
    if (stage === 'bound') return { stage, count: this.#bound, ...defined({ atMs: this.#boundMs }) };
    const times = [...this.#instances.values()].flatMap((stages) => stages[stage] ?? []);
    return { stage, count: times.length, ...(times.length === 0 ? {} : { atMs: Math.max(...times) }) };
  }
}
