import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import type { LoadEvent, Scenario, Workload } from '../../../lab/loads/load.ts';
import { LoadDriver } from '../../../lab/runs/load-driver.ts';
import { worldOfScenario } from '../../../lab/runs/scenario-world.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import type { PodObject } from '../../../simulator/cluster/store/objects.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import { START_MS } from '../../../../test/support/builders.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const SPOT_TAINT = 'kubernetes.azure.com/scalesetpriority=spot:NoSchedule';

function aWorkload(kind: Workload['kind'], change: Partial<Workload> = {}): Workload {
  return { id: 'w', name: 'w', namespace: 'shop', kind, pod: { containers: [{ requests: { cpu: '900m', memory: '1Gi' } }] }, ...change };
}

function aScenario(workloads: readonly Workload[], events: readonly LoadEvent[]): Scenario {
  return {
    name: 'test',
    startMs: START_MS,
    durationMs: 60 * MINUTE,
    currency: 'USD',
    pools: [
      { name: 'general', vmSize: 'standard_d4S_v5', count: 2, min: 1, max: 5, zones: ['1', '2'] },
      { name: 'spot', vmSize: 'Standard_F8s_v2', count: 1, min: 0, max: 5, priority: 'Spot', taints: [SPOT_TAINT] },
    ],
    workloads,
    events,
  };
}

function scaled(atMs: number, count: number, workload = 'w'): LoadEvent {
  return { kind: 'replicas', atMs, workload, count };
}

let world: World;
let clock: VirtualSimClock;
let driver: LoadDriver;
afterEach(() => world.stop());

async function playScenario(scenario: Scenario): Promise<void> {
  clock = new VirtualSimClock(START_MS);
  const client = { clientId: 'c', clientSecret: 's' };
  world = await startWorld({ spec: worldOfScenario(scenario, 1), clock, client, token: 't' });
  clock.advance(5 * MINUTE);
  driver = new LoadDriver(world, scenario);
  driver.start();
}

function play(...load: Parameters<typeof aScenario>): Promise<void> {
  return playScenario(aScenario(...load));
}

const pods = (): readonly PodObject[] => world.cluster.store.pods().filter(({ metadata }) => metadata.namespace === 'shop');
const named = (name: string): PodObject | undefined => pods().find(({ metadata }) => metadata.name === name);
const running = (): readonly PodObject[] =>
  pods().filter(({ status, metadata }) => status.phase === 'Running' && metadata.deletionTimestamp === undefined);

describe('a load in a world', () => {
  it('follows replicas, and replaces what is evicted', async () => {
    await play([aWorkload('Deployment', { budget: { maxUnavailable: 1 } })], [scaled(0, 2), scaled(5 * MINUTE, 4), scaled(10 * MINUTE, 1)]);
    clock.advance(MINUTE);
    expect(running()).toHaveLength(2);
    expect(world.cluster.store.get('poddisruptionbudgets', 'shop', 'w')?.status).toMatchObject({ disruptionsAllowed: 1 });
    expect(world.cluster.evict(running()[0]!)).toBeUndefined();
    clock.advance(4 * MINUTE - 1);
    expect(running()).toHaveLength(2);
    clock.advance(MINUTE);
    expect(running()).toHaveLength(4);
    clock.advance(5 * MINUTE);
    expect(running()).toHaveLength(1);
  });

  it('ends a run after its time of running, and begins a lost one again', async () => {
    await play([aWorkload('Job')], [{ kind: 'run', atMs: 0, workload: 'w', runMs: 10 * MINUTE, count: 2 }]);
    clock.advance(6 * MINUTE);
    expect(running()).toHaveLength(2);
    world.cluster.remove(running()[0]!);
    clock.advance(5 * MINUTE);
    expect(driver.jobs.counts).toEqual({ finished: 1, interrupted: 1 });
    expect(running()).toHaveLength(1);
    clock.advance(6 * MINUTE);
    expect(driver.jobs.counts).toEqual({ finished: 2, interrupted: 1 });
    expect(pods()).toEqual([]);
    expect(world.cluster.store.list('jobs')).toEqual([]);
  });

  it('does not count a run as interrupted that never ran', async () => {
    const big = aWorkload('Job', { pod: { containers: [{ requests: { cpu: '64' } }] } });
    await play([big], [{ kind: 'run', atMs: 0, workload: 'w', runMs: MINUTE }]);
    clock.advance(MINUTE);
    world.cluster.remove(pods()[0]!);
    clock.advance(MINUTE);
    expect(driver.jobs.counts).toEqual({ finished: 0, interrupted: 0 });
    expect(pods()).toHaveLength(1);
  });

  it('keeps the names of a StatefulSet’s pods, and does not replace pods without a controller', async () => {
    await play(
      [aWorkload('StatefulSet'), aWorkload('Pod', { id: 'bare', name: 'bare' })],
      [scaled(0, 2), scaled(0, 2, 'bare'), scaled(10 * MINUTE, 1)],
    );
    clock.advance(MINUTE);
    const before = named('w-1')?.metadata.uid;
    world.cluster.remove(named('w-1')!);
    world.cluster.remove(named('bare-0')!);
    clock.advance(MINUTE);
    expect(named('w-1')?.metadata.uid).not.toBe(before);
    expect(named('w-1')?.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'StatefulSet', name: 'w' });
    expect(named('bare-0')).toBeUndefined();
    expect(named('bare-1')).toBeDefined();
    clock.advance(9 * MINUTE);
    expect([named('w-0')?.status.phase, named('w-1')]).toEqual(['Running', undefined]);
  });

  it('rolls a new template out', async () => {
    const events: readonly LoadEvent[] = [
      scaled(0, 2),
      { kind: 'template', atMs: MINUTE, workload: 'w', pod: { containers: [{ requests: { cpu: '250m' } }] } },
    ];
    await play([aWorkload('Deployment')], events);
    clock.advance(5 * MINUTE);
    expect(running().map(({ spec }) => spec.containers[0]?.resources?.requests)).toEqual([{ cpu: '250m' }, { cpu: '250m' }]);
  });

  it('gives each shape of pod to the cluster as it is', async () => {
    const shaped = aWorkload('Deployment', {
      id: 'id-1',
      name: 'Team_A.web',
      pod: {
        labels: { team: 'a' },
        annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' },
        containers: [{ requests: { cpu: '1' }, hostPorts: [{ port: 8080 }] }],
        initContainers: [{ requests: { cpu: '2' } }, { requests: { memory: '1Gi' }, isSidecar: true }],
        overhead: { cpu: '250m' },
        priority: 1000,
        tolerations: [{ operator: 'Exists' }],
        volumes: [{ kind: 'emptyDir' }, { kind: 'disk', storageClass: 'managed-csi' }, { kind: 'hostPath' }],
        terminationGracePeriodSeconds: 7,
      },
    });
    await play([shaped], [scaled(0, 1, 'id-1')]);
    clock.advance(MINUTE);
    const [pod] = pods();
    expect(driver.problems).toEqual(new Set());
    expect(pod?.metadata.name).toMatch(/^team-a-web-[0-9a-z]+-/);
    expect(pod?.metadata.labels).toMatchObject({ team: 'a' });
    expect(pod?.metadata.annotations).toMatchObject({ 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' });
    expect(pod?.spec).toMatchObject({ priority: 1000, terminationGracePeriodSeconds: 7 });
    expect(pod?.spec.containers.map(({ resources }) => resources?.requests)).toEqual([{ cpu: '1' }, { cpu: '250m' }]);
    expect(pod?.spec.initContainers?.map(({ restartPolicy }) => restartPolicy)).toEqual([undefined, 'Always']);
    expect(pod?.status.phase).toBe('Running');
  });

  it('lets Azure do what the load says', async () => {
    const pool = { name: 'general', vmSize: 'Standard_D4s_v5', count: 2, min: 0, max: 9, zones: ['1', '2'] };
    await play(
      [],
      [
        { kind: 'stock', atMs: 0, vmSize: 'Standard_D4s_v5', count: 0 },
        { kind: 'stock', atMs: MINUTE, vmSize: 'Standard_D4s_v5', zone: 'westeurope-1', count: null },
        { kind: 'spot-eviction', atMs: 0, pool: 'spot', count: 1 },
        { kind: 'failure', atMs: 0, pool: 'general', how: 'no-node', count: 2 },
        { kind: 'pool', atMs: 2 * MINUTE, pool },
        // AKS still works on the first change then.
        { kind: 'pool', atMs: 2 * MINUTE + 1, pool: { ...pool, max: 8 } },
        { kind: 'pool', atMs: 3 * MINUTE, pool: { ...pool, name: 'more', count: 0 } },
        { kind: 'pool-removed', atMs: 4 * MINUTE, pool: 'spot' },
      ].toSorted((left, right) => left.atMs - right.atMs) as readonly LoadEvent[],
    );
    const state = () => world.arm.control.state();
    expect(state().stock).toMatchObject({ 'standard_d4s_v5/0': 0, 'standard_d4s_v5/1': 0, 'standard_d4s_v5/2': 0 });
    expect(state().faults).toMatchObject([{ match: { pool: 'general', times: 2 }, effect: { kind: 'birth', how: 'no-node' } }]);
    clock.advance(90 * SECOND);
    expect(state().stock['standard_d4s_v5/1']).toBeGreaterThan(1_000);
    expect(state().sets.find((set) => set.pool === 'spot')?.capacity).toBe(0);
    clock.advance(20 * MINUTE);
    expect(world.arm.control.journal().filter(({ route }) => route === 'EVENT retag')).toMatchObject([
      { pool: 'general' },
      { pool: 'general' },
    ]);
    expect(
      state()
        .sets.map((set) => set.pool)
        .sort(),
    ).toEqual(['general', 'more']);
    expect(driver.problems).toEqual(new Set());
  });

  it('refuses writes, lacks Spot VMs and stops nodes for as long as the load says', async () => {
    await play(
      [],
      [
        { kind: 'refusal', atMs: 0, pool: 'general', why: 'quota', forMs: 5 * MINUTE },
        { kind: 'stock', atMs: 0, vmSize: 'Standard_F8s_v2', priority: 'Spot', count: 0 },
        { kind: 'node-failure', atMs: MINUTE, pool: 'general', forMs: 3 * MINUTE },
        { kind: 'node-failure', atMs: MINUTE, pool: 'spot' },
        { kind: 'stock', atMs: 5 * MINUTE, vmSize: 'Standard_F8s_v2', priority: 'Spot', count: null },
      ],
    );
    const state = () => world.arm.control.state();
    const readiness = (): readonly string[] =>
      world.cluster.store.nodes().map(({ metadata, status }) => {
        const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status;
        return `${metadata.labels?.['agentpool'] ?? ''} ${ready ?? ''}`;
      });
    expect(state().faults).toMatchObject([
      {
        match: { method: 'PUT', pool: 'general' },
        effect: { kind: 'answer', status: 409, body: { error: { code: 'OperationNotAllowed' } } },
      },
      { match: { method: 'PUT', pool: 'general' }, effect: { kind: 'answer', status: 409 } },
    ]);
    expect(state().stock).toEqual({ 'standard_f8s_v2/0/spot': 0 });
    clock.advance(2 * MINUTE);
    expect(readiness().toSorted()).toEqual(['general True', 'general Unknown', 'spot Unknown']);
    clock.advance(3 * MINUTE - 1);
    expect(readiness().toSorted()).toEqual(['general True', 'general True', 'spot Unknown']);
    expect(state().faults).toHaveLength(2);
    clock.advance(1);
    expect(state().faults).toEqual([]);
    expect(state().stock['standard_f8s_v2/0/spot']).toBeGreaterThan(1_000);
    expect([...driver.problems]).toEqual([]);
  });

  it('loses a zone for as long as the load says', async () => {
    await play([], [{ kind: 'zone-outage', atMs: 0, zone: 'westeurope-2', forMs: 10 * MINUTE }]);
    const unready = (): readonly unknown[] =>
      world.cluster.store.nodes().flatMap(({ metadata: { labels }, status }) => {
        const isReady = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
        return isReady ? [] : [labels?.['topology.kubernetes.io/zone']];
      });
    clock.advance(2 * MINUTE);
    expect(unready()).toEqual([`${world.spec.location}-2`]);
    expect(world.arm.control.state().stock).toMatchObject({ 'standard_d4s_v5/2': 0 });
    clock.advance(9 * MINUTE);
    expect(unready()).toEqual([]);
    expect(world.arm.control.state().stock).toEqual({});
    expect([...driver.problems]).toEqual([]);
  });

  it('says that a node cannot fail where there is none', async () => {
    await play(
      [],
      [
        { kind: 'node-failure', atMs: 0, pool: 'spot' },
        { kind: 'node-failure', atMs: 0, pool: 'spot' },
      ],
    );
    expect([...driver.problems]).toEqual(['node-failure of pool spot: pool "spot" has 0 running VMs, and 1 must hang']);
  });

  it('reports what the world refuses, and goes on', async () => {
    const wrong = aWorkload('Deployment', { id: 'wrong', name: 'wrong', pod: { containers: [{ requests: { cpu: 'much' } }] } });
    await play([wrong, aWorkload('Deployment')], [scaled(0, 1, 'wrong'), scaled(0, 1)]);
    clock.advance(MINUTE);
    expect([...driver.problems]).toEqual([expect.stringMatching(/^replicas of workload wrong: .*"much": not a quantity/)]);
    expect(running()).toHaveLength(1);
  });

  it('stops', async () => {
    await play([aWorkload('Deployment')], [scaled(MINUTE, 1)]);
    driver.stop();
    clock.advance(5 * MINUTE);
    expect(pods()).toEqual([]);
  });
});

describe('the world of a scenario', () => {
  it('refuses a size that the simulated Azure does not offer', () => {
    const scenario = aScenario([], []);
    const pools = [{ ...scenario.pools[0]!, vmSize: 'Standard_X1' }];
    expect(() => worldOfScenario({ ...scenario, pools }, 1)).toThrow(
      'Pool general has the VM size Standard_X1, which the simulated Azure does not offer and the scenario does not describe.',
    );
  });

  it('has the region, zones and system pools that labels and taints of a recording show', () => {
    const [pool] = aScenario([], []).pools;
    const recorded = { ...pool!, zones: ['northeurope-1', 'northeurope-3'] };
    const system = { ...pool!, name: 'sys', taints: ['CriticalAddonsOnly=true:NoSchedule'] };
    const { location, pools } = worldOfScenario({ ...aScenario([], []), pools: [recorded, system] }, 1);
    expect(location).toBe('northeurope');
    expect(pools.map(({ zones, mode }) => ({ zones, mode }))).toEqual([
      { zones: ['1', '3'], mode: 'User' },
      { zones: ['1', '2'], mode: 'System' },
    ]);
  });

  it('does not have its own workloads twice', async () => {
    const proxy = aWorkload('DaemonSet', { id: 'p', name: 'kube-proxy', namespace: 'kube-system' });
    const dns = aWorkload('Deployment', { id: 'd', name: 'coredns', namespace: 'kube-system' });
    await play([proxy, dns], [scaled(0, 9, 'd')]);
    clock.advance(MINUTE);
    const system = world.cluster.store.pods().filter(({ metadata }) => metadata.namespace === 'kube-system');
    expect(system.filter(({ metadata }) => metadata.name.startsWith('kube-proxy'))).toHaveLength(3);
    expect(system.filter(({ metadata }) => metadata.name.startsWith('coredns'))).toHaveLength(2);
  });

  it('offers a size that the scenario describes', async () => {
    const scenario = aScenario([], []);
    const size = { vcpus: 96, memoryGiB: 384, gpus: 2, family: 'standardNewFamily' };
    await playScenario({ ...scenario, pools: [{ ...scenario.pools[0]!, vmSize: 'Standard_New96_v9', size }] });
    expect(world.arm.machines.list()[0]).toMatchObject({ vmSize: 'Standard_New96_v9', vcpus: 96, memoryGiB: 384, gpus: 2 });
    expect(world.cluster.store.nodes()[0]?.status.capacity).toMatchObject({ cpu: '96' });
    expect(world.arm.control.state().usages.find(({ name }) => name === 'standardNewFamily')).toMatchObject({ current: 192 });
  });
});

describe('the price list of the world', () => {
  it.each([
    { vmSize: 'Standard_D4s_v5', suffix: '', currency: 'USD', price: 0.5 },
    { vmSize: 'Standard_D4s_v5', suffix: '', currency: 'EUR', price: 0.5 },
    { vmSize: 'Standard_F8s_v2', suffix: ' Spot', currency: 'EUR', price: 0.1 },
    // A quarter of a price that is not known is invented, too.
    { vmSize: 'Standard_F8s_v2', suffix: '', currency: 'USD', price: 0.448 },
  ])('has $price $currency for $vmSize$suffix', async ({ vmSize, suffix, currency, price }) => {
    const scenario = aScenario([], []);
    const [general, spot] = scenario.pools;
    await playScenario({
      ...scenario,
      pools: [
        { ...general!, pricePerHour: 0.5 },
        { ...spot!, pricePerHour: 0.1 },
      ],
    });
    const dispatcher = new Agent({ connect: { ca: world.caPem } });
    const query = new URLSearchParams({
      currencyCode: `'${currency}'`,
      $filter: `armSkuName eq '${vmSize}' and priceType eq 'Consumption'`,
    });
    const { body } = await request(`${world.arm.url}/api/retail/prices?${query.toString()}`, { dispatcher });
    const { Items } = (await body.json()) as { Items: { meterName: string; productName: string; retailPrice: number }[] };
    await dispatcher.close();
    const linux = Items.filter(({ productName }) => !productName.includes('Windows'));
    expect(
      linux.find(({ meterName }) => meterName === `${vmSize.replace(/^Standard_/, '').replaceAll('_', ' ')}${suffix}`)?.retailPrice,
    ).toBe(price);
  });
});
