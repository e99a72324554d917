/** Pods come back with what their VerticalPodAutoscaler gives them: a node is removed only if they have places for that, and a pod moves to get it. */
import { expect, it } from 'vitest';
import { VERTICAL_POD_AUTOSCALER_DEFINITION } from '../../world/simulator/cluster/schemas/vertical-pod-autoscalers.ts';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, worldOf } from './support.ts';

const POOLS = ['plain', 'grows', 'off'] as const;

/** A world that has VerticalPodAutoscalers, before its daemon starts. */
async function started(pools: readonly PoolSpec[], config: string): Promise<VirtualRun> {
  const file = configFile(`cluster: {verticalPodAutoscalers: true}\n${config}\n`);
  const run = await startedWorld({ spec: worldOf(pools), flags: [`--config=${file}`, '--scan-interval=30s'] });
  // A kind that comes later is found within five minutes.
  await run.stopDaemon();
  run.world.cluster.apply(VERTICAL_POD_AUTOSCALER_DEFINITION);
  return run;
}

/** As their recommender writes it. */
function recommend(run: VirtualRun, name: string, updateMode: string, cpu: string): void {
  const object = run.world.cluster.apply({
    apiVersion: 'autoscaling.k8s.io/v1',
    kind: 'VerticalPodAutoscaler',
    metadata: { name, namespace: 'default' },
    spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, updatePolicy: { updateMode } },
  });
  run.world.cluster.writeStatus(object, {
    conditions: [{ type: 'RecommendationProvided', status: 'True' }],
    recommendation: { containerRecommendations: [{ containerName: 'app', target: { cpu, memory: '256Mi' } }] },
  });
}

const requestsOf = (run: VirtualRun, name: string): readonly unknown[] =>
  run.world.cluster.store
    .boundPods()
    .filter(({ metadata }) => metadata.labels?.['app'] === name)
    .map(({ spec }) => spec.containers[0]?.resources?.requests?.['cpu'])
    .toSorted((left, right) => String(left).localeCompare(String(right)));

it('a removal that fits with what the pods request now, and not with what they will, is not begun until it fits', async () => {
  const run = await started(
    POOLS.map((name) => aPool({ name, count: 2, min: 1, max: 3 })),
    'scaleDown: {unneededTime: 2m, delayAfterAdd: 0s}',
  );
  for (const name of POOLS)
    run.world.cluster.apply(deployment({ name, replicas: 2, cpu: '1', spec: { nodeSelector: { agentpool: name } } }));
  await run.until('the pods run', () => POOLS.every((name) => bound(run, name) === 2), 3 * MINUTE);
  recommend(run, 'grows', 'Initial', '3');
  recommend(run, 'off', 'Off', '3');
  await run.startDaemon();
  await run.advance(15 * MINUTE);
  expect(POOLS.map((name) => capacity(run, name))).toEqual([1, 2, 1]);
  const kept = run.reports.at(-1)?.scaleDown?.kept.filter(({ node }) => node.includes('-grows-'));
  expect(kept?.map(({ blocker }) => blocker?.detail)).toContain(
    'fits on no other node with the 3 CPU and 256 MiB memory that VerticalPodAutoscaler default/grows gives it',
  );
  expect(requestsOf(run, 'grows')).toEqual(['1', '1']);
  recommend(run, 'grows', 'Initial', '2');
  await run.until('a node is removed', () => capacity(run, 'grows') === 1, 15 * MINUTE);
  expect(POOLS.map((name) => requestsOf(run, name))).toEqual([
    ['1', '1'],
    ['1', '2'],
    ['1', '1'],
  ]);
  expect(run.world.violations()).toEqual([]);
  expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
});

it('a pod whose node can never hold its new size moves to a node that is requested first, if it comes back with that size', async () => {
  const run = await started(
    [
      aPool({ name: 'small', count: 1, min: 1, max: 1, labels: { tier: 'apps' } }),
      aPool({ name: 'large', vmSize: 'Standard_D8s_v5', count: 0, max: 2, labels: { tier: 'apps' } }),
    ],
    'scaleDown: {makeRoom: true}\nrepack: {minPodAge: 5m}',
  );
  const names = ['db', 'cache'] as const;
  for (const name of names) run.world.cluster.apply(deployment({ name, replicas: 1, cpu: '1', spec: { nodeSelector: { tier: 'apps' } } }));
  await run.until('the pods run', () => names.every((name) => bound(run, name) === 1), 3 * MINUTE);
  recommend(run, 'db', 'InPlaceOrRecreate', '5');
  const podOf = (name: string) => run.world.cluster.store.boundPods().find(({ metadata }) => metadata.labels?.['app'] === name);
  const [before, kept] = [podOf('db'), podOf('cache')];
  for (const pod of [before, kept]) if (pod !== undefined) run.world.cluster.resize(pod, { cpu: '5' });
  await run.startDaemon();
  await run.until('a node is requested', () => capacity(run, 'large') === 1, 10 * MINUTE);
  expect(podOf('db')?.metadata.uid).toBe(before?.metadata.uid);
  await run.until('the pod moves', () => podOf('db')?.spec.nodeName?.includes('-large-') === true, 10 * MINUTE);
  await run.advance(20 * MINUTE);
  expect([podOf('db')?.spec.containers[0]?.resources?.requests?.['cpu'], capacity(run, 'large'), pending(run)]).toEqual(['5', 1, 0]);
  // No VerticalPodAutoscaler would give the other one its size.
  expect(podOf('cache')?.metadata.uid).toBe(kept?.metadata.uid);
  expect(events(run, 'MakingRoom').some((message) => message.startsWith('moving this pod from node'))).toBe(true);
  expect(run.world.violations()).toEqual([]);
  expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
});
