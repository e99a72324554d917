/** Two daemons in one cluster: without a lease, with a lease each, and a dry run beside the active one. */
import { describe, expect, it } from 'vitest';
import { TO_BE_DELETED_TAINT } from '../../src/domain/taints.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, SECOND, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s', '--scan-interval=30s'];
/** How long Azure takes for the read of an instance that precedes its deletion. */
const SLOW_MS = 20 * SECOND;

function tainted(world: VirtualRun): readonly string[] {
  const nodes = world.world.cluster.store.nodes();
  return nodes
    .filter(({ spec }) => (spec.taints ?? []).some(({ key }) => key === TO_BE_DELETED_TAINT))
    .map(({ metadata }) => metadata.name);
}

/** The workload's pods, running or pending. They keep their names as long as none is lost. */
function podNames(world: VirtualRun): readonly string[] {
  const pods = world.world.cluster.store.pods().filter(({ metadata }) => metadata.labels?.['app'] === 'web');
  return pods.map(({ metadata }) => metadata.name).sort();
}

/** As `kubectl taint nodes NAME ToBeDeletedByClusterAutoscaler-` and `kubectl uncordon NAME` do. */
function untaint(world: VirtualRun, name: string): void {
  const node = world.world.cluster.store.nodes().find(({ metadata }) => metadata.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  const taints = (node.spec.taints ?? []).filter(({ key }) => key !== TO_BE_DELETED_TAINT);
  world.world.cluster.apply({ ...node, spec: { ...node.spec, taints, unschedulable: false } });
}

/** A world in which the daemon is about to delete the second of two empty nodes, and waits for Azure. */
async function untilTainted(): Promise<VirtualRun> {
  const spec = worldOf([aPool({ name: 'general', count: 2, min: 1, max: 2 })]);
  const world = await startedWorld({ spec, flags: FLAGS });
  const match = { method: 'GET', pathGlob: '**/virtualMachineScaleSets/*/virtualMachines/*' };
  world.world.arm.control.addFault({ id: 'slow', match, effect: { kind: 'delay', ms: SLOW_MS } });
  await world.until('a deletion taint', () => tainted(world).length > 0, 5 * MINUTE);
  await world.advance(6 * SECOND);
  expect(world.writes()).toEqual([]);
  return world;
}

describe('two daemons without a lease', () => {
  it('the second one leaves a young deletion taint of the first alone, and no pod is lost with the node', async () => {
    const world = await untilTainted();
    const leaving = tainted(world);
    await world.startBeside();
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
    await world.advance(2 * SECOND);
    expect(tainted(world)).toEqual(leaving);
    const pods = podNames(world);
    await world.advance(10 * MINUTE);
    expect(podNames(world)).toEqual(pods);
    expect(bound(world, 'web')).toBe(2);
    expect(world.world.violations()).toEqual([]);
  });

  it('a node whose deletion taint a person removes at the last moment is not deleted under the pods that come', async () => {
    const world = await untilTainted();
    const [leaving = ''] = tainted(world);
    world.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
    await world.advance(2 * SECOND);
    untaint(world, leaving);
    await world.advance(2 * SECOND);
    const pods = podNames(world);
    expect(world.world.cluster.store.boundPods().filter(({ spec }) => spec.nodeName === leaving)).not.toEqual([]);
    await world.advance(10 * MINUTE);
    expect(podNames(world)).toEqual(pods);
    expect(world.writes().filter(({ route }) => route.startsWith('POST'))).toEqual([]);
    expect(world.world.violations()).toEqual([]);
  });
});

/** What a daemon stores under the name of its lease. */
function storedBy(world: VirtualRun, prefix: string): readonly (string | undefined)[] {
  return [`${prefix}-memory`, `${prefix}-templates`].map((name) => {
    const found = world.world.cluster.store.get('configmaps', 'kube-system', name) as StoredMap | undefined;
    return Object.values(found?.data ?? {})[0];
  });
}

interface StoredMap {
  readonly data?: Readonly<Record<string, string>>;
}

const RARE = 'Standard_F8s_v2';
const OTHER = 'Standard_F16s_v2';
/** Two sold-out pools with a node each. The daemon in it knows the system pool only. */
async function soldOutTwice(): Promise<VirtualRun> {
  const pools = [aPool({ name: 'one', vmSize: RARE, count: 1 }), aPool({ name: 'two', vmSize: OTHER, count: 1 })];
  const spec = worldOf(pools, { stock: { [`${RARE}/0`]: 0, [`${OTHER}/0`]: 0 } });
  const run = await startedWorld({ spec, discovery: [], flags: ['--nodes=1:3:system'] });
  run.world.cluster.apply(deployment({ name: 'web', replicas: 4, cpu: '15' }));
  run.world.cluster.apply(deployment({ name: 'small', replicas: 4, cpu: '7', spec: { nodeSelector: { agentpool: 'one' } } }));
  return run;
}

describe('two daemons with a lease each', () => {
  it('store memory and templates under the names of their leases, and never under that of the other', async () => {
    const world = await soldOutTwice();
    await world.stopDaemon();
    await world.startDaemon(['--leader-elect-resource-name=first', '--nodes=0:3:one']);
    await world.startBeside(['--leader-elect-resource-name=second', '--nodes=0:3:two']);
    const isStored = (): boolean => [RARE, OTHER].every((size, at) => storedBy(world, ['first', 'second'][at] ?? '')[0]?.includes(size));
    await world.until('both stockouts in a memory', isStored, 5 * MINUTE);
    await world.advance(MINUTE);
    const [[mine = '', myTemplates = ''], [others = '', otherTemplates = '']] = [storedBy(world, 'first'), storedBy(world, 'second')];
    expect([mine.includes(OTHER), others.includes(RARE)]).toEqual([false, false]);
    expect([myTemplates.includes(RARE), myTemplates.includes(OTHER)]).toEqual([true, false]);
    expect([otherTemplates.includes(RARE), otherTemplates.includes(OTHER)]).toEqual([false, true]);
  });
});

describe('a dry run beside the active daemon', () => {
  it('stores nothing, neither in the place of the active one nor in its own', async () => {
    const world = await soldOutTwice();
    await world.stopDaemon();
    await world.startDaemon(['--nodes=0:3:one']);
    const stored = (): string => storedBy(world, 'aks-autoscaler')[0] ?? '';
    await world.until('the stockout in the memory', () => stored().includes(RARE), 5 * MINUTE);
    await world.startBeside(['--dry-run', '--nodes=0:3:two']);
    for (let look = 0; look < 18; look++) {
      await world.advance(10 * SECOND);
      const [memory = '', templates = ''] = storedBy(world, 'aks-autoscaler');
      expect([memory.includes('"one"'), memory.includes('"two"')]).toEqual([true, false]);
      expect([templates.includes(RARE), templates.includes(OTHER)]).toEqual([true, false]);
    }
    expect(storedBy(world, 'aks-autoscaler-dry-run')).toEqual([undefined, undefined]);
  });
});
