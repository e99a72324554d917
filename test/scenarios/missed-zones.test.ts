/** Pods that need one zone of a pool with several: Azure chooses the zones of new nodes, and a zone may have no capacity. */
import { describe, expect, it } from 'vitest';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import { valueOf } from '../loop/support.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const SIZE = 'Standard_D4s_v5';
const POOL = aPool({ name: 'general', count: 0, zones: ['1', '2', '3'], max: 30 });

/** Azure's balance of zones is best effort (azure-wire 12.5): a zone without capacity gets no node, and the others get more. */
function start(stock: Readonly<Record<string, number>>, pools: readonly PoolSpec[] = [POOL]): Promise<VirtualRun> {
  return startedWorld({ spec: worldOf(pools, { stock }), flags: ['--scan-interval=1m'], knobs: { zonesFallBack: true } });
}

function addPods(world: VirtualRun, zone: string, replicas = 1): void {
  const spec = { nodeSelector: { 'topology.kubernetes.io/zone': `westeurope-${zone}` } };
  world.world.cluster.apply(deployment({ name: `zone-${zone}`, replicas, cpu: '3', spec }));
}

const puts = (world: VirtualRun): number => world.writes().filter(({ method }) => method === 'PUT').length;
const broken = (world: VirtualRun): readonly string[] => events(world, 'TemplatePromiseBroken');

describe('a pod that needs one zone of a pool with three', () => {
  it('gets its node if the zone has its turn last', async () => {
    const world = await start({});
    addPods(world, '3');
    await world.until('bound', () => bound(world, 'zone-3') === 1, 10 * MINUTE);
    await world.advance(MINUTE);
    expect([puts(world), broken(world)]).toEqual([3, []]);
  });

  it('does not get node after node if Azure puts each into another zone: three, and later one in half an hour', async () => {
    const world = await start({ [`${SIZE}/1`]: 0 });
    addPods(world, '1');
    await world.advance(25 * MINUTE);
    expect(puts(world)).toBe(3);
    const sentence = /Template promised zone westeurope-1, node aks-general-\S+ came in westeurope-[23]/;
    expect([broken(world).length, broken(world).join()]).toEqual([1, expect.stringMatching(sentence)]);
    expect(events(world, 'NotTriggerScaleUp').join(' | ')).toMatch(sentence);
    expect(await valueOf(world.metrics.templates.promisesBroken, { kind: 'label' })).toBe(1);
    await world.advance(30 * MINUTE);
    expect([puts(world), bound(world, 'zone-1')]).toEqual([4, 0]);
    expect(world.world.violations()).toEqual([]);
  });

  it('gets its node at the next try once the zone has capacity again; until then, pods of other zones get theirs', async () => {
    const world = await start({ [`${SIZE}/1`]: 0 });
    addPods(world, '1');
    await world.advance(5 * MINUTE);
    addPods(world, '2', 3);
    await world.until('the others bound', () => bound(world, 'zone-2') === 3, 10 * MINUTE);
    world.world.arm.control.setStock(SIZE, '1', 9);
    await world.until('bound', () => bound(world, 'zone-1') === 1, 30 * MINUTE);
    await world.advance(MINUTE);
    addPods(world, '1', 3);
    await world.until('more bound', () => bound(world, 'zone-1') === 3, 10 * MINUTE);
  });

  it('gets a node of another pool as soon as the zone was missed, and the finding outlives the process', async () => {
    const world = await start({ [`${SIZE}/1`]: 0 });
    addPods(world, '1');
    await world.advance(5 * MINUTE);
    world.killDaemon();
    await world.startDaemon();
    await world.advance(10 * MINUTE);
    expect([puts(world), broken(world).length, capacity(world, 'general')]).toEqual([3, 1, expect.any(Number)]);
    const shown = (await (await fetch(`${world.daemon.url ?? ''}/debug/templates`)).json()) as readonly object[];
    expect(shown).toContainEqual(expect.objectContaining({ zoneCorrection: expect.objectContaining({ inForce: true }) }));
  });

  it('gets a node of a pool of that zone instead', async () => {
    const other = aPool({ name: 'other', vmSize: 'Standard_D8s_v5', count: 0, zones: ['1'] });
    const world = await start({ [`${SIZE}/1`]: 0 }, [POOL, other]);
    addPods(world, '1');
    await world.until('bound', () => bound(world, 'zone-1') === 1, 6 * MINUTE);
    expect([capacity(world, 'other'), capacity(world, 'general') > 0]).toEqual([1, true]);
  });
});
