/** From a burst to pods that the real scheduler bound on nodes of the right kind. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aPool } from '../scenarios/support.ts';
import type { ControlPlane } from './control-plane.ts';
import { kubectl } from './kubectl.ts';
import { until } from './until.ts';
import { claim, daemonSet, deployment, diskClass } from './workloads.ts';
import { E2eWorld, startPlaneForDaemon, type Event, type WorldOptions } from './world.ts';

let plane: ControlPlane;
let world: E2eWorld;

beforeAll(async () => {
  plane = await startPlaneForDaemon();
});

afterEach(async () => {
  await world?.stop();
});

afterAll(async () => {
  await plane?.stop();
});

async function begin(options: Omit<WorldOptions, 'plane'>, flags: readonly string[] = []): Promise<void> {
  world = await E2eWorld.start({ plane, ...options });
  await world.soleDaemon(flags);
}

interface Counted {
  readonly status: string;
  readonly nodeCounts?: { readonly registered: { readonly total: number; readonly ready: number } };
}

/** The part of the status document that is looked at. */
interface Status {
  readonly autoscalerStatus: string;
  readonly clusterWide: { readonly health: Counted; readonly scaleUp: Counted };
  readonly nodeGroups?: readonly { readonly name: string; readonly health: Counted; readonly scaleUp: Counted }[];
}

describe('scale-up on a real control plane', () => {
  it('a burst becomes pods that run on new nodes, and says so in events and in the status', async () => {
    await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    const [daemon] = world.daemons;
    const before = new Set((await world.nodes()).map(({ metadata }) => metadata.name));
    await world.apply(deployment({ name: 'web', replicas: 16, cpu: '700m' }));
    const pods = await world.untilRunning('web', 16);
    const nodes = await world.untilNodes('general', 4);
    const used = new Set(pods.map(({ spec }) => spec.nodeName));
    expect([...used].some((name) => !before.has(name ?? ''))).toBe(true);
    expect(nodes.every(({ spec }) => spec.providerID?.startsWith('azure:///') === true)).toBe(true);
    expect(world.capacity('general')).toBe(4);
    const triggered = await until('events', async () => {
      const events = await world.events('TriggeredScaleUp');
      return events.length > 0 ? events : undefined;
    });
    expect(new Set(triggered.map(({ involvedObject }) => involvedObject.kind))).toEqual(new Set(['Pod']));
    // One plan, or two when the burst came in pieces: each says from where to where.
    for (const { message } of triggered) expect(message).toMatch(/aks-general-\S+ \d->\d \(max: 10\)/);
    expect(daemon?.complaints()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('says in the status ConfigMap and in events what is so, where kubectl shows it', async () => {
    await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] }, ['--scale-down-enabled=false']);
    await world.apply(deployment({ name: 'web', replicas: 4, cpu: '1500m' }));
    const [pod] = await world.untilRunning('web', 4);
    const status = await until('the status tells of two ready nodes', async () => {
      const map = await plane.admin.get('/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status');
      const told = parse((map?.['data'] as { readonly status?: string } | undefined)?.status ?? '') as Status | null;
      const group = told?.nodeGroups?.find(({ name }) => name.startsWith('aks-general-'));
      return group?.health.nodeCounts?.registered.ready === 2 && group.scaleUp.status === 'NoActivity' ? told : undefined;
    });
    expect(status).toMatchObject({
      autoscalerStatus: 'Running',
      clusterWide: { health: { status: 'Healthy' }, scaleUp: { status: 'NoActivity' } },
    });
    expect(status?.clusterWide.health.nodeCounts?.registered.total).toBe((await world.nodes()).length);
    const about = (kind: string) => async (): Promise<readonly string[] | undefined> => {
      const told = (await plane.admin.list('/api/v1/namespaces/kube-system/events')) as readonly Event[];
      const found = told.filter(({ involvedObject }) => involvedObject.kind === kind).map(({ reason, message }) => `${reason}: ${message}`);
      return found.length > 0 ? found : undefined;
    };
    expect(await until('events of the status object', about('ConfigMap'))).toContainEqual(
      expect.stringMatching(/^ScaledUpGroup: Scale-up of aks-general-\S+ 1->2 \(max: 10\)$/),
    );
    const described = await until('kubectl tells it', async () => {
      const told = await Promise.all(
        (await world.pods('web')).map(({ metadata }) => kubectl(plane, 'describe', 'pod', metadata.name, '-n', world.namespace)),
      );
      return told.find((text) => text.includes('TriggeredScaleUp'));
    });
    expect(described).toMatch(/Normal\s+TriggeredScaleUp\s+\S+\s+aks-autoscaler\s+This pod caused a scale-up/);
    expect(pod?.metadata.namespace).toBe(world.namespace);
  });

  it('grows from nothing the pool that a selector, a taint, a GPU and arm64 ask for', async () => {
    await begin({
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
    await begin({ pools: zoned });
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
    await begin({ pools: ['1', '2', '3'].map((zone) => aPool({ name: `zone${zone}`, count: 0, zones: [zone] })) });
    const constraint = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' };
    const topologySpreadConstraints = [{ ...constraint, labelSelector: { matchLabels: { app: 'spread' } } }];
    await world.apply(deployment({ name: 'spread', replicas: 5, cpu: '1500m', spec: { topologySpreadConstraints } }));
    await until(
      'three run',
      async () => (await world.running('spread')).length === 3,
      90_000,
      () => world.picture(),
    );
    const told = await until('the rest is told why', async () => (await world.events('NotTriggerScaleUp'))[0]);
    expect(told.message).toMatch(/topology spread/i);
    expect(['zone1', 'zone2', 'zone3'].map((pool) => world.capacity(pool))).toEqual([1, 1, 1]);
    expect(await world.running('spread')).toHaveLength(3);
  });

  it('gives pods that refuse each other a node each', async () => {
    await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'lonely' } } };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    await world.apply(deployment({ name: 'lonely', replicas: 3, cpu: '100m', spec: { affinity } }));
    const pods = await world.untilRunning('lonely', 3);
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(3);
    expect(world.capacity('general')).toBe(3);
  });

  it('goes back to the zone that a volume was made in', async () => {
    await begin({ pools: ['1', '2', '3'].map((zone) => aPool({ name: `zone${zone}`, count: 0, zones: [zone] })) });
    await plane.admin.apply(diskClass('disks'));
    await world.apply(claim('data', 'disks'));
    const spec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
    const there = { nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-3' } };
    await world.apply(deployment({ name: 'founder', cpu: '1500m', spec: { ...spec, ...there } }));
    await world.untilRunning('founder', 1);
    const [volume] = await plane.admin.list('/api/v1/persistentvolumes');
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
    await begin({ pools: [aPool({ name: 'general', count: 0 })] }, ['--scale-down-enabled=false']);
    // 3860m of a four-core node can be had: 1500m for the agent leaves room for one pod of 1500m, not for two.
    // It outranks the pods, as agents do: whoever is bound first, it gets its place.
    await world.apply(daemonSet({ name: 'agent', cpu: '1500m', spec: { priorityClassName: 'system-node-critical' } }));
    await world.apply(deployment({ name: 'web', replicas: 2, cpu: '1500m' }));
    await world.untilRunning('agent', 2);
    const pods = await world.untilRunning('web', 2);
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(2);
    expect(world.capacity('general')).toBe(2);
  });

  it('takes another pool when the first is out of stock, and the first rests', async () => {
    await begin({
      pools: [
        aPool({ name: 'first', vmSize: 'Standard_F4s_v2', count: 0 }),
        aPool({ name: 'second', vmSize: 'Standard_D8s_v5', count: 0 }),
      ],
      spec: { stock: { 'Standard_F4s_v2/0': 0 } },
    });
    await world.apply(deployment({ name: 'web', replicas: 2, cpu: '1500m' }));
    const pods = await world.untilRunning('web', 2);
    const second = new Set((await world.nodes('second')).map(({ metadata }) => metadata.name));
    expect(pods.every(({ spec }) => second.has(spec.nodeName ?? ''))).toBe(true);
    const failed = await until('the failure is told', async () => {
      const events = await world.events('FailedToScaleUpGroup');
      return events.length > 0 ? events : undefined;
    });
    expect(failed[0]?.message).toMatch(/first/);
    expect(world.violations).toEqual([]);
  });

  it('plans again when another writer came between plan and write (412)', async () => {
    await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    expect(world.arm.control.raise({ foreignScale: { pool: 'general', delta: 1, when: 'before-next-write' } })).toBeUndefined();
    await world.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    await world.untilRunning('web', 8, 120_000);
    // 2 of 1500m per node: four nodes, the foreign one among them.
    expect(world.capacity('general')).toBe(4);
    const writes = world.arm.control.journal().filter(({ method, pool }) => method !== 'GET' && pool === 'general');
    expect(writes.some(({ status }) => status === 412)).toBe(true);
    expect(await world.daemons[0]?.metric(/aks_autoscaler_replans_total\{cause="conflict"\} (\d+)/)).toBe(1);
    expect(world.violations).toEqual([]);
  });

  it('tells a pod that nothing can help why', async () => {
    await begin({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    await world.apply(deployment({ name: 'giant', cpu: '64' }));
    const told = await until('the event', async () => (await world.events('NotTriggerScaleUp'))[0]);
    expect(told.message).toMatch(/Insufficient cpu/i);
    expect(world.capacity('general')).toBe(1);
  });
});
