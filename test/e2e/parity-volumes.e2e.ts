/** The planner's "fits" is kube-scheduler's, where pods mount volumes. */
import { describe, it } from 'vitest';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { askedScheduler } from './parity/asked-scheduler.ts';
import { randomMixedQuestions } from './parity/random-mixed-cases.ts';
import { randomStorageQuestions } from './parity/random-storage-cases.ts';

const scheduler = askedScheduler();

describe('kube-scheduler and the planner agree on which nodes let a pod with volumes in', () => {
  it(
    'for pods with volumes of all kinds',
    () => expectAgreement(scheduler(), randomStorageQuestions(SEED, Math.ceil(CLUSTERS / 4)), 'storage'),
    LIMIT_MS,
  );

  it(
    'for pods with rules about places and volumes at once, beside finished and resized neighbours',
    () => expectAgreement(scheduler(), randomMixedQuestions(SEED, Math.ceil(CLUSTERS / 4)), 'mixed'),
    LIMIT_MS,
  );
});
