/** `plan` says of running pods why they wait for a new size, and counts the VerticalPodAutoscalers of the file. */
import { expect, it } from 'vitest';
import { listOf, nodeJson, planAnswer, podJson } from './support.ts';

const OLD = '2026-11-20T08:00:00Z';

/** Wants 6 CPU on a node with less than four, and has one. */
const OWNED = { creationTimestamp: OLD, ownerReferences: [{ kind: 'StatefulSet', name: 'db', uid: 's', controller: true }] };
const DB = {
  ...podJson('db-0', '6', { on: 'n-0', metadata: OWNED }),
  status: {
    phase: 'Running',
    conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', message: '' }],
    containerStatuses: [{ name: 'c', allocatedResources: { cpu: '1' }, resources: { requests: { cpu: '1' } } }],
  },
};

const autoscaler = (cpu: string) => ({
  apiVersion: 'autoscaling.k8s.io/v1',
  kind: 'VerticalPodAutoscaler',
  metadata: { name: 'db', namespace: 'default' },
  spec: { targetRef: { kind: 'StatefulSet', name: 'db' } },
  status: { recommendation: { containerRecommendations: [{ containerName: 'c', target: { cpu, memory: '1Gi' } }] } },
});

const ON = 'cluster: {verticalPodAutoscalers: true}';
const ROOM = 'scaleDown: {makeRoom: true}';
const NEVER = 'Its resize in place is deferred, but its node can never hold it (it needs 6 CPU, the node has 4 for it';

it.each<readonly [string, string, string, string]>([
  ['{}', '6', NEVER, 'A new node of b holds that size: a replacement of the pod that requests it can run there.'],
  [
    `${ON}\n${ROOM}`,
    '6',
    '; room there: a node for its pods is being requested',
    'a replacement of the pod gets it from its VerticalPodAutoscaler, and can run there.',
  ],
  [
    `${ON}\n${ROOM}`,
    '5',
    '; room there: its node can never hold that size, and no VerticalPodAutoscaler gives a replacement that size',
    'that requests it',
  ],
  [ROOM, '6', 'what a replacement would request is not known (cluster.verticalPodAutoscalers is off)', 'that requests it'],
])('with %s and a target of %s CPU', async (config, cpu, why, helps) => {
  const files = {
    c: listOf(nodeJson('n-0', 'a'), DB, autoscaler(cpu)),
    p: '[{name: a, vmSize: Standard_D4s_v5, min: 1, max: 1}, {name: b, vmSize: Standard_D8s_v5, min: 0, max: 5}]',
    conf: config,
  };
  const { resizes } = await planAnswer(['--cluster=c', '--pools=p', '--config=conf'], files);
  expect(resizes?.map(({ pod }) => pod)).toEqual(['default/db-0']);
  expect(resizes?.[0]?.sentence).toContain(why);
  expect(resizes?.[0]?.sentence).toContain(helps);
});
