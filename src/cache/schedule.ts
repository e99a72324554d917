/** When an agent is next due, and who goes first. Pure; chance is passed in. */
import { stableHash, type Random } from '../domain/random.ts';
import type { AgentPolicy } from './agent.ts';

/** A retry never comes sooner than this, ms, however the jitter falls. */
const MIN_ERROR_DELAY_MS = 1000;
/** After a run that took longer than its interval, this part of the interval is waited. */
const OVERRUN_PART = 0.1;

/** Where in its interval an agent of a cluster sits, in [0, 1): the same after every restart, different between clusters. */
export function phaseOf(clusterId: string, agentId: string): number {
  return stableHash(`${clusterId}/${agentId}`) / 4_294_967_296;
}

/** Due time after a success. Counted from the start of the run, so that slow runs do not stretch the interval. */
export function dueAfterSuccess(
  policy: AgentPolicy,
  run: { readonly startMs: number; readonly endMs: number; readonly stretched: boolean },
  random: Random,
): number {
  const intervalMs = policy.intervalMs * (run.stretched ? 2 : 1);
  const due = run.startMs + jittered(intervalMs, policy, random);
  return due > run.endMs ? due : run.endMs + OVERRUN_PART * intervalMs;
}

function jittered(intervalMs: number, { jitter }: AgentPolicy, random: Random): number {
  if (jitter.kind === 'spread') return intervalMs * (1 + jitter.fraction * (2 * random() - 1));
  return intervalMs - random() * Math.min(jitter.maxMs, intervalMs);
}

/** Delay after the n-th failure in a row: doubles to the cap, drawn between nothing and all of it ("full jitter"). */
export function errorDelayMs(policy: AgentPolicy, failures: number, random: Random): number {
  const capMs = Math.min(policy.maxErrorIntervalMs, policy.errorIntervalMs * 2 ** Math.max(0, failures - 1));
  return Math.max(Math.min(MIN_ERROR_DELAY_MS, capMs), random() * capMs);
}

/** Due time after a cold run: within the second half of the interval, by phase, so that clusters started together part. */
export function dueAfterColdRun(policy: AgentPolicy, startMs: number, phase: number): number {
  return startMs + (policy.intervalMs * (1 + phase)) / 2;
}

/** What decides who goes first. */
export interface Candidate {
  readonly id: string;
  /** Somebody asked for this run. */
  readonly requested: boolean;
  /** A decision waits for it: required, and without success for two intervals. */
  readonly starving: boolean;
  readonly overdueMs: number;
  readonly intervalMs: number;
}

/** Asked for, then starving, then the most overdue by share of its interval: what waits grows, so nobody waits for ever. */
export function compareCandidates(left: Candidate, right: Candidate): number {
  if (left.requested !== right.requested) return left.requested ? -1 : 1;
  if (left.starving !== right.starving) return left.starving ? -1 : 1;
  const ratio = right.overdueMs / right.intervalMs - left.overdueMs / left.intervalMs;
  if (ratio !== 0) return ratio;
  return left.id < right.id ? -1 : 1;
}
