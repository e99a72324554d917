/** The planner's "fits" is kube-scheduler's, where pods claim devices. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { givenBinaries } from './given.ts';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { randomDeviceQuestions } from './parity/random-device-cases.ts';
import { RealScheduler } from './parity/real-scheduler.ts';

let scheduler: RealScheduler;

beforeAll(async () => {
  scheduler = await RealScheduler.start(givenBinaries());
});

afterAll(async () => {
  await scheduler?.stop();
});

describe('kube-scheduler and the planner agree on which nodes let a pod in that claims devices', () => {
  it(
    'for 500 pods with claims of their own and shared ones',
    () => expectAgreement(scheduler, randomDeviceQuestions(SEED, Math.ceil(CLUSTERS / 4)), 'devices'),
    LIMIT_MS,
  );
});
