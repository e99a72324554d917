import { describe, expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, pending, SECOND, worldOf } from './support.ts';

describe('scale-up', () => {
  it('a burst is bound, and nothing more is ordered while its nodes boot', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    await world.advance(MINUTE);
    // 3,860m allocatable less kube-proxy leaves five pods of 700m a node: four nodes, one of them there already.
    expect(capacity(world, 'general')).toBe(4);
    expect(world.writes().map((write) => [write.pool, write.status, write.capacityBefore, write.capacityAfter])).toEqual([
      ['general', 200, 1, 4],
    ]);
    expect(events(world, 'TriggeredScaleUp').length).toBeGreaterThan(0);
    expect(world.world.violations()).toEqual([]);
  });

  it('an unschedulable pod leads to a write within two seconds, not at the next scan', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 0 })]) });
    await world.advance(3 * SECOND);
    const before = world.clock.now();
    world.world.cluster.apply(deployment({ name: 'web', replicas: 1, cpu: '1' }));
    await world.until('a write', () => world.writes().length > 0, 9 * SECOND);
    expect((world.writes()[0]?.at ?? 0) - before).toBeLessThanOrEqual(2 * SECOND);
  });

  it('one plan spills over to a second pool when the first is at its maximum', async () => {
    const world = await startedWorld({
      spec: worldOf([aPool({ name: 'general', max: 3 }), aPool({ name: 'memory', vmSize: 'Standard_E8s_v5', count: 0, max: 2 })]),
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    expect(new Set(world.writes().map((write) => write.pool))).toEqual(new Set(['general', 'memory']));
    expect(world.reports.filter((report) => report.rounds.some((round) => round.increases.length > 1))).toHaveLength(1);
    expect(world.world.violations()).toEqual([]);
  });

  it('a pod too large for every pool causes no scale-up and says why', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.cluster.apply(deployment({ name: 'giant', replicas: 1, cpu: '64' }));
    await world.advance(MINUTE);
    expect(world.writes()).toEqual([]);
    expect(pending(world)).toBe(1);
    const [told = ''] = events(world, 'NotTriggerScaleUp');
    expect(told).toContain('needs 64 CPU, the node offers');
    expect(told).toContain('Fix that works: add a pool like aks-general-');
  });

  it('a pool at zero is chosen by its selector, taint and zone from the template alone', async () => {
    const pools = [
      aPool({ name: 'general' }),
      aPool({ name: 'zonal', count: 0, zones: ['2'], labels: { team: 'data' }, taints: ['team=data:NoSchedule'] }),
    ];
    const world = await startedWorld({ spec: worldOf(pools) });
    const spec = {
      nodeSelector: { team: 'data', 'topology.kubernetes.io/zone': 'westeurope-2' },
      tolerations: [{ key: 'team', operator: 'Equal', value: 'data', effect: 'NoSchedule' }],
    };
    world.world.cluster.apply(deployment({ name: 'etl', replicas: 2, cpu: '1', spec }));
    await world.until('both bound', () => bound(world, 'etl') === 2, 5 * MINUTE);
    expect(capacity(world, 'zonal')).toBe(1);
    expect(capacity(world, 'general')).toBe(1);
  });
});

describe('another writer', () => {
  it('changes the capacity between plan and write: 412, planned again in the same loop, no write is overwritten', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]) });
    world.world.arm.control.raise({ foreignScale: { pool: 'general', delta: 1, when: 'before-next-write' } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);

    const refused = world.writes().filter((write) => write.status === 412);
    expect(refused).toHaveLength(1);
    const loop = world.reports.find((report) => report.rounds.length > 1);
    const outcomes = loop?.rounds.map((round) => round.increases.map((record) => record.outcome.kind));
    expect(outcomes).toEqual([['conflict'], ['accepted']]);
    // The other writer's node counts: 2 are there or coming, so the second plan asks for the two that are still missing.
    expect(loop?.rounds[1]?.increases[0]?.increase).toMatchObject({ from: 2, to: 4 });
    expect(capacity(world, 'general')).toBe(4);
    expect(loop?.state.backoffs.size).toBe(0);
    expect(world.world.violations()).toEqual([]);
  });

  it('another writer has already asked for enough: one 412, no second write, no failure', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]) });
    world.world.arm.control.raise({ foreignScale: { pool: 'general', delta: 3, when: 'before-next-write' } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
    expect(world.writes().map(({ status }) => status)).toEqual([412]);
    expect(capacity(world, 'general')).toBe(4);
    expect(world.reports.flatMap(({ state }) => [...state.backoffs.keys()])).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });

  it('412 without end is counted as conflicts, and never as a failed scale-up', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]) });
    world.world.arm.control.addFault({
      id: 'stale',
      match: { method: 'PUT', pathGlob: '**/virtualMachineScaleSets/*' },
      effect: { kind: 'answer', status: 412, body: { error: { code: 'PreconditionFailed', message: 'The etag does not match.' } } },
    });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
    await world.until('six conflicts', () => world.writes().length >= 6, 5 * MINUTE);
    const { metrics } = world;
    const counted = async (name: string): Promise<number> =>
      ((await metrics.registry.getSingleMetric(`aks_autoscaler_${name}`)?.get())?.values ?? []).reduce((sum, { value }) => sum + value, 0);
    expect(await counted('conflicts_total')).toBe(world.writes().length);
    expect(await counted('scale_up_late_failures_total')).toBe(0);
    expect(world.reports.flatMap(({ state }) => [...state.backoffs.keys()])).toEqual([]);
    world.world.arm.control.removeFault('stale');
    await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
  });

  it('with AZURE_ENABLE_VMSS_ETAG=false no If-Match is sent', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]), env: { AZURE_ENABLE_VMSS_ETAG: 'false' } });
    world.world.cluster.apply(deployment({ name: 'web', replicas: 8, cpu: '700m' }));
    await world.until('a write', () => world.writes().length > 0, MINUTE);
    expect(world.writes()[0]?.etagIn).toBeUndefined();
  });

  it('scales in the portal while nothing is pending: the new size is adopted', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    world.world.arm.control.raise({ foreignScale: { pool: 'general', to: 3 } });
    await world.advance(3 * MINUTE);
    const group = world.reports.at(-1)?.observation?.cloud.groups.find((candidate) => candidate.id.includes('general'));
    expect(group?.target).toMatchObject({ known: true, value: 3 });
    expect(world.writes()).toEqual([]);
  });
});

describe('out of stock', () => {
  it('the next pool takes over within two loops, and the first one rests', async () => {
    const batch = { labels: { workload: 'batch' }, count: 0 };
    const world = await startedWorld({
      spec: worldOf(
        [aPool({ name: 'compute', vmSize: 'Standard_F8s_v2', ...batch }), aPool({ name: 'reserve', vmSize: 'Standard_D16s_v5', ...batch })],
        {
          stock: { 'Standard_F8s_v2/0': 0 },
        },
      ),
    });
    world.world.cluster.apply(
      deployment({ name: 'batch', replicas: 8, cpu: '1500m', memory: '2500Mi', spec: { nodeSelector: { workload: 'batch' } } }),
    );
    await world.until('all pods bound', () => bound(world, 'batch') === 8, 10 * MINUTE);
    const groups = world
      .writes()
      .filter((write) => write.route.startsWith('PUT'))
      .map((write) => write.pool);
    expect(groups).toEqual(['compute', 'reserve']);
    const failed = world.reports.findIndex((report) =>
      (report.observation?.cloud.events ?? []).some((event) => event.kind === 'increase-failed'),
    );
    const fallback = world.reports.findIndex((report) =>
      report.rounds.some((round) => round.increases.some((record) => record.increase.group.includes('reserve'))),
    );
    expect(fallback - failed).toBeLessThan(2);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('pods of a group that kube-scheduler places as a whole', () => {
  const workloadRef = { name: 'train', podGroup: 'workers' };
  const FLAGS = ['--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=1m', '--scan-interval=30s'];

  it('get nodes like ordinary pods, once, and each of them says so once', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 0 })]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'train', replicas: 3, cpu: '3', spec: { workloadRef } }));
    await world.until('all pods bound', () => bound(world, 'train') === 3, 5 * MINUTE);
    await world.advance(10 * MINUTE);
    expect([capacity(world, 'general'), pending(world), world.writes().length]).toEqual([3, 0, 1]);
    expect(events(world, 'TriggeredScaleUp').filter((text) => text.includes('belongs to workload train'))).toHaveLength(3);
    expect(world.world.violations()).toEqual([]);
  });

  it('hold no node that they can leave like ordinary pods, and each that they cannot leave', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 3 })]), flags: FLAGS });
    world.world.cluster.apply(deployment({ name: 'train', replicas: 3, cpu: '1700m', spec: { workloadRef } }));
    const nodesInUse = () =>
      new Set(
        world.world.cluster.store
          .boundPods()
          .filter((pod) => pod.metadata.labels?.['app'] === 'train')
          .map((pod) => pod.spec.nodeName),
      );
    await world.until('a pod on each node', () => nodesInUse().size === 3, MINUTE);
    await world.until('one node less', () => capacity(world, 'general') === 2, 15 * MINUTE);
    await world.until('all bound on the others', () => bound(world, 'train') === 3, 2 * MINUTE);
    await world.advance(15 * MINUTE);
    expect([capacity(world, 'general'), bound(world, 'train'), pending(world)]).toEqual([2, 3, 0]);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('determinism', () => {
  it('the same seed makes the same decisions', async () => {
    const story = async (): Promise<unknown> => {
      const world = await startedWorld({
        spec: worldOf([aPool({ name: 'general', max: 3 }), aPool({ name: 'memory', vmSize: 'Standard_E8s_v5', count: 0 })]),
      });
      world.world.cluster.apply(deployment({ name: 'web', replicas: 20, cpu: '700m' }));
      await world.until('all pods bound', () => bound(world, 'web') === 20, 5 * MINUTE);
      const account = world.writes().map((write) => [write.at, write.pool, write.capacityBefore, write.capacityAfter, write.status]);
      return account;
    };
    const first = await story();
    expect(await story()).toEqual(first);
  });
});
