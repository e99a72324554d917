/** The planner's "fits" is kube-scheduler's, where pods claim devices. */
import { describe, it } from 'vitest';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { askedScheduler } from './parity/asked-scheduler.ts';
import { randomDeviceQuestions } from './parity/random-device-cases.ts';

const scheduler = askedScheduler();

describe('kube-scheduler and the planner agree on which nodes let a pod in that claims devices', () => {
  it(
    'for 500 pods with claims of their own and shared ones',
    () => expectAgreement(scheduler(), randomDeviceQuestions(SEED, Math.ceil(CLUSTERS / 4)), 'devices'),
    LIMIT_MS,
  );
});
