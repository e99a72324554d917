/**
 * Turns what is seen of a cluster into the lines of a recording. The room makes a load of observations: what was wanted, not what became
 * of it, so that the same load can be given to another autoscaler. Must not know where observations come from, a simulator, or time but
 * from its arguments.
 */
import { isDeepStrictEqual } from 'node:util';
import type { LoadPod, LoadPool, Workload } from '../loads/load.ts';
import type { RecordingLine } from '../loads/recording-lines.ts';
import type { NameHasher } from './name-hasher.ts';
import { FaultWatch, type FaultCounts } from './fault-watch.ts';
import {
  seriesKey,
  type ObservedBudget,
  type ObservedLimits,
  type ObservedNode,
  type ObservedPod,
  type ObservedRefusal,
  type ObservedReplicas,
} from './observed.ts';
import type { KnownRecording } from './known-recording.ts';
import { PodRuns, type Run } from './pod-runs.ts';
import { PoolWatch } from './pool-watch.ts';
import { ReplicaSeries } from './replica-series.ts';
import { WorkloadBook } from './workload-book.ts';

/** Longer than pods take to be replaced; shorter than an autoscaler of pods waits between two of its changes. */
const SETTLE_MS = 120_000;
/** Finer times are noise: the API server writes whole seconds. */
const GRAIN_MS = 1_000;

export interface RecorderOptions {
  /** When the recording begins, milliseconds since the epoch. */
  readonly startMs: number;
  /** If absent, names are readable. */
  readonly hasher?: NameHasher;
  /** What the file holds already. If absent, it is new. */
  readonly known?: KnownRecording;
  /** How long a number of pods must last to count, where no controller states it. Default: two minutes. */
  readonly settleMs?: number;
}

export interface RecordedCounts extends FaultCounts {
  readonly workloads: number;
  readonly runs: number;
  readonly neverStarted: number;
  readonly cameAgain: number;
}

interface Followed {
  readonly kind: Workload['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly series: ReplicaSeries;
}

/** Observations in, lines out. Times of all arguments are milliseconds since the epoch. */
export class LoadRecorder {
  readonly #options: RecorderOptions;
  readonly #book: WorkloadBook;
  readonly #runs: PodRuns;
  readonly #pools = new PoolWatch();
  readonly #faults: FaultWatch;
  readonly #early: ObservedRefusal[] = [];
  readonly #notes = new Set<string>();
  readonly #series = new Map<string, Followed>();
  /** Pods that count in their series. */
  readonly #counted = new Map<string, ObservedPod>();
  /** By owner, until they are described. */
  readonly #daemons = new Map<string, ObservedPod>();
  /** The template of each workload, as seen and as written: one that had no pods for a while may come back with another one. */
  readonly #seen = new Map<string, LoadPod>();
  readonly #written: Map<string, LoadPod>;
  #hasBegun = false;
  #runsRecorded = 0;
  /** Of all lines, milliseconds after the start. */
  #latestMs = 0;
  #lines: RecordingLine[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#book = new WorkloadBook(options.hasher, options.known?.workloads);
    this.#runs = new PodRuns(options.startMs, options.known?.untilMs);
    this.#written = new Map(options.known?.templates);
    this.#faults = new FaultWatch({
      poolNamed: (name) => this.#pools.named(name),
      relative: (atMs) => this.#relative(atMs),
      startMs: options.startMs,
    });
  }

  get counts(): RecordedCounts {
    return { workloads: this.#book.size, runs: this.#runsRecorded, ...this.#runs.counts, ...this.#faults.counts };
  }

  /** A pod that is new or has changed. */
  seePod(pod: ObservedPod, nowMs: number): void {
    this.#book.learn(pod.pod);
    if (pod.role === 'run') this.#runs.see(pod, nowMs);
    else if (pod.role === 'replica') this.#count(pod, nowMs);
    else if (pod.owner !== undefined) this.#daemons.set(seriesKey({ ...pod.owner, namespace: pod.namespace }), pod);
  }

  forgetPod(uid: string, nowMs: number): void {
    this.#runs.forget(uid, nowMs);
    this.#uncount(uid, nowMs);
  }

  setReplicas(of: ObservedReplicas, nowMs: number): void {
    this.#follow(of).series.want(of.replicas, nowMs);
  }

  removeReplicas(of: Omit<ObservedReplicas, 'replicas'>, nowMs: number): void {
    this.#series.get(seriesKey(of))?.series.want(0, nowMs);
  }

  setBudget(budget: ObservedBudget): void {
    this.#book.setBudget(budget);
  }

  removeBudget(budget: ObservedBudget): void {
    this.#book.removeBudget(budget);
  }

  seeNode(node: ObservedNode, nowMs: number): void {
    const isNew = this.#pools.see(node, this.#relative(nowMs));
    this.#faults.seeNode(node, nowMs, isNew);
  }

  forgetNode(name: string, nowMs: number): void {
    this.#pools.forget(name, this.#relative(nowMs));
    this.#faults.forgetNode(name);
  }

  /** What Azure refused. Moments before the start do not count. */
  seeRefusal(refusal: ObservedRefusal): void {
    // Pools are known only then.
    if (this.#hasBegun) this.#faults.refuse(refusal);
    else this.#early.push(refusal);
  }

  /** Minimum and maximum of pools, as their autoscaler publishes them. */
  setLimits(limits: readonly ObservedLimits[], nowMs: number): void {
    this.#pools.limit(limits, this.#relative(nowMs));
  }

  /** Pools with limits that nothing says. */
  get poolsWithoutLimits(): readonly string[] {
    return this.#pools.unlimited;
  }

  /** Records a sentence for readers of the recording, once. It must not hold names. */
  note(sentence: string): void {
    if (this.#notes.has(sentence)) return;
    this.#notes.add(sentence);
    this.#lines.push({ kind: 'note', text: sentence });
  }

  /** Pools as Azure reports them, all of them. */
  setPools(pools: readonly LoadPool[], nowMs: number): void {
    this.#pools.report(pools, this.#relative(nowMs));
  }

  /** The first picture is complete: what is there now is the load at the start, or goes on from what the file holds. */
  begin(nowMs: number): void {
    this.#hasBegun = true;
    const { known, startMs } = this.#options;
    for (const { series } of this.#series.values()) series.begin(known === undefined ? startMs : nowMs);
    if (known === undefined) this.#write(this.#pools.begin().map((pool) => ({ kind: 'start-pool', pool })));
    else this.#continue(known, nowMs);
    for (const refusal of this.#early.splice(0)) this.#faults.refuse(refusal);
  }

  /** Nothing was seen from then until now. */
  markGap(fromMs: number, nowMs: number): void {
    this.#write([{ kind: 'gap', atMs: this.#relative(fromMs), untilMs: this.#relative(nowMs) }]);
  }

  /** What is certain by now. Lines may be earlier than lines before. */
  take(nowMs: number): readonly RecordingLine[] {
    if (!this.#hasBegun) return [];
    for (const { namespace, owner, pod } of this.#daemons.values())
      if (owner !== undefined) this.#book.idOf({ kind: 'DaemonSet', namespace, name: owner.name, pod });
    this.#daemons.clear();
    this.#recordRuns(this.#runs.take(nowMs));
    for (const [key, followed] of this.#series) {
      this.#recordSeries(followed, nowMs);
      if (followed.series.isOver) this.#series.delete(key);
    }
    this.#write([...this.#pools.take(), ...this.#faults.take(nowMs)]);
    const lines = [...this.#book.take(), ...this.#lines];
    this.#lines = [];
    for (const line of lines) if ('atMs' in line) this.#latestMs = Math.max(this.#latestMs, line.atMs);
    return lines;
  }

  /** The recording ends now: what runs has run until now. */
  end(nowMs: number): readonly RecordingLine[] {
    this.#recordRuns(this.#runs.end(nowMs));
    this.#write(this.#faults.end(nowMs));
    this.#noteUnknownPools();
    const lines = this.take(Number.POSITIVE_INFINITY);
    // The clock of the API server may be ahead: nothing may be later than the end.
    return [...lines, { kind: 'end', atMs: Math.max(this.#relative(nowMs), this.#latestMs) }];
  }

  /** A pod that is finished or leaves is not one of those that its owner wants. */
  #count(pod: ObservedPod, nowMs: number): void {
    const counts = !pod.isLeaving && (pod.phase === 'pending' || pod.phase === 'running');
    if (!counts) return this.#uncount(pod.uid, nowMs);
    const before = this.#counted.get(pod.uid);
    if (before?.pod === pod.pod) return;
    if (before !== undefined) this.#uncount(pod.uid, nowMs);
    this.#counted.set(pod.uid, pod);
    this.#seriesOf(pod)?.enter(pod, nowMs);
  }

  #uncount(uid: string, nowMs: number): void {
    const counted = this.#counted.get(uid);
    if (counted === undefined) return;
    this.#counted.delete(uid);
    this.#seriesOf(counted)?.leave(counted, nowMs);
  }

  #seriesOf({ owner, namespace }: ObservedPod): ReplicaSeries | undefined {
    return owner === undefined ? undefined : this.#follow({ kind: owner.kind, namespace, name: owner.name }).series;
  }

  #follow(of: Omit<ObservedReplicas, 'replicas'>): Followed {
    const key = seriesKey(of);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const { startMs, settleMs = SETTLE_MS } = this.#options;
    const followed = { kind: kindOf(of.kind), namespace: of.namespace, name: of.name, series: new ReplicaSeries(settleMs, startMs) };
    this.#series.set(key, followed);
    return followed;
  }

  #recordSeries(followed: Followed, nowMs: number): void {
    const { series } = followed;
    for (const change of series.take(nowMs)) {
      const workload = this.#idOf(followed);
      const atMs = this.#relative(change.atMs);
      if (workload === undefined) continue;
      this.#recordTemplate(workload, change.kind === 'template' ? change.pod : series.template, atMs);
      if (change.kind === 'replicas') this.#lines.push({ kind: 'replicas', atMs, workload, count: change.count });
    }
  }

  /** Labels that were learned later are no rollout. */
  #recordTemplate(workload: string, template: LoadPod | undefined, atMs: number): void {
    if (template === undefined || this.#seen.get(workload) === template) return;
    this.#seen.set(workload, template);
    const pod = this.#book.template(template);
    const before = this.#written.get(workload);
    this.#written.set(workload, pod);
    if (before !== undefined && !isDeepStrictEqual({ ...before, labels: {} }, { ...pod, labels: {} }))
      this.#lines.push({ kind: 'template', atMs, workload, pod });
  }

  #idOf({ series: { template: pod }, ...workload }: Followed): string | undefined {
    return pod === undefined ? undefined : this.#book.idOf({ ...workload, pod });
  }

  #recordRuns(runs: readonly Run[]): void {
    this.#runsRecorded += runs.length;
    for (const { namespace, name, isOwned, pod, arrivedAtMs, ranMs } of runs) {
      const workload = this.#book.idOf({ kind: isOwned ? 'Job' : 'Pod', namespace, name, pod });
      this.#lines.push({ kind: 'run', atMs: this.#relative(arrivedAtMs), workload, runMs: grain(ranMs) });
    }
  }

  /** Workloads of the file that are gone want nothing from now on. */
  #continue({ replicas, pools }: KnownRecording, nowMs: number): void {
    const atMs = this.#relative(nowMs);
    const left = new Map(replicas);
    for (const followed of this.#series.values()) {
      const id = this.#idOf(followed);
      if (id === undefined) continue;
      followed.series.resume(left.get(id) ?? 0);
      left.delete(id);
      this.#recordTemplate(id, followed.series.template, atMs);
    }
    for (const workload of left.keys()) this.#lines.push({ kind: 'replicas', atMs, workload, count: 0 });
    this.#pools.resume(pools, atMs, (pool) => this.#options.hasher?.pool(pool) ?? pool);
  }

  #noteUnknownPools(): void {
    const count = this.#faults.unknownPools.length;
    if (count > 0)
      this.note(`${count === 1 ? 'A pool' : `${count} pools`} had no node, and Azure was not read: their refusals are not recorded.`);
  }

  #write(lines: readonly RecordingLine[]): void {
    const { hasher } = this.#options;
    for (const line of lines) this.#lines.push(hasher === undefined ? line : hashedLine(line, hasher));
  }

  #relative(atMs: number): number {
    return Math.max(0, grain(atMs - this.#options.startMs));
  }
}

function grain(ms: number): number {
  return Math.round(ms / GRAIN_MS) * GRAIN_MS;
}

function kindOf(kind: string): Workload['kind'] {
  if (kind === 'ReplicaSet' || kind === 'StatefulSet') return kind;
  return kind === 'ReplicationController' ? 'ReplicaSet' : 'Deployment';
}

function hashedLine(line: RecordingLine, hasher: NameHasher): RecordingLine {
  switch (line.kind) {
    case 'start-pool':
    case 'pool':
      return { ...line, pool: hasher.pool(line.pool) };
    case 'pool-removed':
    case 'spot-eviction':
    case 'failure':
    case 'refusal':
    case 'node-failure':
      return { ...line, pool: hasher.poolName(line.pool) };
    default:
      return line;
  }
}
