/**
 * The effects of a scale-up: capacity writes, several groups at a time, then events, metrics and one log line each. Decides
 * nothing: which groups grow is the plan's business, how a write is made safe is the adapter's.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { Increase, ScaleUpPlan } from '../../domain/plan.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { Observation } from '../../domain/observation.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';
import type { IncreaseRecord } from '../../domain/loop-report.ts';
import { helplessBufferEvents, helplessEvents, increaseEvents } from '../../planning/explain/scale-up-events.ts';

export interface ExecuteScaleUpInput {
  readonly plan: ScaleUpPlan;
  readonly observation: Observation;
  readonly deps: LoopDeps;
  readonly namespace: string;
}

/** Writes every increase of the plan at once. One group's failure is that group's outcome; nothing is thrown. */
export async function executeScaleUp(input: ExecuteScaleUpInput, signal: AbortSignal): Promise<readonly IncreaseRecord[]> {
  const { plan, deps } = input;
  const records = await Promise.all(plan.increases.map((increase) => writeIncrease(increase, deps, signal)));
  for (const record of records) announce(record, input);
  return records;
}

/** Says of each helpless pod why it stays. Once per loop, after the last plan. */
export function announceHelpless(plan: ScaleUpPlan, deps: LoopDeps): void {
  for (const event of [...helplessEvents(plan), ...helplessBufferEvents(plan)]) deps.events.record(event);
}

async function writeIncrease(increase: Increase, deps: LoopDeps, signal: AbortSignal): Promise<IncreaseRecord> {
  const { group, from, version, to } = increase;
  try {
    const outcome = await deps.cloud.increase({ group, from, version, to }, signal);
    return { increase, outcome, atMs: deps.clock.now() };
  } catch (thrown) {
    // The port answers with values; what is thrown all the same stays inside this group.
    return { increase, outcome: { kind: 'failed', group, error: asAutoscalerError(thrown) }, atMs: deps.clock.now() };
  }
}

function announce(record: IncreaseRecord, input: ExecuteScaleUpInput): void {
  const { deps, observation } = input;
  const group = observation.cloud.groups.find((candidate) => candidate.id === record.increase.group);
  for (const event of increaseEvents(record, group, input.namespace)) deps.events.record(event);
  countWaits(record, deps, observation.nowMs);
  say(record, deps);
}

/** How long the pods waited. The writes themselves are counted where they are made, in the adapter. */
function countWaits({ increase, outcome }: IncreaseRecord, { metrics, clock }: LoopDeps, loopStartMs: number): void {
  if (outcome.kind !== 'accepted') return;
  const nowMs = Math.max(loopStartMs, clock.now());
  for (const pod of increase.pods) {
    if (pod.unschedulable !== undefined && pod.injected !== true)
      metrics.scaleUp.podsToDecision.observe(Math.max(0, nowMs - pod.unschedulable.sinceMs) / 1000);
  }
}

function say({ increase, outcome }: IncreaseRecord, { log }: LoopDeps): void {
  const facts = { nodeGroup: increase.group, from: increase.from, to: increase.to, pods: increase.pods.length, cause: increase.cause };
  switch (outcome.kind) {
    case 'accepted':
      log.info(facts, 'scale-up accepted');
      return;
    case 'conflict':
      log.info({ ...facts, observed: outcome.observed }, 'somebody else changed the group; planning again');
      return;
    case 'refused':
      log.warn({ ...facts, reason: outcome.reason }, 'scale-up refused by a guard');
      return;
    case 'withheld':
      log.info(facts, 'scale-up withheld');
      return;
    case 'failed':
      log.warn({ ...facts, ...errorFacts(outcome) }, 'scale-up failed');
  }
}

function errorFacts({ error }: Extract<IncreaseOutcome, { kind: 'failed' }>): Readonly<Record<string, unknown>> {
  return { error: error.message, kind: error.kind, code: error.code, ...error.context };
}
