/** What a day may cost, and how long its pods may wait. The limits are far from what a good day shows, so that they do not depend on a seed. */
import type { PodObject } from '../../../world/simulator/cluster/store/objects.ts';
import type { VirtualRun } from '../../support/virtual-world.ts';
import type { DayFigures } from './meters.ts';

interface Limit {
  readonly what: string;
  readonly value: (figures: DayFigures) => number;
  readonly most: number;
}

/** Of nodes that were removed, the share that lived too short. */
function churn({ nodes }: DayFigures): number {
  return nodes.removedByDaemon === 0 ? 0 : nodes.shortLived / nodes.removedByDaemon;
}

const LIMITS: readonly Limit[] = [
  { what: 'vCPU hours for each hour of requested CPU', value: ({ cost }) => cost.ratio, most: 3 },
  { what: 'share of removed nodes that lived less than 20 minutes', value: churn, most: 0.25 },
  { what: 'median wait of a pod in seconds', value: ({ pods }) => pods.p50Seconds, most: 120 },
  { what: '95th percentile of the wait of a pod in minutes', value: ({ pods }) => pods.p95Seconds / 60, most: 15 },
  { what: 'calls of Azure in a minute', value: ({ arm }) => arm.perMinute, most: 40 },
  { what: 'calls of Azure in a minute of the busiest ten', value: ({ arm }) => arm.busiestPerMinute, most: 120 },
  { what: 'calls that Azure refused for want of a valid token', value: ({ arm }) => arm.unauthorized, most: 0 },
  { what: 'median seconds from a refusal to an increase of another pool', value: ({ fallback }) => fallback.p50Seconds, most: 90 },
  { what: 'MiB of memory gained in an hour', value: ({ heapMiBPerHour }) => heapMiBPerHour, most: 1 },
];

export function exceededLimits(figures: DayFigures): readonly string[] {
  return LIMITS.flatMap(({ what, value, most }) => {
    const found = value(figures);
    return found > most ? [`limit ${what}: ${Math.round(found * 100) / 100}, at most ${most}`] : [];
  });
}

const WAITS_TOO_LONG_MS = 25 * 60_000;
const LOOK_EVERY_MS = 60_000;

/** What the judge asks of a waiting pod: some pool that could take it, or undefined. */
export type AblePool = (pod: PodObject) => string | undefined;

/** Pods that wait for long although a pool could take them all that time, each once. */
export class LongWaits {
  readonly violations: string[] = [];
  readonly #ableSince = new Map<string, number>();

  /** Looks each minute from now on. */
  watch(run: VirtualRun, able: AblePool): void {
    const nowMs = run.clock.now();
    const pods = run.world.cluster.store.pendingPods();
    const waiting = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#ableSince.keys()) if (!waiting.has(uid)) this.#ableSince.delete(uid);
    for (const pod of pods) this.#look(pod, able(pod), nowMs);
    run.clock.after(LOOK_EVERY_MS, () => this.watch(run, able));
  }

  #look({ metadata }: PodObject, pool: string | undefined, nowMs: number): void {
    const { uid, name } = metadata;
    if (pool === undefined) {
      this.#ableSince.delete(uid);
      return;
    }
    const sinceMs = this.#ableSince.get(uid) ?? nowMs;
    this.#ableSince.set(uid, sinceMs);
    if (nowMs - sinceMs < WAITS_TOO_LONG_MS) return;
    this.violations.push(`pod-waits ${name} for 25 minutes although ${pool} could take it, at ${nowMs}`);
    this.#ableSince.set(uid, Number.POSITIVE_INFINITY);
  }
}
