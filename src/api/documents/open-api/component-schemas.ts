/** The parts that several documents of `/api/v1` share. */
import { SCALE_UP_STAGES } from '../../../domain/history.ts';
import { NEEDS, VERDICTS } from '../../../planning/explain/verdicts.ts';
import { POOL_STATES } from '../pools.ts';
import { amount, anything, count, flag, list, object, oneOf, ref, text, time, type Schema } from './schema-builders.ts';

/** What each document begins with. */
export const COMMON = { observedAt: time, loopId: count, replica: text, leading: { const: true }, memorySince: time };
/** What each page of a list begins with. */
export const PAGE = { ...COMMON, total: count, 'next?': text };
export const CHANGE = object({ at: time, pool: text, from: count, to: count, why: text });

const STEP = object({ where: text, 'command?': text, 'patch?': text, 'warning?': text });

/** Parts that several documents share, by the name that `$ref` uses. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Message: object({ message: text, 'leader?': text, 'command?': text }),
  Fix: object({
    proved: flag,
    text,
    'simulated?': object({ pods: count, of: count, others: count, nodes: count, 'perHour?': amount }),
    changes: list(anything),
    steps: list(STEP),
    'nearest?': text,
    tried: count,
  }),
  RemovalFix: object({
    text,
    frees: object({ nodes: count, cores: amount, memoryGib: amount, 'perHour?': amount }),
    steps: list(STEP),
  }),
  PendingClass: object({
    id: text,
    namespace: text,
    owner: text,
    ownerKind: text,
    pods: count,
    sample: text,
    requests: text,
    verdict: oneOf(VERDICTS),
    need: oneOf(NEEDS),
    sentence: text,
    'decisive?': object({ pool: text, rule: text, 'needs?': amount, 'offers?': amount, 'resource?': text }),
    'oldestSince?': time,
    'expectedReadyAt?': time,
    'retryAt?': time,
    'azure?': object({ group: text, 'until?': time, 'since?': time, cause: text, 'message?': text, 'correlationId?': text }),
    'fix?': ref('Fix'),
    'obstacleRows?': count,
  }),
  Pool: object({
    name: text,
    vmSize: text,
    'spot?': { const: true },
    min: count,
    max: count,
    'target?': count,
    ready: count,
    'unready?': count,
    'upcoming?': count,
    'removing?': count,
    state: oneOf(POOL_STATES),
    'sentence?': text,
    'until?': time,
    'podsWaiting?': count,
    'perHour?': amount,
    'tokens?': object({ left: count, of: count }),
    zones: list(text),
    'drift?': object({ azure: count, aks: count, nodes: count }),
    'labels?': { type: 'object', additionalProperties: text },
  }),
  Blocker: object({
    id: text,
    title: text,
    reason: text,
    'blockedBy?': text,
    nodes: count,
    cores: amount,
    memoryGib: amount,
    'perHour?': amount,
    'wastedPerHour?': amount,
    examples: list(text),
    'fix?': ref('RemovalFix'),
  }),
  Node: object({
    name: text,
    'pool?': text,
    verdict: oneOf(['goes', 'stays']),
    'reason?': text,
    title: text,
    sentence: text,
    'blocker?': object({ pod: text, rule: text, detail: text }),
    'utilization?': amount,
    'unneededSince?': time,
    'nextCheck?': time,
    'perHour?': amount,
    ready: flag,
  }),
  ScaleUp: object({
    id: text,
    pool: text,
    from: count,
    to: count,
    cause: text,
    pods: count,
    decision: text,
    stages: list(object({ name: oneOf(SCALE_UP_STAGES), 'at?': time, count, 'p50Ms?': amount, 'p90Ms?': amount })),
    'expectedAt?': time,
    'lateAfter?': time,
    'failure?': text,
    'endedAt?': time,
  }),
  Mark: object({
    at: time,
    kind: oneOf(['increase', 'removal', 'try', 'other-writer', 'eviction']),
    actor: oneOf(['autoscaler', 'eviction', 'aks', 'another-writer']),
    'actorName?': text,
    from: count,
    to: count,
    cause: text,
    'decision?': text,
    'pool?': text,
    'level?': count,
  }),
};
