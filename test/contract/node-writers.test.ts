/** Who tainted or cordoned a node, read from the managed fields of the API object. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/cli/process/process.ts';
import { openConnection } from '../../src/kubernetes/api/connection.ts';
import { createRest } from '../../src/kubernetes/api/rest.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { nodeWritersOf } from '../../src/kubernetes/views/node-writers.ts';
import { setConnectedStage, type ConnectedStage } from '../kubernetes/connected-stage.ts';

let stage: ConnectedStage;

const OPTIONS = { namespace: 'kube-system', leaseName: 'aks-autoscaler', identity: 'x', leaderElect: false };

/** Patches the spec of the node as another client does. */
async function patchAs(userAgent: string, spec: object): Promise<void> {
  const connection = await openConnection({ ...OPTIONS, kubeconfigPath: stage.kubeconfigPath }, systemClock);
  const rest = createRest({ connection, clock: systemClock, metrics: createMetrics(), userAgent, timeoutMs: 120_000 });
  const request = { method: 'PATCH', path: '/api/v1/nodes/usr-1', contentType: 'application/merge-patch+json', body: { spec } } as const;
  await stage.settled(rest.json(request, stage.signal));
  await connection.close();
}

it('names the last client of each field, and nothing that nothing wrote', async () => {
  stage = await setConnectedStage();
  const { kubernetes } = await stage.connect();
  const writers = () => stage.settled(kubernetes.nodeWriters('usr-1', stage.signal));
  expect(await writers()).toEqual({});
  await patchAs('kubectl-cordon/v1.34', { unschedulable: true });
  await patchAs('kubectl-taint/v1.34', { taints: [{ key: 'team', value: 'data', effect: 'NoSchedule' }] });
  const atMs = expect.any(Number) as number;
  expect(await writers()).toEqual({ cordon: { manager: 'kubectl-cordon', atMs }, taints: { manager: 'kubectl-taint', atMs } });
  await patchAs('karpenter/v1', { taints: [{ key: 'team', value: 'web', effect: 'NoSchedule' }] });
  expect(await writers()).toMatchObject({ cordon: { manager: 'kubectl-cordon' }, taints: { manager: 'karpenter' } });
  // An API server does not write an empty list, so nobody manages it.
  await patchAs('karpenter/v1', { taints: [] });
  expect(await writers()).toEqual({ cordon: { manager: 'kubectl-cordon', atMs } });
  expect(await stage.settled(kubernetes.nodeWriters('none', stage.signal))).toBeUndefined();
});

it('of several managers of one field the last one counts', async () => {
  stage = await setConnectedStage([]);
  const entry = (manager: string, time?: string) => ({
    manager,
    ...(time === undefined ? {} : { time }),
    fieldsV1: { 'f:spec': { 'f:taints': {} } },
  });
  const managedFields = [
    entry('old', '2026-11-21T00:00:00Z'),
    entry('new', '2026-11-21T00:05:00Z'),
    entry('timeless'),
    { manager: 'else' },
  ];
  expect(nodeWritersOf({ metadata: { managedFields } })).toEqual({ taints: { manager: 'new', atMs: Date.parse('2026-11-21T00:05:00Z') } });
});
