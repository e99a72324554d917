/**
 * How long pods wait from when they turn unschedulable until the capacity write for them, without the time in which no pool could take them:
 * waits for pools that back off have a series of their own. Must not know how a verdict is reached.
 */
import { isReal } from '../../domain/pod.ts';
import type { PodUid } from '../../domain/ids.ts';
import { type AnsweredRecord, answeredIncreases, type LoopListener, type LoopReport } from '../../domain/loop-report.ts';
import type { PodVerdict } from '../../domain/reasons.ts';
import { defined } from '../../lib/defined.ts';
import { classifyVerdict, type Verdict } from '../../planning/explain/verdicts.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface BlockedPod {
  /** Completed waits by verdict, milliseconds. */
  readonly waitedMs: ReadonlyMap<Verdict, number>;
  /** Absent while a pool can take it. */
  readonly verdict?: Verdict;
  /** Since when the present verdict holds, milliseconds since the epoch. */
  readonly sinceMs: number;
}

export function decisionLatency(metrics: Pick<Metrics['scaleUp'], 'podsToDecision' | 'podsBackedOff'>): LoopListener {
  /** undefined before the first plan. */
  let blocked: ReadonlyMap<PodUid, BlockedPod> | undefined;
  return (report) => {
    const { observation } = report;
    if (observation === undefined) return;
    for (const record of answeredIncreases(report)) publish(record, blocked ?? new Map(), { metrics, nowMs: observation.nowMs });
    blocked = stillBlocked(report, blocked, observation.nowMs);
  };
}

interface PublishOptions {
  readonly metrics: Pick<Metrics['scaleUp'], 'podsToDecision' | 'podsBackedOff'>;
  readonly nowMs: number;
}

function publish(
  { increase, outcome, atMs }: AnsweredRecord,
  blocked: ReadonlyMap<PodUid, BlockedPod>,
  { metrics, nowMs }: PublishOptions,
): void {
  if (outcome.kind !== 'accepted') return;
  for (const { uid, unschedulable } of increase.pods.filter(isReal)) {
    if (unschedulable === undefined) continue;
    const waits = waitsOf(blocked.get(uid), nowMs);
    const waitedMs = [...waits.values()].reduce((sum, ms) => sum + ms, 0);
    metrics.podsToDecision.observe(Math.max(0, Math.max(nowMs, atMs) - unschedulable.sinceMs - waitedMs) / 1000);
    const backedOffMs = waits.get('blocked-by-backoff');
    if (backedOffMs !== undefined) metrics.podsBackedOff.observe(backedOffMs / 1000);
  }
}

/** Until now, by verdict. */
function waitsOf(pod: BlockedPod | undefined, nowMs: number): ReadonlyMap<Verdict, number> {
  if (pod === undefined) return new Map();
  const { waitedMs, verdict, sinceMs } = pod;
  if (verdict === undefined) return waitedMs;
  return new Map(waitedMs).set(verdict, (waitedMs.get(verdict) ?? 0) + Math.max(0, nowMs - sinceMs));
}

/** The pods that a plan found no pool for at some time. A loop without verdicts says nothing. */
function stillBlocked(
  { rounds }: LoopReport,
  before: ReadonlyMap<PodUid, BlockedPod> | undefined,
  nowMs: number,
): ReadonlyMap<PodUid, BlockedPod> | undefined {
  const plan = rounds.at(-1)?.plan;
  if (plan === undefined) return before;
  const now = new Map<PodUid, BlockedPod>();
  for (const [pod, verdict] of plan.verdicts) {
    const known = before?.get(pod.uid);
    const name = blockingVerdict(verdict);
    if (known === undefined && name === undefined) continue;
    // What was before the first plan of this process is not known; probably it was the same.
    const sinceMs = before === undefined ? (pod.unschedulable?.sinceMs ?? nowMs) : nowMs;
    const isSame = known !== undefined && known.verdict === name;
    now.set(pod.uid, isSame ? known : { waitedMs: waitsOf(known, nowMs), sinceMs, ...defined({ verdict: name }) });
  }
  return now;
}

/** undefined: a pool takes the pod, or will in a moment. */
function blockingVerdict(verdict: PodVerdict): Verdict | undefined {
  const name = classifyVerdict(verdict);
  return verdict.kind === 'helpless' && name !== 'coming' ? name : undefined;
}
