/** Two daemons that remove nodes of one cluster, because neither uses a lease. */
import { afterEach, describe, expect, it } from 'vitest';
import { TO_BE_DELETED_TAINT } from '../../src/domain/taints.ts';
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, deployment, MINUTE, SECOND, worldOf } from './support.ts';

let run: VirtualRun | undefined;
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];
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
  const world = await VirtualRun.start({ spec, flags: FLAGS });
  run = world;
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
