/** One accepted increase in the history: how far its instances and its pods have come. Must not know which instances are its own. */
import { type DurationSummary, SCALE_UP_STAGES, type ScaleUpProgress, type StageProgress } from '../../domain/history.ts';
import type { NodeGroupId, PodUid } from '../../domain/ids.ts';
import type { FollowedInstances } from '../../domain/loop-state.ts';
import type { Pod } from '../../domain/pod.ts';
import { defined } from '../../lib/defined.ts';

interface TrackedScaleUpInput extends Pick<ScaleUpProgress, 'id' | 'group' | 'from' | 'to' | 'cause' | 'decision'> {
  /** The name under which the loop follows it. */
  readonly followedId: string;
  readonly decidedMs: number;
  readonly acceptedMs: number;
  /** Whether all its nodes are stopped instances that are started. */
  readonly isStart: boolean;
  readonly pods: readonly Pod[];
}

type Instances = FollowedInstances['instances'];

const AT_STAGE = { created: 'createdAtMs', registered: 'registeredAtMs', ready: 'readyAtMs' } as const;

/** Nodes and pods that have not come after this time are not expected any more. */
const ENDS_AFTER_MS = 3_600_000;

export class TrackedScaleUp {
  readonly #input: Omit<TrackedScaleUpInput, 'pods'>;
  readonly #podCount: number;
  readonly #waiting: Set<PodUid>;
  #instances: Instances = new Map();
  #boundMs: number | undefined;
  #bound = 0;
  #failure: string | undefined;
  #ended: { readonly atMs: number; readonly stages: readonly StageProgress[] } | undefined;

  constructor({ pods, ...input }: TrackedScaleUpInput) {
    this.#input = input;
    this.#waiting = new Set(pods.map(({ uid }) => uid));
    this.#podCount = pods.length;
  }

  get group(): NodeGroupId {
    return this.#input.group;
  }

  get followedId(): string {
    return this.#input.followedId;
  }

  get acceptedMs(): number {
    return this.#input.acceptedMs;
  }

  get isStart(): boolean {
    return this.#input.isStart;
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

  get instances(): Instances {
    return this.#instances;
  }

  /** As the loop has given them to the increase by now. */
  reached(instances: Instances): void {
    this.#instances = instances;
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
    const ready = [...this.#instances.values()].filter(({ readyAtMs }) => readyAtMs !== undefined).length;
    const { from, to } = this.#input;
    const hasCome = ready === this.#instances.size && ready >= to - from && this.#waiting.size === 0;
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
    this.#instances = new Map();
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
    const times = [...this.#instances.values()].flatMap((stages) => stages[AT_STAGE[stage]] ?? []);
    return { stage, count: times.length, ...(times.length === 0 ? {} : { atMs: Math.max(...times) }) };
  }
}
