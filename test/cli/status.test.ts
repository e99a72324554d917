import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aPool, bound, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';

interface StatusObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly data: { readonly status: string };
}

function statusOf(world: VirtualRun): StatusObject | undefined {
  const { store } = world.world.cluster;
  const found = store.list('configmaps').find((object) => object.metadata.name === 'cluster-autoscaler-status');
  return found as StatusObject | undefined;
}

describe('the status in the cluster', () => {
  it('shows a scale-up while it lasts, and rest after it', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    const general = () => {
      const status = parse(statusOf(world)?.data.status ?? '') as { readonly nodeGroups: readonly { readonly name: string }[] };
      return status.nodeGroups.find((group) => group.name.includes('general'));
    };
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('a write', () => world.writes().length > 0, MINUTE);
    await world.advance(25_000);
    expect(general()).toMatchObject({ scaleUp: { status: 'InProgress' }, health: { cloudProviderTarget: 2, maxSize: 10 } });
    await world.until('all bound', () => bound(world, 'web') === 8, 5 * MINUTE);
    await world.advance(30_000);
    expect(general()).toMatchObject({ scaleUp: { status: 'NoActivity' }, health: { nodeCounts: { registered: { total: 2, ready: 2 } } } });
    const { metadata, data } = statusOf(world) ?? { metadata: {}, data: { status: '' } };
    expect(metadata.annotations?.['cluster-autoscaler.kubernetes.io/last-updated']).toBe((parse(data.status) as { time: string }).time);
    expect(data.status).toMatch(/^autoscalerStatus: Running\n/);
    await world.stopDaemon();
    expect(statusOf(world)).toBeUndefined();
  });

  it('has the given name, and events about groups refer to it', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--status-config-map-name=second-status'] });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('a write', () => world.writes().length > 0, MINUTE);
    await world.advance(25_000);
    const { store } = world.world.cluster;
    expect(statusOf(world)).toBeUndefined();
    expect(store.list('configmaps').map(({ metadata }) => metadata.name)).toContain('second-status');
    const about = store.list('events').map((event) => (event as { involvedObject?: { kind?: string; name?: string } }).involvedObject);
    expect(new Set(about.flatMap((subject) => (subject?.kind === 'ConfigMap' ? [subject.name] : [])))).toEqual(new Set(['second-status']));
  });

  it('is not written when it is not wanted', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), flags: ['--write-status-configmap=false'] });
    await world.advance(MINUTE);
    expect(world.reports.length).toBeGreaterThan(3);
    expect(statusOf(world)).toBeUndefined();
  });
});
