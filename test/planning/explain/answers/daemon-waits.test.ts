import { expect, it } from 'vitest';
import type { Pod } from '../../../../src/domain/pod.ts';
import { answerOn } from '../../../../src/planning/explain/answers/answer.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import {
  aCluster,
  aGroup,
  aNode,
  anObservation,
  aPod,
  resourceNames,
  type PodOptions,
  type ShapeOptions,
} from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import { FIRST_PLAN } from '../../../../src/planning/scale-up/plan-input.ts';
import { aState } from '../../../support/state.ts';
import { ONLY_DECIDED } from '../../../../src/planning/explain/answers/pod-answer.ts';

/** A pod of a DaemonSet, as its controller pins it. */
function agent(shape: ShapeOptions, node = 'n'): Pod {
  const pin = [{ expressions: [], fields: [{ key: 'metadata.name', operator: 'In' as const, values: [node] }] }];
  return aPod({
    name: 'agent',
    daemonSet: true,
    controller: { kind: 'DaemonSet', name: 'agent', uid: 'd' },
    shape: { ...shape, nodeAffinity: pin },
  });
}

const on = (name: string, cpu: string, rest: PodOptions = {}, shape: ShapeOptions = {}): Pod =>
  aPod({ name, nodeName: 'n', shape: { cpu, ...shape }, ...rest });

function sentenceOf(pods: readonly Pod[]): string | undefined {
  const nodes = [aNode({ name: 'n', cpu: '4', taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] })];
  const input = {
    ...FIRST_PLAN,
    observation: anObservation([aGroup({ id: 'a', target: 1 })], aCluster({ nodes, pods })),
    state: aState(),
    policy: aPolicy({ scaleUp: { enforceMinSize: false } }),
    names: resourceNames,
  };
  return answerOn({ kind: 'pod', name: 'default/agent' }, { ...ONLY_DECIDED, input, scaleUp: planScaleUp(input) })?.sentence;
}

const tolerations = [{ key: '', operator: 'Exists' as const, value: '', effect: undefined }];
const CAUSE = 'Pending for 30 s: it causes no scale-up, DaemonSet pods run on nodes that are there and never cause a scale-up';
const FULL = `${CAUSE}; its node n is full (it needs 1 CPU, the node has 0.5)`;
const FITS = 'Pending for 30 s: it fits on node n now, and kube-scheduler has yet to bind it.';
const KEPT = { safeToEvict: 'false' } as const;

it.each<[string, readonly Pod[], string]>([
  [
    'the smallest pod of least priority whose room is enough',
    [agent({ cpu: '1', tolerations }), on('large', '1'), on('small', '500m'), on('other', '2', {}, { priority: 5 })],
    `${FULL}: if pod default/small moved, it would run; with a priority above 0 for its DaemonSet, kube-scheduler would make that room.`,
  ],
  [
    'pods that kube-scheduler should preempt',
    [agent({ cpu: '1', tolerations, priority: 1000 }), on('web', '3500m')],
    `${FULL}: if pod default/web moved, it would run; kube-scheduler preempts pods of a lower priority unless something keeps it from that.`,
  ],
  [
    'several pods if none is enough',
    [agent({ cpu: '1', tolerations }), ...['a', 'b', 'c'].map((name) => on(name, '250m')), on('kept', '2750m', KEPT)],
    `${FULL}: if pods default/a, default/b moved, it would run; with a priority above 0 for its DaemonSet, kube-scheduler would make that room.`,
  ],
  [
    'that nothing there may be moved',
    [agent({ cpu: '1', tolerations }), on('kept', '3500m', KEPT)],
    `${FULL}: the pods there that may be moved do not leave enough room.`,
  ],
  [
    'what its node refuses',
    [agent({ cpu: '1' }), on('web', '3500m')],
    `${CAUSE}; its node n refuses it: taint k=v:NoSchedule is not tolerated.`,
  ],
  ['that its node is gone', [agent({ cpu: '1', tolerations }, 'gone')], `${CAUSE}; its node gone is gone.`],
  ['nothing of this if it fits', [agent({ cpu: '1', tolerations }), on('web', '1')], FITS],
])('a pod of a DaemonSet that waits says %s', (_name, pods, expected) => {
  expect(sentenceOf(pods)).toBe(expected);
});
