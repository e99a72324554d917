/**
 * The planner's "fits" is kube-scheduler's, where pods claim devices, alone and with all other rules. For the figure over 10,000 pods:
 * `PARITY_CLUSTERS=10080 npm run test:e2e -- test/e2e/parity-devices.e2e.ts -t 'everything at once'`.
 */
import { describe, it } from 'vitest';
import { CLUSTERS, expectAgreement, LIMIT_MS, SEED } from './parity/agreement.ts';
import { servedPodGroups } from './pod-group-api.ts';
import { askedScheduler } from './parity/asked-scheduler.ts';
import { randomDeviceQuestions } from './parity/random-device-cases.ts';
import { randomQuestionsAboutEverything } from './parity/random-everything-cases.ts';

const scheduler = askedScheduler(servedPodGroups());

describe('kube-scheduler and the planner agree on which nodes let a pod in that claims devices', () => {
  it(
    'for pods with claims of their own and shared ones',
    () => expectAgreement(scheduler(), randomDeviceQuestions(SEED, Math.ceil(CLUSTERS / 4)), 'devices'),
    LIMIT_MS,
  );

  it(
    'for pods with everything at once: rules, volumes, resizes, priorities, devices and gangs',
    () => expectAgreement(scheduler(), randomQuestionsAboutEverything(SEED, Math.ceil(CLUSTERS / 12)), 'everything'),
    LIMIT_MS * 4,
  );
});
