/**
 * The effects of a scale-up: capacity writes of several groups in parallel, then events, metrics and one log line each. Must
 * not know why a group is increased, which is the plan's, nor how a write is made safe, which is the adapter's.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import { type SlicedWork, visitInSlices } from '../../lib/slices.ts';
import type { Increase, ScaleUpPlan } from '../../domain/plan.ts';
import type { IncreaseOutcome } from '../../domain/outcome.ts';
import type { Observation } from '../../domain/observation.ts';
import type { LoopDeps } from '../deps/loop-deps.ts';
import type { IncreaseRecord } from '../../domain/loop-report.ts';
import type { ScaleUpInput } from '../../planning/scale-up/plan-input.ts';
import { isForHeadroom } from '../../planning/state/assumed-pods.ts';
import type { UnansweredIncreases } from './unanswered-increases.ts';
import {
  buffersWithoutScaleUpEvents,
  increaseEvents,
  podsWithoutScaleUpEvents,
  type UnhelpedPodsInput,
} from '../../planning/explain/scale-up-events.ts';

interface ExecuteScaleUpInput {
  readonly plan: ScaleUpPlan;
  readonly observation: Observation;
  readonly deps: LoopDeps;
  readonly namespace: string;
  /** Follows writes that are not answered soon. undefined: every answer is waited for. */
  readonly unanswered: UnansweredIncreases | undefined;
}

/** Writes every increase of the plan in parallel. A failure is the outcome of its group only. Never throws. */
export async function executeScaleUp(input: ExecuteScaleUpInput, signal: AbortSignal): Promise<readonly IncreaseRecord[]> {
  const records = await Promise.all(input.plan.increases.map((increase) => writeIncrease(increase, input, signal)));
  for (const record of records) publishIncrease(record, input);
  return records;
}

/** Records for each pod without a fitting node group why it stays pending, and what helps. Called once per loop, after the last plan. */
export async function recordUnhelpedPods({ input, plan, planMs }: TimedPlan, deps: LoopDeps, over: AbortSignal): Promise<void> {
  const advice = (await deps.turns.finishUnless(over, deps.advice.adviseAll(input, plan, planMs))) ?? new Map();
  const unhelped = { plan, groups: input.observation.cloud.groups, advice };
  await deps.turns.finish(recordUnhelped(unhelped, deps));
}

function* recordUnhelped(unhelped: UnhelpedPodsInput, { events }: Pick<LoopDeps, 'events'>): SlicedWork<void> {
  const ofPods = yield* podsWithoutScaleUpEvents(unhelped);
  yield* visitInSlices([...ofPods, ...buffersWithoutScaleUpEvents(unhelped)], (event) => events.record(event));
}

/** A plan with its input and the time that it took. */
export interface TimedPlan {
  readonly input: ScaleUpInput;
  readonly plan: ScaleUpPlan;
  readonly planMs: number;
}

async function writeIncrease(increase: Increase, input: ExecuteScaleUpInput, signal: AbortSignal): Promise<IncreaseRecord> {
  const { deps, unanswered, observation } = input;
  const { group, from, version, to } = increase;
  try {
    const first = await deps.cloud.increase(
      { group, from, version, to, ...(isForHeadroom(increase) ? { forHeadroom: true } : {}) },
      signal,
    );
    if (first.kind !== 'sent') return { increase, outcome: first, atMs: deps.clock.now() };
    const { answer, ...outcome } = first;
    if (unanswered === undefined) return { increase, outcome: await answer, atMs: deps.clock.now() };
    const sent = { increase, outcome, atMs: deps.clock.now() };
    const { loopId, nowMs: startedAtMs } = observation;
    unanswered.follow({ sent, answer, loopId, startedAtMs, publish: (record) => publishIncrease(record, input) });
    return sent;
  } catch (thrown) {
    // The port returns failures as values. An exception must not affect other groups.
    return { increase, outcome: { kind: 'failed', group, error: asAutoscalerError(thrown) }, atMs: deps.clock.now() };
  }
}

function publishIncrease(record: IncreaseRecord, input: ExecuteScaleUpInput): void {
  const { deps, observation } = input;
  const group = observation.cloud.groups.find((candidate) => candidate.id === record.increase.group);
  for (const event of increaseEvents(record, group, input.namespace, observation.cluster.podGroups)) deps.events.record(event);
  logIncrease(record, deps);
}

function logIncrease({ increase, outcome }: IncreaseRecord, { log }: LoopDeps): void {
  const facts = { nodeGroup: increase.group, from: increase.from, to: increase.to, pods: increase.pods.length, cause: increase.cause };
  switch (outcome.kind) {
    case 'accepted':
      log.info(facts, 'Scale-up accepted');
      return;
    case 'sent':
      log.info(facts, 'Scale-up not answered yet; the loop goes on without it');
      return;
    case 'conflict':
      log.info({ ...facts, observed: outcome.observed }, 'Node group changed since the plan was made; planning again');
      return;
    case 'refused':
      if (outcome.busy === true) {
        log.info({ ...facts, reason: outcome.reason }, 'Node group takes no write at the moment; planning again without it');
        return;
      }
      log.warn({ ...facts, reason: outcome.reason }, 'Scale-up refused by a safety check');
      return;
    case 'withheld':
      log.info(facts, 'Scale-up withheld by the dry run');
      return;
    case 'failed':
      log.warn({ ...facts, ...errorFacts(outcome) }, 'Scale-up failed');
  }
}

function errorFacts({ error }: Extract<IncreaseOutcome, { kind: 'failed' }>): Readonly<Record<string, unknown>> {
  return { error: error.message, kind: error.kind, code: error.code, ...error.context };
}
