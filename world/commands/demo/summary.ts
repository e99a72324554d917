/**
 * Summarises the demo from the world's records: requests, operations, pods and events.
 * Nothing in `ok` comes from the daemon itself. Pure.
 */
import { compareBy } from '../../../src/lib/comparison.ts';

/** One request of the daemon to ARM, from the simulator's journal. */
export interface ArmCall {
  readonly seq: number;
  readonly atMs: number;
  readonly method: string;
  /** The path without resource names. */
  readonly route: string;
  readonly status: number;
  readonly pool: string | undefined;
  readonly capacityBefore: number | undefined;
  readonly capacityAfter: number | undefined;
  /** The number of instances in a delete request. */
  readonly instances: number;
}

export interface FailedOperation {
  readonly pool: string;
  readonly code: string;
  readonly endedMs: number;
}

/** What the watcher saw of one pod. */
export interface PodHistory {
  readonly uid: string;
  readonly unschedulableMs: number | undefined;
  /** Node groups in its TriggeredScaleUp events. */
  readonly triggered: readonly string[];
  readonly bound: boolean;
  readonly gone: boolean;
}

/** A pod that was evicted from its node. */
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
  /** The expectations that were not met. */
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

/** A pod counts for the first accepted write to each pool in its events, after it became unschedulable. */
function scaleUps(writes: readonly ArmCall[], pods: readonly PodHistory[]): Summary['scaleUps'] {
  const counted = new Set<string>();
  return writes.map((call) => {
    const group = call.pool ?? '';
    const waits: number[] = [];
    for (const { uid, triggered, unschedulableMs } of pods) {
      const key = `${group} ${uid}`;
      if (!triggered.includes(group) || unschedulableMs === undefined || unschedulableMs > call.atMs || counted.has(key)) continue;
      counted.add(key);
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

/** The fallback is the next accepted write to another pool after the failed operation ended. */
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

/** The summary as lines of text. */
export function closingLines(summary: Summary): readonly string[] {
  const calls = Object.values(summary.armCalls).reduce((sum, count) => sum + count, 0);
  return [
    '',
    'Summary, from the records of the simulated world',
    `  pods        ${summary.pods.created} created, ${summary.pods.bound} bound, ${summary.pods.pendingAtEnd} pending at the end`,
    ...summary.scaleUps.map(
      (entry) =>
        `  increase    ${entry.group} ${entry.from} -> ${entry.to}, ${entry.secondsFromUnschedulable} s after its first pod became unschedulable`,
    ),
    ...summary.stockouts.map(
      (entry) =>
        `  no capacity ${entry.group} (${entry.code}); ${entry.secondsToFallback < 0 ? 'no other pool was increased' : `another pool was increased ${entry.secondsToFallback} s later`}`,
    ),
    ...summary.scaleDowns.map(
      (entry) => `  removal     ${counted(entry.nodes, 'instance')} of ${entry.group}, ${counted(entry.evictedPods, 'pod')} evicted`,
    ),
    `  conflicts   ${summary.conflicts.seen} (412), ${summary.conflicts.replannedInSameLoop} replanned in the same loop, ${summary.lostUpdates} updates lost`,
    `  ARM calls   ${calls} in ${summary.durationSeconds} s`,
    ...summary.violations.map((violation) => `  VIOLATION   ${violation.rule} on ${violation.subject}: ${violation.detail}`),
    ...summary.unmet.map((expectation) => `  NOT SEEN    ${expectation}`),
    summary.ok ? '  Passed: everything expected happened.' : '  FAILED: see above.',
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
