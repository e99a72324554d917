/** Quotas of the cluster, from the object to what Azure is asked for and back to the object's status. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, SECOND, worldOf } from './support.ts';

const quota = (name: string, pool: string, resources: Readonly<Record<string, string>>): ObjectDraft => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityQuota',
  metadata: { name },
  spec: { selector: { matchLabels: { 'kubernetes.azure.com/agentpool': pool } }, limits: { resources } },
});

interface QuotaStatus {
  readonly used?: { readonly resources: Readonly<Record<string, string>> };
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

function statusOf(world: VirtualRun, name: string): QuotaStatus {
  const status: QuotaStatus = world.world.cluster.store.get('capacityquotas', undefined, name)?.status ?? {};
  return status;
}

const statusWrites = (world: VirtualRun): number =>
  world.world.cluster.journal().filter(({ verb, resource }) => verb === 'patch' && resource === 'capacityquotas/status').length;

describe('capacity quotas', () => {
  it('the pool at its quota is passed over, and the status follows nodes that come and go', async () => {
    const pools = [aPool({ name: 'alpha', count: 1 }), aPool({ name: 'beta', count: 0 })];
    const world = await startedWorld({
      spec: worldOf(pools),
      flags: ['--capacity-quotas-enabled', '--scale-down-unneeded-time=5m', '--scale-down-delay-after-add=1m'],
    });
    world.world.cluster.apply(quota('alpha-nodes', 'alpha', { nodes: '2', cpu: '1k' }));
    world.world.cluster.apply(quota('broken', 'alpha', { nodes: '500m' }));
    await world.advance(30 * SECOND);
    expect(statusOf(world, 'alpha-nodes').used?.resources).toEqual({ nodes: '1', cpu: '4' });
    expect(statusOf(world, 'broken').conditions).toMatchObject([{ type: 'cluster-autoscaler.kubernetes.io/valid', status: 'False' }]);
    const before = statusWrites(world);
    await world.advance(3 * MINUTE);
    expect(statusWrites(world)).toBe(before);
    const inAlpha = { nodeSelector: { 'kubernetes.azure.com/agentpool': 'alpha' } };
    world.world.cluster.apply(deployment({ name: 'first', replicas: 2, cpu: '3', spec: inAlpha }));
    await world.until('the pool is full', () => bound(world, 'first') === 2, 10 * MINUTE);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.until('all pods bound', () => bound(world, 'web') === 3, 10 * MINUTE);
    expect([capacity(world, 'alpha'), capacity(world, 'beta')]).toEqual([2, 3]);
    await world.advance(30 * SECOND);
    expect(statusOf(world, 'alpha-nodes').used?.resources).toEqual({ nodes: '2', cpu: '8' });
    const other = deployment({
      name: 'other',
      replicas: 1,
      cpu: '3',
      spec: { nodeSelector: { 'kubernetes.azure.com/agentpool': 'alpha' } },
    });
    world.world.cluster.apply(other);
    await world.until('reported', () => events(world, 'NotTriggerScaleUp').length > 0, 2 * MINUTE);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('exceeded quota: "CapacityQuota/alpha-nodes", resources: nodes');
    for (const name of ['first', 'other']) world.world.cluster.apply(deployment({ name, replicas: 0, cpu: '3' }));
    await world.until('the pool shrinks', () => capacity(world, 'alpha') < 2, 20 * MINUTE);
    await world.until('the status follows', () => statusOf(world, 'alpha-nodes').used?.resources['nodes'] !== '2', 10 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });

  it('a status that could not be written is written a minute later, and nothing else waits for it', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'alpha', count: 1 })]), flags: ['--capacity-quotas-enabled'] });
    world.world.cluster.control.failNext(1, 503, { verb: 'patch', resource: 'capacityquotas/status' });
    world.world.cluster.apply(quota('q', 'alpha', { nodes: '2' }));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.until('the pool is at its quota', () => capacity(world, 'alpha') === 2, MINUTE);
    expect(statusOf(world, 'q')).toEqual({});
    await world.until('written', () => statusOf(world, 'q').used !== undefined, 2 * MINUTE);
    expect(world.reports.flatMap(({ failures }) => failures)).toEqual([]);
  });

  it('turned off, nothing is asked and nothing is said', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'alpha', count: 1 })]) });
    world.world.cluster.apply(quota('q', 'alpha', { nodes: '1' }));
    world.world.cluster.apply(deployment({ name: 'web', replicas: 3, cpu: '3' }));
    await world.until('all pods bound', () => bound(world, 'web') === 3, 10 * MINUTE);
    expect(statusOf(world, 'q')).toEqual({});
    expect(world.world.cluster.journal().some(({ resource }) => resource.startsWith('capacityquotas'))).toBe(false);
  });
});
