/** Pods come back with what their VerticalPodAutoscaler gives them: a node is removed only if they have places for that. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { VERTICAL_POD_AUTOSCALER_DEFINITION } from '../../world/simulator/cluster/schemas/vertical-pod-autoscalers.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const POOLS = ['plain', 'grows', 'off'] as const;

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
  const folder = await mkdtemp(join(tmpdir(), 'autoscalers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  await writeFile(file, 'cluster: {verticalPodAutoscalers: true}\nscaleDown: {unneededTime: 2m, delayAfterAdd: 0s}\n');
  const pools = POOLS.map((name) => aPool({ name, count: 2, min: 1, max: 3 }));
  const run = await startedWorld({ spec: worldOf(pools), flags: [`--config=${file}`, '--scan-interval=30s'] });
  // A kind that comes later is found within five minutes.
  await run.stopDaemon();
  run.world.cluster.apply(VERTICAL_POD_AUTOSCALER_DEFINITION);
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
