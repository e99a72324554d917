/** The corners of single rules, asked of a real kube-scheduler and of the planner. */
import { describe, it } from 'vitest';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { askedScheduler } from './parity/asked-scheduler.ts';
import { randomCornerQuestions } from './parity/random-corner-cases.ts';

const scheduler = askedScheduler();

describe('kube-scheduler and the planner agree in the corners of each rule', () => {
  it(
    'for 500 pods that are about one rule each',
    () => expectAgreement(scheduler(), randomCornerQuestions(SEED, Math.ceil(CLUSTERS / 4)), 'corners'),
    LIMIT_MS,
  );
});
