/**
 * The demo's closing account, made from what the world wrote down: its journal, its operations, its pods and events.
 * Nothing in `ok` comes from what the daemon says of itself. Pure.
 */
import { compareBy } from '../../lib/comparison.ts';

/** One request to ARM that the daemon made, as the emulator's journal has it. */
export interface ArmCall {
  readonly seq: number;
  readonly atMs: number;
  readonly method: string;
  /** Path with its names taken out. */
  readonly route: string;
  readonly status: number;
  readonly pool: string | undefined;
  readonly capacityBefore: number | undefined;
  readonly capacityAfter: number | undefined;
  /** How many instances a delete named. */
  readonly instances: number;
}

export interface FailedOperation {
  readonly pool: string;
  readonly code: string;
  readonly endedMs: number;
}

/** A pod as the watcher saw it over its life. */
export interface PodHistory {
  readonly uid: string;
  readonly unschedulableMs: number | undefined;
  /** Groups named by TriggeredScaleUp events on it. */
  readonly triggered: readonly string[];
  readonly bound: boolean;
  readonly gone: boolean;
}

/** A pod that left its node by the Eviction API. */
export interface Eviction {
  readonly pod: string;
  readonly pool: string;
}

export interface Account {
  readonly startedMs: number;
  readonly endedMs: number;
  readonly calls: readonly ArmCall[];
  readonly failures: readonly FailedOperation[];
  readonly pods: readonly PodHistory[];
  readonly evictions: readonly Eviction[];
  readonly violations: readonly { readonly rule: string; readonly subject: string; readonly detail: string }[];
  /** From the daemon's metrics; not part of `ok`. */
  readonly replans: number;
  /** What the story expected of the world at its end; an empty list means all of it came true. */
  readonly unmet: readonly string[];
}

export interface Summary {
  readonly ok: boolean;
  readonly durationSeconds: number;
  readonly pods: { readonly created: number; readonly bound: number; readonly pendingAtEnd: number };
  readonly scaleUps: readonly {
    readonly group: string;
    readonly from: number;
    readonly to: number;
    readonly pods: number;
    readonly secondsFromUnschedulable: number;
  }[];
  readonly scaleDowns: readonly { readonly group: string; readonly nodes: number; readonly evictedPods: number }[];
  readonly conflicts: { readonly seen: number; readonly replannedInSameLoop: number };
  readonly stockouts: readonly { readonly group: string; readonly code: string; readonly secondsToFallback: number }[];
  readonly lostUpdates: number;
  readonly armCalls: Readonly<Record<string, number>>;
  readonly violations: Account['violations'];
  readonly unmet: readonly string[];
}

const CAPACITY_WRITE = 'PUT';

export function summarize(account: Account): Summary {
  const pods = account.pods.filter((pod) => !pod.gone || pod.bound);
  const writes = account.calls.filter((call) => call.method === CAPACITY_WRITE && call.pool !== undefined);
  const pendingAtEnd = account.pods.filter((pod) => !pod.gone && !pod.bound).length;
  const summary = {
    durationSeconds: seconds(account.endedMs - account.startedMs),
    pods: { created: account.pods.length, bound: pods.filter((pod) => pod.bound).length, pendingAtEnd },
    scaleUps: scaleUps(
      writes.filter((call) => call.status < 300),
      account.pods,
    ),
    scaleDowns: scaleDowns(account),
    conflicts: { seen: writes.filter((call) => call.status === 412).length, replannedInSameLoop: account.replans },
    stockouts: account.failures.map((failure) => stockout(failure, writes)),
    lostUpdates: account.violations.filter((violation) => violation.rule === 'lost-update').length,
    armCalls: countBy(account.calls.map((call) => `${call.method} ${call.route}`)),
    violations: account.violations,
    unmet: account.unmet,
  };
  return { ok: pendingAtEnd === 0 && account.violations.length === 0 && account.unmet.length === 0, ...summary };
}

/** A pod belongs to the first accepted write to each pool that its events name, after it turned unschedulable. */
function scaleUps(writes: readonly ArmCall[], pods: readonly PodHistory[]): Summary['scaleUps'] {
  const counted = new Set<string>();
  return writes.map((call) => {
    const group = call.pool ?? '';
    const waits: number[] = [];
    for (const { uid, triggered, unschedulableMs } of pods) {
      const mark = `${group} ${uid}`;
      if (!triggered.includes(group) || unschedulableMs === undefined || unschedulableMs > call.atMs || counted.has(mark)) continue;
      counted.add(mark);
      waits.push(call.atMs - unschedulableMs);
    }
    return {
      group,
      from: call.capacityBefore ?? 0,
      to: call.capacityAfter ?? 0,
      pods: waits.length,
      secondsFromUnschedulable: waits.length === 0 ? 0 : seconds(Math.max(...waits)),
    };
  });
}

function scaleDowns(account: Account): Summary['scaleDowns'] {
  const deleted = new Map<string, number>();
  for (const call of account.calls) {
    if (call.instances === 0 || call.status >= 300 || call.pool === undefined) continue;
    deleted.set(call.pool, (deleted.get(call.pool) ?? 0) + call.instances);
  }
  return [...deleted]
    .sort(compareBy(([key]) => key))
    .map(([group, nodes]) => ({ group, nodes, evictedPods: account.evictions.filter((eviction) => eviction.pool === group).length }));
}

/** The fallback is the next accepted write to another pool after the failure was known. */
function stockout(failure: FailedOperation, writes: readonly ArmCall[]): Summary['stockouts'][number] {
  const fallback = writes.find((call) => call.atMs >= failure.endedMs && call.pool !== failure.pool && call.status < 300);
  return {
    group: failure.pool,
    code: failure.code,
    secondsToFallback: fallback === undefined ? -1 : seconds(fallback.atMs - failure.endedMs),
  };
}

function countBy(keys: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const key of [...keys].sort()) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

function seconds(ms: number): number {
  return Math.round(ms / 10) / 100;
}

// The account as lines for a person. Pure.

export function closingLines(summary: Summary): readonly string[] {
  const calls = Object.values(summary.armCalls).reduce((sum, count) => sum + count, 0);
  return [
    '',
    'What happened, as the simulated world wrote it down',
    `  pods        ${summary.pods.created} created, ${summary.pods.bound} bound, ${summary.pods.pendingAtEnd} pending at the end`,
    ...summary.scaleUps.map(
      (entry) =>
        `  grown       ${entry.group} ${entry.from} -> ${entry.to}, ${entry.secondsFromUnschedulable} s after the first pod found no place`,
    ),
    ...summary.stockouts.map(
      (entry) => `  no stock    ${entry.group} (${entry.code}); another pool was asked ${entry.secondsToFallback} s later`,
    ),
    ...summary.scaleDowns.map((entry) => `  shrunk      ${entry.group} by ${entry.nodes} nodes, ${entry.evictedPods} pods evicted`),
    `  conflicts   ${summary.conflicts.seen} met (412), ${summary.conflicts.replannedInSameLoop} planned again in the same loop, ${summary.lostUpdates} updates lost`,
    `  ARM calls   ${calls} in ${summary.durationSeconds} s`,
    ...summary.violations.map((violation) => `  VIOLATION   ${violation.rule} on ${violation.subject}: ${violation.detail}`),
    ...summary.unmet.map((promise) => `  NOT SEEN    ${promise}`),
    summary.ok ? '  All of it should be.' : '  Something is not as it should be.',
  ];
}
