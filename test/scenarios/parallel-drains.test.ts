/** Several nodes are drained at once, and something comes in between: the process dies, evictions fail, a person works on the nodes. */
import { expect, it } from 'vitest';
import { STOP_SECONDS_ANNOTATION } from '../../world/simulator/cluster/controllers/kubelet-pods.ts';
import type { PodObject } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, budget, capacity, deployment, MINUTE, pending, SECOND, worldOf } from './support.ts';

const FLAGS = [
  '--leader-elect=true',
  '--scale-down-unneeded-time=30s',
  '--scale-down-delay-after-add=0s',
  '--node-delete-delay-after-taint=1s',
  '--max-drain-parallelism=4',
  '--max-scale-down-parallelism=4',
];
const NODES = 6;
/** One pod of each on every node. The pods of one node fit on another one, those of three do not. */
const WORKLOADS = { free: 0, two: 2, slow: 3 } as const;

interface Followed {
  readonly world: VirtualRun;
  /** The least number of running pods of a workload since they all ran. */
  readonly least: ReadonlyMap<string, number>;
  /** Granted evictions by pod. */
  readonly granted: ReadonlyMap<string, number>;
}

async function quietNodes(): Promise<Followed> {
  const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: NODES, min: 1 })]), flags: FLAGS });
  const { cluster } = world.world;
  const apps: ReturnType<typeof deployment>[] = [];
  for (const [name, maxUnavailable] of Object.entries(WORKLOADS)) {
    if (maxUnavailable > 0) cluster.apply(budget(name, maxUnavailable));
    const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' };
    const spec = { terminationGracePeriodSeconds: name === 'slow' ? 60 : 30, topologySpreadConstraints: [spread] };
    apps.push(deployment({ name, replicas: NODES, cpu: '350m', spec }));
  }
  const available = new Map<string, number>();
  const least = new Map<string, number>();
  const granted = new Map<string, number>();
  cluster.onChange(({ storage, type, object, previous }) => {
    if (storage !== 'pods') return;
    const now = type === 'DELETED' ? 0 : availableOf(object as PodObject);
    const before = previous === undefined ? 0 : availableOf(previous as PodObject);
    if (now === before) return;
    const name = appOf(object as PodObject);
    const count = (available.get(name) ?? 0) + now - before;
    available.set(name, count);
    least.set(name, Math.min(least.get(name) ?? NODES, count));
  });
  cluster.onRequest(({ resource, name = '', status }) => {
    if (resource === 'pods/eviction' && status === 201) granted.set(name, (granted.get(name) ?? 0) + 1);
  });
  for (const app of apps) cluster.apply(app);
  await world.until('all run', () => Object.keys(WORKLOADS).every((name) => available.get(name) === NODES), MINUTE);
  least.clear();
  return { world, least, granted };
}

function appOf({ metadata }: PodObject): string {
  return metadata.labels?.['app'] ?? '';
}

function availableOf({ metadata, status }: PodObject): 0 | 1 {
  return metadata.deletionTimestamp === undefined && status.phase === 'Running' ? 1 : 0;
}

function beingDrained({ world }: VirtualRun): readonly string[] {
  const tainted = world.cluster.store
    .nodes()
    .filter(({ spec }) => spec.taints?.some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler') === true);
  return tainted.map(({ metadata }) => metadata.name);
}

/** All are as they were, on the fewest nodes that carry them below the threshold. */
async function expectCalmEnd({ world, least, granted }: Followed): Promise<void> {
  const isCalm = (): boolean => capacity(world, 'general') <= 3 && beingDrained(world).length === 0 && pending(world) === 0;
  await world.until('most nodes are gone', isCalm, 20 * MINUTE);
  await world.advance(30 * SECOND);
  for (const [name, maxUnavailable] of Object.entries(WORKLOADS)) {
    expect(bound(world, name)).toBe(NODES);
    if (maxUnavailable > 0) expect(least.get(name)).toBeGreaterThanOrEqual(NODES - maxUnavailable);
  }
  expect(beingDrained(world)).toEqual([]);
  expect([...granted.values()].filter((times) => times > 1)).toEqual([]);
  // No pod that lost its node made the daemon ask for another one.
  expect(world.writes().filter(({ method }) => method === 'PUT')).toEqual([]);
  expect(world.world.violations()).toEqual([]);
}

/** Nodes with a deletion taint from before that time, milliseconds since the epoch. */
function taintedBefore({ world }: VirtualRun, atMs: number): readonly string[] {
  const isOld = ({ key, value = '' }: { readonly key: string; readonly value?: string }): boolean =>
    key === 'ToBeDeletedByClusterAutoscaler' && Number(value) * SECOND <= atMs;
  const tainted = world.cluster.store.nodes().filter(({ spec }) => spec.taints?.some(isOld) === true);
  return tainted.map(({ metadata }) => metadata.name);
}

it('a process that dies during several drains: the next one frees the nodes within half a minute, and goes on', async () => {
  const followed = await quietNodes();
  const { world, granted } = followed;
  await world.until('drains', () => beingDrained(world).length >= 2 && granted.size > 0, 5 * MINUTE);
  world.killDaemon();
  const diedMs = world.clock.now();
  expect(taintedBefore(world, diedMs).length).toBeGreaterThanOrEqual(2);
  await world.advance(5 * SECOND);
  await world.startDaemon();
  await world.until('the nodes are free', () => taintedBefore(world, diedMs).length === 0, 30 * SECOND);
  await expectCalmEnd(followed);
  expect(world.world.cluster.store.nodes().filter(({ spec }) => spec.unschedulable === true)).toEqual([]);
});

it('evictions that fail at random are tried again, and nodes whose drain is given up take pods again', async () => {
  const followed = await quietNodes();
  const { world } = followed;
  const { cluster } = world.world;
  let failed = 0;
  cluster.onRequest(({ resource, status }) => {
    if (resource !== 'pods/eviction') return;
    if (status >= 500) failed += 1;
    // Two of three evictions: any of the errors of an API server that is overloaded, or whose storage is.
    if (status === 201 || failed % 2 === 1) cluster.control.failNext(1, [500, 503, 504][failed % 3] ?? 500, { resource });
  });
  cluster.control.failNext(1, 500, { resource: 'pods/eviction' });
  await expectCalmEnd(followed);
  expect(failed).toBeGreaterThan(5);
});

it('a person drains one node by hand and adds two others meanwhile: the cordon stays, and every budget holds', async () => {
  const followed = await quietNodes();
  const { world, granted } = followed;
  const { cluster, arm } = world.world;
  await world.until('drains', () => beingDrained(world).length >= 1 && granted.size > 0, 5 * MINUTE);
  const chosen = cluster.store
    .nodes()
    .find(({ metadata }) => !beingDrained(world).includes(metadata.name) && metadata.labels?.['kubernetes.azure.com/mode'] !== 'system');
  if (chosen === undefined) throw new Error('all nodes are being drained');
  cluster.apply({ ...chosen, spec: { ...chosen.spec, unschedulable: true } });
  arm.control.raise({ foreignScale: { pool: 'general', delta: 2 } });
  const mine = (): readonly PodObject[] =>
    cluster.store.boundPods().filter((pod) => pod.spec.nodeName === chosen.metadata.name && pod.metadata.namespace === 'default');
  for (let turn = 0; turn < 30 && mine().length > 0; turn++) {
    const cordoned = cluster.store.get('nodes', undefined, chosen.metadata.name);
    expect(cordoned === undefined || (cordoned.spec as { readonly unschedulable?: boolean }).unschedulable === true).toBe(true);
    for (const pod of mine()) cluster.evict(pod);
    await world.advance(5 * SECOND);
  }
  await expectCalmEnd(followed);
});

it('a drain that takes twenty minutes counts until it is over: no second one begins, and the minimum holds', async () => {
  const flags = [
    '--max-graceful-termination-sec=1500',
    '--scale-down-unneeded-time=30s',
    '--scale-down-delay-after-add=0s',
    '--max-drain-parallelism=1',
  ];
  const world = await startedWorld({
    spec: worldOf([aPool({ name: 'general', count: 3, min: 1 })]),
    flags: [...flags, '--scan-interval=30s'],
  });
  const annotations = { [STOP_SECONDS_ANNOTATION]: '1200' };
  world.world.cluster.apply(
    deployment({ name: 'slow', replicas: 3, cpu: '350m', annotations, spec: { terminationGracePeriodSeconds: 1500 } }),
  );
  const drained = (): number =>
    world.world.cluster.store.nodes().filter(({ spec }) => (spec.taints ?? []).some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler'))
      .length;
  await world.until('a drain', () => drained() === 1, 5 * MINUTE);
  for (let minutes = 1; minutes <= 18; minutes++) {
    await world.advance(MINUTE);
    expect([minutes, drained(), capacity(world, 'general')]).toEqual([minutes, 1, 3]);
  }
  await world.until('its end', () => capacity(world, 'general') === 2, 5 * MINUTE);
});
