/**
 * Pools in which Azure chooses the zone of each node (automatic zone placement, a preview of July 2026): neither AKS nor the scale set
 * names zones (`placement` without `zones`: recorded by azure-powershell, December 2025). They are pools of several zones.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

let run: VirtualRun | undefined;
afterEach(async () => {
  await run?.stop();
  run = undefined;
});

const KINDS = ['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const;
const ZONE = 'topology.kubernetes.io/zone';

async function start(kind: (typeof KINDS)[number], count: number, stock: Readonly<Record<string, number>> = {}): Promise<VirtualRun> {
  run = await VirtualRun.start({ spec: worldOf([aPool({ name: 'general', kind, count, zones: ['auto'], max: 12 })], { stock }) });
  return run;
}

const needsZone = (zone: string): { nodeSelector: Record<string, string> } => ({ nodeSelector: { [ZONE]: `westeurope-${zone}` } });
/** Without the node of the system pool, which is in no zone. */
const spread = {
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'spread' } },
      nodeTaintsPolicy: 'Honor',
    },
  ],
};

describe.each(KINDS)('in a pool (%s) whose zones Azure chooses', (kind) => {
  it.each([0, 2])('with %i nodes, a pod that needs the third zone gets a node, and pods that spread over zones run', async (count) => {
    const world = await start(kind, count);
    world.world.cluster.apply(deployment({ name: 'third', replicas: 1, cpu: '3', spec: needsZone('3') }));
    world.world.cluster.apply(deployment({ name: 'spread', replicas: 6, cpu: '2', spec: spread }));
    await world.until('all run', () => bound(world, 'third') === 1 && bound(world, 'spread') === 6, 15 * MINUTE);
    const reached = capacity(world, 'general');
    await world.advance(5 * MINUTE);
    expect(capacity(world, 'general')).toBe(reached);
    expect(world.world.violations()).toEqual([]);
  });
});

describe('a zone that Azure does not choose', () => {
  it('is no zone of the pool where the subscription cannot use the size: the pod is not planned for, and the others are', async () => {
    const world = await start('vmss-uniform', 1);
    await world.stopDaemon();
    world.world.arm.control.restrict('Standard_D4s_v5', ['3']);
    await world.startDaemon();
    await world.advance(MINUTE);
    const before = world.writes().length;
    world.world.cluster.apply(deployment({ name: 'third', replicas: 1, cpu: '3', spec: needsZone('3') }));
    await world.advance(5 * MINUTE);
    expect(world.writes().length).toBe(before);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('general');
    world.world.cluster.apply(deployment({ name: 'second', replicas: 1, cpu: '3', spec: needsZone('2') }));
    await world.until('runs', () => bound(world, 'second') === 1, 10 * MINUTE);
    expect(world.world.violations()).toEqual([]);
  });
});
