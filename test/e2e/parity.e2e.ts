/**
 * The planner's "fits" is kube-scheduler's: random clusters in a real API server, a real scheduler that is asked for every
 * pod which nodes pass its filters, and the planner asked the same of the same objects.
 */
import { describe, it } from 'vitest';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { askedScheduler } from './parity/asked-scheduler.ts';
import { randomQuestions } from './parity/random-cases.ts';

const scheduler = askedScheduler();

describe('kube-scheduler and the planner agree on which nodes let a pod in', () => {
  it(
    'for 1,200 pods with all rules about nodes and other pods',
    () => expectAgreement(scheduler(), randomQuestions(SEED, Math.ceil(CLUSTERS * 0.6)), 'places'),
    LIMIT_MS,
  );
});
