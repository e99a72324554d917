import { expect, it } from 'vitest';
import type { Removal } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { recheckRemoval } from '../../../src/loop/scale-down/removal-safety.ts';
import { drainRulesOf } from '../../../src/scheduling/drainability/drain-rule.ts';
import { aCluster, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';

const mover = aPod({ name: 'mover' });
const nominated: Pod = { ...mover, nominatedNodeName: 'g-0' };

it.each([
  { name: 'a pod that is about to run on the node stops its removal', stage: 'before-taint', pod: nominated, planned: false, go: false },
  { name: 'one that the plan has a place for elsewhere does not', stage: 'before-taint', pod: nominated, planned: true, go: true },
  { name: 'one for another node does not', stage: 'before-taint', pod: { ...mover, nominatedNodeName: 'g-1' }, planned: false, go: true },
  { name: 'once the node is marked none can come', stage: 'before-delete', pod: nominated, planned: false, go: true },
] as const)('$name', ({ stage, pod, planned, go }) => {
  const removal: Removal = {
    group: nodeGroupId('g'),
    node: 'g-0',
    instance: keyOf('g-0'),
    pods: planned ? [pod] : [],
    unneededSinceMs: 0,
    cause: 'empty',
    utilization: 0,
  };
  const node = aNode({ name: 'g-0' });
  const cluster = { ...aCluster({ nodes: [node] }), pendingPods: [pod] };
  const result = recheckRemoval({ removal, fresh: { node, pods: [] }, cluster, policy: drainRulesOf(aPolicy()), nowMs: START_MS, stage });
  expect(result.go).toBe(go);
});
