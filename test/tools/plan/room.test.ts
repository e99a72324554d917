/** `plan` says of a pod of a DaemonSet what would be done about its full node. */
import { expect, it } from 'vitest';
import { listOf, nodeJson, planAnswer, podJson } from './support.ts';

const PIN = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n-0'] }] }];
const AGENT = podJson('agent', '2', {
  spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: PIN } } } },
  metadata: { ownerReferences: [{ kind: 'DaemonSet', name: 'agent', uid: 'd', controller: true }] },
});
const OLD = { metadata: { creationTimestamp: '2026-11-20T08:00:00Z' } };

it.each([
  ['scaleDown: {makeRoom: true}', 2, '; room there: pod default/w-0 moves to another node'],
  ['nodeGroupOptions: [{name: a, makeRoom: true}]', 2, '; room there: pod default/w-0 moves to another node'],
  ['scaleDown: {makeRoom: true}', 0, '; room there: a node for its pods is being requested'], // The other node is removed.
  ['scaleDown: {makeRoom: true, enabled: false}', 2, '; room there: scale-down is disabled'],
  ['scaleDown: {makeRoom: false}', 0, 'kube-scheduler would make that room'],
])('with %s and at least %s nodes', async (config, min, expected) => {
  const nodes = [nodeJson('n-0', 'a'), nodeJson('n-1', 'a')];
  const pods = ['w-0', 'w-1'].map((name) => podJson(name, '1500m', { on: 'n-0', ...OLD }));
  const files = { c: listOf(...nodes, ...pods, AGENT), p: `[{name: a, vmSize: Standard_D4s_v5, min: ${min}, max: 5}]`, conf: config };
  const { scaleUp } = await planAnswer(['--cluster=c', '--pools=p', '--config=conf'], files);
  expect(JSON.stringify(scaleUp.helpless)).toContain(expected);
});
