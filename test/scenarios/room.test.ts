/** Room on a node that stays: a pod of a DaemonSet waits for its full node until a pod moves, for which a node is requested first. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld } from '../support/virtual-world.ts';
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
  const folder = await mkdtemp(join(tmpdir(), 'room-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  await writeFile(file, 'repack: {minPodAge: 10m}\nnodeGroupOptions: [{name: full, makeRoom: true}]\n');
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
