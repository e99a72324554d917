import { expect, it } from 'vitest';
import type { PendingResize, Pod } from '../../../../src/domain/pod.ts';
import { answerOn } from '../../../../src/planning/explain/answers/answer.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { createPodProjection, projectPod } from '../../../../src/kubernetes/projection/pod.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aTemplate, resourceNames } from '../../../support/builders.ts';
import { NOTHING_REPACKED } from '../../../../src/domain/repack.ts';
import { aPolicy } from '../../../support/policy.ts';
import { FIRST_PLAN } from '../../../../src/planning/scale-up/plan-input.ts';
import { aState } from '../../../support/state.ts';
import { ONLY_DECIDED } from '../../../../src/planning/explain/answers/pod-answer.ts';

function sentenceOf(resize: PendingResize, poolCpu = '15', why?: string): string | undefined {
  const node = aNode({ name: 'n', cpu: '3860m' });
  const pods: readonly Pod[] = [aPod({ name: 'db', nodeName: 'n', cpu: '1', resize }), aPod({ nodeName: 'n', cpu: '1500m' })];
  const groups = [
    aGroup({ id: 'big', target: 0, template: aTemplate({ cpu: poolCpu }) }),
    aGroup({ id: 'small', target: 0, template: aTemplate({ cpu: '2' }) }),
  ];
  const input = {
    ...FIRST_PLAN,
    observation: anObservation(groups, aCluster({ nodes: [node], pods })),
    state: aState({
      repacks: { ...NOTHING_REPACKED, rooms: new Map([['n', { closure: undefined, added: undefined, failed: undefined, why }]]) },
    }),
    policy: aPolicy({ scaleUp: { enforceMinSize: false } }),
    names: resourceNames,
  };
  return answerOn({ kind: 'pod', name: 'default/db' }, { ...ONLY_DECIDED, input, scaleUp: planScaleUp(input) })?.sentence;
}

const wanted = (cpu: string) => resourceNames.parse({ cpu, memory: '128Mi', pods: '1' });

it.each<[string, PendingResize, string | undefined, string]>([
  [
    'is deferred',
    { kind: 'deferred', message: 'Node did not have enough resource: cpu', wanted: wanted('3') },
    undefined,
    'Runs on node n. Its resize in place is deferred until its node has room (it needs 3 CPU, the node has 2.36 for it). A new node of big holds that size: a replacement of the pod that requests it can run there.',
  ],
  [
    'is infeasible',
    { kind: 'infeasible', message: '', wanted: wanted('6') },
    undefined,
    'Runs on node n. Its resize in place is infeasible: its node can never hold it (it needs 6 CPU, the node has 2.36 for it). A new node of big holds that size: a replacement of the pod that requests it can run there.',
  ],
  [
    'is called deferred by the kubelets of 1.36, but can never be',
    { kind: 'deferred', message: '', wanted: wanted('6') },
    undefined,
    'Runs on node n. Its resize in place is deferred, but its node can never hold it (it needs 6 CPU, the node has 2.36 for it). A new node of big holds that size: a replacement of the pod that requests it can run there.',
  ],
  [
    'fits no pool either',
    { kind: 'infeasible', message: '', wanted: wanted('6') },
    '4',
    'Runs on node n. Its resize in place is infeasible: its node can never hold it (it needs 6 CPU, the node has 2.36 for it). No pool has nodes that hold that size.',
  ],
  [
    'is held back by something else than room',
    { kind: 'deferred', message: 'the kubelet is busy', wanted: wanted('2') },
    undefined,
    'Runs on node n. Its resize in place is deferred until its node has room (the kubelet is busy). A new node of big, small holds that size: a replacement of the pod that requests it can run there.',
  ],
])('a resize in place that %s says what it lacks, and which pool would hold it', (_name, resize, cpu, expected) => {
  expect(sentenceOf(resize, cpu)).toBe(expected);
});

it('one that waits says what is done about its node where room is made', () => {
  const said = sentenceOf({ kind: 'deferred', message: '', wanted: wanted('3') }, '2', 'a pod there is ending, which may make the room');
  expect(said).toBe(
    'Runs on node n. Its resize in place is deferred until its node has room (it needs 3 CPU, the node has 2.36 for it; room there: a pod there is ending, which may make the room). No pool has nodes that hold that size.',
  );
});

it.each([
  ['Deferred', 'True', 'deferred'],
  ['Infeasible', 'True', 'infeasible'],
  ['Deferred', 'False', undefined],
] as const)('of a bound pod, the condition PodResizePending %s %s is read, with the wanted size', (reason, status, kind) => {
  const { resize } = projectPod(
    {
      metadata: { namespace: 'default', name: 'db' },
      spec: { nodeName: 'n', containers: [{ name: 'c', resources: { requests: { cpu: '3' } } }] },
      status: {
        phase: 'Running',
        conditions: [{ type: 'PodResizePending', status, reason, message: 'why' }],
        containerStatuses: [{ name: 'c', allocatedResources: { cpu: '1' }, resources: { requests: { cpu: '1' } } }],
      },
    },
    createPodProjection(resourceNames),
  ).status;
  expect(resize?.kind).toBe(kind);
  if (resize !== undefined) expect([resize.wanted[0], resize.message]).toEqual([3_000, 'why']);
});
