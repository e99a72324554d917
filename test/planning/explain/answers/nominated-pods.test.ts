import { expect, it } from 'vitest';
import { answerOn } from '../../../../src/planning/explain/answers/answer.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, resourceNames, START_MS } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { FIRST_PLAN } from '../../../../src/planning/scale-up/plan-input.ts';
import { aState } from '../../../support/state.ts';
import { ONLY_DECIDED } from '../../../../src/planning/explain/answers/pod-answer.ts';

it.each([
  [true, "node a-0 of a takes it once it is ready, and is named in the pod's status meanwhile"],
  [false, 'a node of a that is on its way takes it'],
])('a pod whose node has joined says which one it is where pods are nominated: %s', (nominateNodes, expected) => {
  const readiness = { ready: false, sinceMs: START_MS - 5_000, reason: '' };
  const nodes = [aNode({ name: 'a-0', createdAtMs: START_MS - 5_000, readiness })];
  const input = {
    ...FIRST_PLAN,
    observation: anObservation([aGroup({ id: 'a', target: 1 })], aCluster({ nodes, pods: [aPod({ name: 'web' })] })),
    state: aState(),
    policy: aPolicy({ scaleUp: { enforceMinSize: false, nominateNodes } }),
    names: resourceNames,
  };
  const answer = answerOn({ kind: 'pod', name: 'default/web' }, { ...ONLY_DECIDED, input, scaleUp: planScaleUp(input) });
  expect(answer?.sentence).toBe(`Pending for 30 s: ${expected}.`);
});
