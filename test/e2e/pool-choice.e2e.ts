/** The pool that pods ask for is the one that grows: labels, taints, devices, zones, neighbours, disks, DaemonSets. */
import { describe, expect, it } from 'vitest';
import { aPool } from '../scenarios/support.ts';
import { scenarios } from './scenario.ts';
import { until } from './until.ts';
import { claim, daemonSet, deployment, diskClass } from './workloads.ts';
import type { E2eWorld } from './world.ts';

const { beginWithDaemon, plane } = scenarios();
let world: E2eWorld;

describe('the pool that grows, on a real control plane', () => {
  it('grows from nothing the pool that a selector, a taint, a GPU and arm64 ask for', async () => {
    world = await beginWithDaemon({
      pools: [
        aPool({ name: 'general', count: 1, min: 1, max: 1 }),
        aPool({ name: 'labelled', count: 0, labels: { tier: 'gold' } }),
        aPool({ name: 'tainted', count: 0, labels: { team: 'data' }, taints: ['team=data:NoSchedule'] }),
        aPool({ name: 'gpu', vmSize: 'Standard_NC4as_T4_v3', count: 0, taints: ['sku=gpu:NoSchedule'] }),
        aPool({ name: 'arm', vmSize: 'Standard_D4pds_v5', count: 0 }),
      ],
      // A minute of simulated time per GPU driver would only be waited for.
      knobs: { osUpGpu: { p50: 60_000, p95: 60_000 } },
    });
    const gpu = { 'nvidia.com/gpu': '1' };
    await world.apply(deployment({ name: 'labelled', spec: { nodeSelector: { tier: 'gold' } } }));
    await world.apply(
      deployment({
        name: 'tainted',
        spec: { nodeSelector: { team: 'data' }, tolerations: [{ key: 'team', operator: 'Equal', value: 'data', effect: 'NoSchedule' }] },
      }),
    );
    await world.apply(deployment({ name: 'gpu', limits: gpu, spec: { tolerations: [{ key: 'sku', operator: 'Exists' }] } }));
    await world.apply(deployment({ name: 'arm', spec: { nodeSelector: { 'kubernetes.io/arch': 'arm64' } } }));
    for (const pool of ['labelled', 'tainted', 'gpu', 'arm']) {
      const [pod] = await world.untilRunning(pool, 1);
      const [node] = await world.untilNodes(pool, 1);
      expect(pod?.spec.nodeName).toBe(node?.metadata.name);
      expect(world.capacity(pool)).toBe(1);
    }
    expect(world.violations).toEqual([]);
  });

  it('spreads over three pools of one zone each as the constraint asks', async () => {
    const zoned = ['1', '2', '3'].map((zone) => aPool({ name: `zone${zone}`, count: 0, zones: [zone] }));
    world = await beginWithDaemon({ pools: zoned });
    const zone = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' };
    // The system pool is regional, zone "0" by its label: unless taints are honoured it counts as a fourth, empty domain.
    const constraint = { ...zone, nodeTaintsPolicy: 'Honor', labelSelector: { matchLabels: { app: 'spread' } } };
    const topologySpreadConstraints = [constraint];
    await world.apply(deployment({ name: 'spread', replicas: 6, cpu: '1500m', spec: { topologySpreadConstraints } }));
    const pods = await world.untilRunning('spread', 6, 120_000);
    const zoneOf = new Map((await world.nodes()).map(({ metadata }) => [metadata.name, metadata.labels?.['topology.kubernetes.io/zone']]));
    const perZone = Map.groupBy(pods, ({ spec }) => zoneOf.get(spec.nodeName ?? ''));
    expect([...perZone.values()].map((group) => group.length)).toEqual([2, 2, 2]);
    expect(zoned.map(({ name }) => world.capacity(name))).toEqual([1, 1, 1]);
  });

  it('does not grow for a spread that no new node would satisfy, as the scheduler sees it', async () => {
    // The tainted regional node is an empty domain that the pods cannot enter: one pod per zone is all there can be.
    world = await beginWithDaemon({ pools: ['1', '2', '3'].map((zone) => aPool({ name: `zone${zone}`, count: 0, zones: [zone] })) });
    const constraint = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' };
    const topologySpreadConstraints = [{ ...constraint, labelSelector: { matchLabels: { app: 'spread' } } }];
    await world.apply(deployment({ name: 'spread', replicas: 5, cpu: '1500m', spec: { topologySpreadConstraints } }));
    await until(
      'three run',
      async () => (await world.running('spread')).length === 3,
      90_000,
      () => world.picture(),
    );
    const told = await until('the other pods get a reason', async () => (await world.events('NotTriggerScaleUp'))[0]);
    expect(told.message).toMatch(/topology spread/i);
    expect(['zone1', 'zone2', 'zone3'].map((pool) => world.capacity(pool))).toEqual([1, 1, 1]);
    expect(await world.running('spread')).toHaveLength(3);
  });

  it('gives pods that refuse each other a node each', async () => {
    world = await beginWithDaemon({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'lonely' } } };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    await world.apply(deployment({ name: 'lonely', replicas: 3, cpu: '100m', spec: { affinity } }));
    const pods = await world.untilRunning('lonely', 3);
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(3);
    expect(world.capacity('general')).toBe(3);
  });

  it('goes back to the zone that a volume was made in', async () => {
    world = await beginWithDaemon({ pools: ['1', '2', '3'].map((zone) => aPool({ name: `zone${zone}`, count: 0, zones: [zone] })) });
    await plane().admin.apply(diskClass('disks'));
    await world.apply(claim('data', 'disks'));
    const spec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
    const there = { nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-3' } };
    await world.apply(deployment({ name: 'founder', cpu: '1500m', spec: { ...spec, ...there } }));
    await world.untilRunning('founder', 1);
    const [volume] = await plane().admin.list('/api/v1/persistentvolumes');
    expect(volume).toMatchObject({ status: { phase: 'Bound' } });
    expect(JSON.stringify(volume)).toContain('westeurope-3');
    await world.scale('founder', 0);
    await world.untilNodes('zone3', 0);
    // It asks for no zone: without the volume it would go to the first, as one pool is like the other.
    await world.apply(deployment({ name: 'heir', cpu: '1500m', spec }));
    const [heir] = await world.untilRunning('heir', 1);
    const [node] = await world.untilNodes('zone3', 1);
    expect(heir?.spec.nodeName).toBe(node?.metadata.name);
    expect(['zone1', 'zone2', 'zone3'].map((name) => world.capacity(name))).toEqual([0, 0, 1]);
    expect(world.violations).toEqual([]);
  });

  it('counts what DaemonSets take of a new node', async () => {
    world = await beginWithDaemon({ pools: [aPool({ name: 'general', count: 0 })] }, ['--scale-down-enabled=false']);
    // 3860m of a four-core node can be had: 1500m for the agent leaves room for one pod of 1500m, not for two.
    // It outranks the pods, as agents do: whoever is bound first, it gets its place.
    await world.apply(daemonSet({ name: 'agent', cpu: '1500m', spec: { priorityClassName: 'system-node-critical' } }));
    await world.apply(deployment({ name: 'web', replicas: 2, cpu: '1500m' }));
    await world.untilRunning('agent', 2);
    const pods = await world.untilRunning('web', 2);
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(2);
    expect(world.capacity('general')).toBe(2);
  });
});
