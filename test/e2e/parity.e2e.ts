/**
 * The planner's "fits" is kube-scheduler's: random clusters in a real API server, a real scheduler that is asked for every
 * pod which nodes pass its filters, and the planner asked the same of the same objects.
 */
import { describe, it } from 'vitest';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { askedScheduler } from './parity/asked-scheduler.ts';
import { randomQuestions } from './parity/random-cases.ts';
import { randomCornerQuestions } from './parity/random-corner-cases.ts';

const scheduler = askedScheduler();

describe('kube-scheduler and the planner agree on which nodes let a pod in', () => {
  it(
    'for pods with all rules about nodes and other pods',
    () => expectAgreement(scheduler(), randomQuestions(SEED, Math.ceil(CLUSTERS * 0.35)), 'places'),
    LIMIT_MS,
  );

  it(
    'for pods that are about a corner of one rule each',
    () => expectAgreement(scheduler(), randomCornerQuestions(SEED, Math.ceil(CLUSTERS / 5)), 'corners'),
    LIMIT_MS,
  );
});
