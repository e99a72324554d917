/** Short forms of what a recorder sees. Times are seconds after the start. */
import type { LoadPod } from '../../../lab/loads/load.ts';
import type { RecordingLine } from '../../../lab/loads/recording-lines.ts';
import { LoadRecorder, type RecorderOptions } from '../../../lab/recordings/load-recorder.ts';
import type { ObservedNode, ObservedPod, ObservedRefusal } from '../../../lab/recordings/observed.ts';

export const START_MS = 1_760_000_000_000;
export const SMALL: LoadPod = { containers: [{ requests: { cpu: '500m' } }] };
export const LARGE: LoadPod = { containers: [{ requests: { cpu: '2' } }] };

export function at(seconds: number): number {
  return START_MS + seconds * 1_000;
}

/** Running since the start, a replica of the Deployment `shop/web`. */
export function replica(uid: string, more: Partial<ObservedPod> = {}): ObservedPod {
  return {
    uid,
    namespace: 'shop',
    name: `web-${uid}`,
    owner: { kind: 'Deployment', name: 'web', uid: 'web' },
    role: 'replica',
    pod: SMALL,
    createdAtMs: START_MS,
    phase: 'running',
    isLeaving: false,
    isDisrupted: false,
    ...more,
  };
}

/** Pending since the start, of the Job `shop/sums`. */
export function jobPod(uid: string, more: Partial<ObservedPod> = {}): ObservedPod {
  return {
    ...replica(uid),
    name: `sums-${uid}`,
    owner: { kind: 'Job', name: 'sums', uid: 'sums' },
    role: 'run',
    phase: 'pending',
    ...more,
  };
}

export function aNode(name: string, more: Partial<ObservedNode> = {}): ObservedNode {
  return {
    name,
    createdAtMs: START_MS,
    pool: 'general',
    vmSize: 'Standard_D4s_v5',
    isSpot: false,
    labels: {},
    taints: [],
    isLeaving: false,
    isPreempted: false,
    ...more,
  };
}

/** Follows a script and collects the lines, as the command does: time passes in steps of ten seconds. */
export class Session {
  readonly recorder: LoadRecorder;
  readonly lines: RecordingLine[] = [];
  #now = 0;

  constructor(options: Partial<RecorderOptions> = {}) {
    this.recorder = new LoadRecorder({ startMs: START_MS, ...options });
  }

  begin(seconds = 0): this {
    this.#now = seconds;
    this.recorder.begin(at(seconds));
    return this.take();
  }

  pass(untilSeconds: number): this {
    while (this.#now < untilSeconds) {
      this.#now = Math.min(untilSeconds, this.#now + 10);
      this.take();
    }
    return this;
  }

  play(story: readonly Step[]): this {
    for (const step of story) {
      if (typeof step === 'number') this.pass(step);
      else step(this, at(this.#now));
    }
    return this;
  }

  /** Azure refuses now. */
  refuse(more: Partial<ObservedRefusal> = {}): this {
    this.recorder.seeRefusal({ atMs: at(this.#now), pool: 'general', why: 'stock', ...more });
    return this;
  }

  node(name: string, more: Partial<ObservedNode> = {}): this {
    this.recorder.seeNode(aNode(name, { createdAtMs: at(this.#now), ...more }), at(this.#now));
    return this;
  }

  end(): this {
    this.lines.push(...this.recorder.end(at(this.#now)));
    return this;
  }

  /** `seconds what`, by workload, without descriptions. */
  events(): readonly string[] {
    const names = new Map(
      this.lines.flatMap((line) => (line.kind === 'workload' ? [[line.workload.id, line.workload.name] as const] : [])),
    );
    return this.lines.flatMap((line) => {
      const when = 'atMs' in line ? line.atMs / 1_000 : 0;
      const name = 'workload' in line && typeof line.workload === 'string' ? (names.get(line.workload) ?? 'unknown') : '';
      if (line.kind === 'replicas') return [`${when} ${name}=${line.count}`];
      if (line.kind === 'run') return [`${when} ${name} for ${line.runMs / 1_000}`];
      if (line.kind === 'template') return [`${when} ${name} ${String(line.pod.containers[0]?.requests?.['cpu'])}`];
      if (line.kind === 'spot-eviction') return [`${when} ${line.pool} lost ${line.count}`];
      if (line.kind === 'stock')
        return [`${when} stock of ${line.vmSize} ${line.zone ?? 'anywhere'} ${line.priority ?? ''}: ${line.count}`];
      if (line.kind === 'refusal') return [`${when} ${line.pool} refused by ${line.why} for ${line.forMs / 1_000}`];
      if (line.kind === 'failure') return [`${when} ${line.pool} ${line.how} ${line.count}`];
      if (line.kind === 'node-failure')
        return [`${when} ${line.pool} not ready for ${line.forMs === undefined ? 'ever' : line.forMs / 1_000}`];
      if (line.kind === 'gap') return [`${when} gap until ${line.untilMs / 1_000}`];
      return [];
    });
  }

  take(): this {
    this.lines.push(...this.recorder.take(at(this.#now)));
    return this;
  }
}

/** A number lets time pass until that second. */
export type Step = number | ((session: Session, nowMs: number) => unknown);

export const begin: Step = (session) => session.begin();

export function see(...pods: readonly ObservedPod[]): Step {
  return ({ recorder }, nowMs) => pods.forEach((pod) => recorder.seePod(pod, nowMs));
}

export function forget(...uids: readonly string[]): Step {
  return ({ recorder }, nowMs) => uids.forEach((uid) => recorder.forgetPod(uid, nowMs));
}

/** The Deployment `shop/web` states its number. */
export function want(replicas: number): Step {
  return ({ recorder }, nowMs) => recorder.setReplicas({ kind: 'Deployment', namespace: 'shop', name: 'web', replicas }, nowMs);
}
