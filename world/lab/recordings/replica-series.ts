/**
 * The pods that one controller wants: from the number in its spec, if that can be read, else from the pods that it has. Knows when
 * another template replaces the present one. Must not know the format of a recording.
 */
import type { LoadPod } from '../loads/load.ts';
import type { ObservedPod } from './observed.ts';
import { SustainedLevel, type LevelChange } from './sustained-level.ts';

/** What a Deployment adds and takes during a rollout unless it says otherwise; Kubernetes rounds up. */
const ROLLOUT_SHARE = 0.25;

interface Template {
  readonly pod: LoadPod;
  /** Of its first pod. */
  readonly fromMs: number;
  live: number;
}

export type SeriesChange =
  | ({ readonly kind: 'replicas' } & LevelChange)
  | { readonly kind: 'template'; readonly atMs: number; readonly pod: LoadPod };

/** One owner's series. Pods that are leaving, finished or lost do not count. */
export class ReplicaSeries {
  readonly #counted: SustainedLevel;
  readonly #revisions = new Map<string, number>();
  readonly #templates = new Map<LoadPod, Template>();
  #live = 0;
  #wanted: number | undefined;
  /** The changes of the wanted number that are not taken yet. */
  #changes: LevelChange[] = [];
  #written = 0;
  #template: LoadPod | undefined;

  constructor(settleMs: number, startMs: number) {
    this.#counted = new SustainedLevel(settleMs, { atMs: startMs, count: 0 });
  }

  /** The present template. undefined: it has had no pod yet. */
  get template(): LoadPod | undefined {
    return this.#template;
  }

  /** Whether there is nothing left to follow. */
  get isOver(): boolean {
    return this.#live === 0 && this.#written === 0 && (this.#wanted ?? 0) === 0 && this.#changes.length === 0 && !this.#counted.isOpen;
  }

  /** The number that the recording already has. */
  resume(count: number): void {
    this.#written = count;
  }

  /** At the start: the number counts at once. */
  begin(atMs: number): void {
    this.#changes = [{ atMs, count: this.#wanted ?? this.#live }];
    this.#counted.restart({ atMs, count: this.#live });
  }

  want(count: number, atMs: number): void {
    if (count === this.#wanted) return;
    this.#wanted = count;
    this.#changes.push({ atMs, count });
  }

  enter({ pod, createdAtMs, revision }: ObservedPod, atMs: number): void {
    this.#live++;
    const known = this.#templates.get(pod);
    if (known === undefined) this.#templates.set(pod, { pod, fromMs: Math.max(createdAtMs, 0), live: 1 });
    else known.live++;
    if (revision !== undefined) this.#revisions.set(revision, (this.#revisions.get(revision) ?? 0) + 1);
    this.#template ??= pod;
    this.#count(atMs);
  }

  leave({ pod, revision }: ObservedPod, atMs: number): void {
    this.#live--;
    const known = this.#templates.get(pod);
    if (known !== undefined && --known.live === 0 && pod !== this.#template) this.#templates.delete(pod);
    const left = (revision === undefined ? 0 : (this.#revisions.get(revision) ?? 0)) - 1;
    if (revision !== undefined && left <= 0) this.#revisions.delete(revision);
    else if (revision !== undefined) this.#revisions.set(revision, left);
    this.#count(atMs);
  }

  /** What is certain by now, in order of time. A template comes only after the first pod, and so does a number. */
  take(nowMs: number): readonly SeriesChange[] {
    if (this.#template === undefined) return [];
    const counted = this.#counted.settle(nowMs);
    const levels = this.#wanted === undefined ? [...this.#changes, ...counted] : this.#changes;
    this.#changes = [];
    const replicas = levels.filter(({ count }) => {
      const isNew = count !== this.#written;
      this.#written = count;
      return isNew;
    });
    return [...this.#takeTemplate(), ...replicas.map((change) => ({ kind: 'replicas' as const, ...change }))];
  }

  /** During a rollout, numbers near the present one are the rollout's. */
  #count(atMs: number): void {
    const { level } = this.#counted;
    const isRollout = this.#revisions.size > 1;
    const near = Math.abs(this.#live - level) <= Math.ceil(level * ROLLOUT_SHARE);
    this.#counted.add(atMs, isRollout && near ? level : this.#live);
  }

  /** The template that most pods have. */
  #takeTemplate(): readonly SeriesChange[] {
    const present = [...this.#templates.values()].find(({ live }) => live * 2 > this.#live);
    if (present === undefined || present.pod === this.#template) return [];
    if (this.#template !== undefined) this.#templates.delete(this.#template);
    this.#template = present.pod;
    return [{ kind: 'template', atMs: present.fromMs, pod: present.pod }];
  }
}
