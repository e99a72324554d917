/**
 * Pools in which Azure chooses the zone of each node (automatic zone placement, a preview of July 2026): neither AKS nor the scale set
 * names zones (`placement` without `zones`: recorded by azure-powershell, December 2025). They are pools of several zones.
 */
import { expect, it } from 'vitest';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const ZONE = 'topology.kubernetes.io/zone';

const needsZone = (zone: string): Readonly<Record<string, string>> => ({ [ZONE]: `westeurope-${zone}` });
/** Without the node of the system pool, which is in no zone. */
const spreadOver = (labelSelector: object): object => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector, nodeTaintsPolicy: 'Honor' },
  ],
});

/** Pools of every kind, without nodes and with nodes in two zones. */
const POOLS = (['vmss-uniform', 'vmss-flexible', 'vms-pool'] as const).flatMap((kind) =>
  [0, 2].map((count) => aPool({ name: `${kind === 'vms-pool' ? 'v' : kind.charAt(5)}${count}`, kind, count, zones: ['auto'], max: 12 })),
);

it('in pools whose zones Azure chooses, a pod that needs the third zone gets a node, and pods that spread over zones run', async () => {
  const world = await startedWorld({ spec: worldOf(POOLS), flags: ['--scan-interval=30s'] });
  for (const { name } of POOLS) {
    const pool = { agentpool: name };
    const labels = { matchLabels: { app: `${name}-spread` } };
    const { cluster } = world.world;
    cluster.apply(deployment({ name: `${name}-third`, replicas: 1, cpu: '3', spec: { nodeSelector: { ...pool, ...needsZone('3') } } }));
    cluster.apply(deployment({ name: `${name}-spread`, replicas: 6, cpu: '2', spec: { nodeSelector: pool, ...spreadOver(labels) } }));
  }
  const runs = (name: string): boolean => bound(world, `${name}-third`) === 1 && bound(world, `${name}-spread`) === 6;
  await world.until('all run', () => POOLS.every(({ name }) => runs(name)), 15 * MINUTE);
  const sizes = (): readonly number[] => POOLS.map(({ name }) => capacity(world, name));
  const reached = sizes();
  await world.advance(4 * MINUTE);
  expect(sizes()).toEqual(reached);
  expect(world.world.violations()).toEqual([]);
});

it('for a zone in which the subscription cannot use the size no node is requested, and for the others it is', async () => {
  const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', zones: ['auto'] })]) });
  await world.stopDaemon();
  world.world.arm.control.restrict('Standard_D4s_v5', ['3']);
  await world.startDaemon();
  await world.advance(MINUTE);
  const before = world.writes().length;
  world.world.cluster.apply(deployment({ name: 'third', replicas: 1, cpu: '3', spec: { nodeSelector: needsZone('3') } }));
  await world.advance(3 * MINUTE);
  expect(world.writes().length).toBe(before);
  expect(events(world, 'NotTriggerScaleUp').join()).toContain('general');
  world.world.cluster.apply(deployment({ name: 'second', replicas: 1, cpu: '3', spec: { nodeSelector: needsZone('2') } }));
  await world.until('runs', () => bound(world, 'second') === 1, 10 * MINUTE);
  expect(world.world.violations()).toEqual([]);
});
