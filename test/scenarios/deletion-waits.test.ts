/** A drained node stays for load balancers and for its volumes, as long as configured, and no longer. */
import { expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, MINUTE, SECOND, worldOf } from './support.ts';

const nodesOf = (run: VirtualRun) => run.world.cluster.store.nodes().filter(({ metadata }) => metadata.labels?.['agentpool'] === 'general');

/** A pod that is not evicted from an empty node, with a disk. */
function agent(name: string, node: string): readonly ObjectDraft[] {
  const spec = { storageClassName: 'managed-csi', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '8Gi' } } };
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default' }, spec };
  const template = {
    metadata: { labels: { app: name } },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
      containers: [{ name: 'agent', image: 'agent:1', resources: { requests: { cpu: '10m', memory: '10Mi' } } }],
    },
  };
  const set = { selector: { matchLabels: { app: name } }, template };
  return [claim, { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name, namespace: 'default' }, spec: set }];
}

it('an instance is deleted after the wait for load balancers, and once its volumes are detached or the time is up', async () => {
  const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 3, min: 0 })]) });
  await run.stopDaemon();
  const file = configFile('scaleDown: {unneededTime: 1m, delayAfterAdd: 0s}\ndrain: {loadBalancerWait: 1m}\n');
  await run.advance(MINUTE);
  const [plain = '', slow = '', stuck = ''] = nodesOf(run).map(({ metadata }) => metadata.name);
  const [claim, ...agents] = agent('slow', slow);
  for (const object of [claim, ...agents, ...agent('stuck', stuck)]) if (object !== undefined) run.world.cluster.apply(object);
  await run.advance(2 * MINUTE);
  expect(run.world.cluster.store.list('volumeattachments')).toHaveLength(2);
  await run.startDaemon([`--config=${file}`]);
  const taintedAt = new Map<string, number>();
  const deletedAt = new Map<string, number>();
  const said = (name: string) =>
    run.world.cluster.store
      .events()
      .flatMap(({ involvedObject, reason, message }) => (involvedObject.name === name && reason === 'ScaleDown' ? [message ?? ''] : []));
  for (let seconds = 0; seconds < 600 && deletedAt.size < 3; seconds += 5) {
    await run.advance(5 * SECOND);
    for (const name of [plain, slow, stuck]) {
      const messages = said(name);
      if (messages.some((text) => text.startsWith('marked')) && !taintedAt.has(name)) taintedAt.set(name, seconds);
      if (messages.some((text) => text.startsWith('node removed')) && !deletedAt.has(name)) deletedAt.set(name, seconds);
      if (name === slow && seconds === (taintedAt.get(slow) ?? -1) + 90) for (const object of agents) run.world.cluster.remove(object);
    }
  }
  const waited = (name: string): number => (deletedAt.get(name) ?? 0) - (taintedAt.get(name) ?? 0);
  expect([waited(plain) >= 55, waited(plain) <= 75]).toEqual([true, true]);
  expect([waited(slow) >= 85, waited(slow) <= 105]).toEqual([true, true]);
  expect([waited(stuck) >= 175, waited(stuck) <= 200]).toEqual([true, true]);
  expect(said(stuck)).toContainEqual(expect.stringMatching(/^the instance is deleted although volumes are attached after 2 min: pvc-/));
  expect([...said(plain), ...said(slow)].filter((text) => text.includes('although'))).toEqual([]);
  expect(run.world.violations()).toEqual([]);
});
