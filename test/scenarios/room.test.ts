/** Room on a node that stays: a pod of a DaemonSet waits for its full node, or a pod for its new size, until a pod moves. A node is requested first if none has room for it. */
import { expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import type { PodObject } from '../../world/simulator/cluster/store/objects.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

function daemonSet(name: string, cpu: string, pool: string): ObjectDraft {
  const labels = { app: name };
  const containers = [{ name: 'app', image: 'app:1', resources: { requests: { cpu, memory: '64Mi' } } }];
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'default', labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers, nodeSelector: { agentpool: pool } } },
    },
  };
}

it('a pod of a DaemonSet gets its room where that is on: a node comes first, over a restart, and one pod moves once', async () => {
  const file = configFile('repack: {minPodAge: 10m}\nnodeGroupOptions: [{name: full, makeRoom: true}]\n');
  const pools = ['full', 'off'].map((name) => aPool({ name, count: 1, min: 1, max: 3 }));
  const run = await startedWorld({ spec: worldOf(pools), flags: [`--config=${file}`, '--scan-interval=1m'] });
  for (const pool of ['full', 'off'])
    run.world.cluster.apply(deployment({ name: `web-${pool}`, replicas: 3, cpu: '1200m', spec: { nodeSelector: { agentpool: pool } } }));
  await run.until('the pods run', () => bound(run, 'web-full') + bound(run, 'web-off') === 6, 5 * MINUTE);
  for (const pool of ['full', 'off']) run.world.cluster.apply(daemonSet(`agent-${pool}`, '1', pool));
  // Each pod is too young to move.
  await run.advance(5 * MINUTE);
  expect([capacity(run, 'full'), bound(run, 'agent-full')]).toEqual([1, 0]);
  await run.until('a node is requested', () => capacity(run, 'full') === 2, 10 * MINUTE);
  expect(events(run, 'MakingRoom')).toEqual([]);
  await run.stopDaemon();
  await run.startDaemon();
  await run.until('the agents run', () => bound(run, 'agent-full') === 2, 15 * MINUTE);
  expect(events(run, 'MakingRoom').filter((message) => message.startsWith('evicting')).length).toBe(1);
  const pods = () => run.world.cluster.store.boundPods().map(({ metadata }) => metadata.uid);
  const then = pods();
  await run.advance(65 * MINUTE);
  expect([pods(), bound(run, 'web-full'), capacity(run, 'full')]).toEqual([then, 3, 2]);
  expect([capacity(run, 'off'), bound(run, 'agent-off'), bound(run, 'web-off')]).toEqual([1, 0, 3]);
  expect(run.world.violations()).toEqual([]);
  expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
});

it('a deferred resize is made once a pod has moved, at once where another node has room, else after a node was requested', async () => {
  const file = configFile(
    'repack: {minPodAge: 5m}\nscaleDown: {makeRoom: true, utilizationThreshold: 0.1}\nnodeGroupOptions: [{name: off, makeRoom: false}]\n',
  );
  const pools = [
    ['beside', 2],
    ['full', 1],
    ['off', 1],
  ] as const;
  const spec = worldOf(pools.map(([name, count]) => aPool({ name, count, min: count, max: 3 })));
  const run = await startedWorld({ spec, flags: [`--config=${file}`, '--scan-interval=1m'] });
  for (const [pool, count] of pools)
    run.world.cluster.apply(
      deployment({ name: `web-${pool}`, replicas: 3 * count - (count - 1), cpu: '1200m', spec: { nodeSelector: { agentpool: pool } } }),
    );
  await run.until('the pods run', () => pools.every(([pool, count]) => bound(run, `web-${pool}`) === 3 * count - (count - 1)), 5 * MINUTE);
  await run.advance(6 * MINUTE);
  const byNode = [...Map.groupBy(podsOf(run, 'web-beside'), (pod) => pod.spec.nodeName).values()];
  const grown = byNode.find((pods) => pods.length === 3);
  const asked = [grown?.[0], podsOf(run, 'web-full')[0], podsOf(run, 'web-off')[0]].filter((pod) => pod !== undefined);
  for (const pod of asked) run.world.cluster.resize(pod, { cpu: '2' });
  const sizes = (): readonly unknown[] => asked.map((pod) => actualCpu(run, pod));
  await run.until('the first resize is made', () => sizes()[0] === '2', 4 * MINUTE);
  expect([capacity(run, 'beside'), sizes()]).toEqual([2, ['2', '1200m', '1200m']]);
  await run.until('the second resize is made', () => sizes()[1] === '2', 10 * MINUTE);
  await run.advance(20 * MINUTE);
  expect(sizes()).toEqual(['2', '2', '1200m']);
  expect(pools.map(([pool]) => [capacity(run, pool), bound(run, `web-${pool}`)])).toEqual([
    [2, 5],
    [2, 3],
    [1, 3],
  ]);
  // Each pod that grew is the one that ran before, and one pod moved for each.
  expect(events(run, 'MakingRoom').filter((message) => message.startsWith('evicting')).length).toBe(2);
  expect(run.world.violations()).toEqual([]);
  expect(run.reports.flatMap(({ failures }) => failures)).toEqual([]);
});

function podsOf(run: VirtualRun, name: string): readonly PodObject[] {
  return run.world.cluster.store.boundPods().filter(({ metadata }) => metadata.labels?.['app'] === name);
}

/** What the containers of the pod have by now. undefined: the pod is gone. */
function actualCpu(run: VirtualRun, { metadata }: PodObject): unknown {
  const pod = run.world.cluster.store.pods().find((one) => one.metadata.uid === metadata.uid);
  const [status] = (pod?.status['containerStatuses'] ?? []) as readonly {
    readonly resources: { readonly requests: { readonly cpu: string } };
  }[];
  return status?.resources.requests.cpu;
}
