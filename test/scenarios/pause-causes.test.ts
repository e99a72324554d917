/** A paused pool is written for no cause, and for each cause as soon as the pause is taken back. */
import { expect, it } from 'vitest';
import type { PoolSpec } from '../../world/simulator/base/world-spec.ts';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, capacity, deployment, MINUTE, worldOf } from './support.ts';

const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=10s', '--scan-interval=1m', '--max-node-provision-time=5m'];
const KEEPS = '--scale-down-enabled=false';
const SIZE = 'Standard_E4s_v5';

interface Row {
  readonly what: string;
  readonly pool?: Partial<PoolSpec>;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How long the pause is held: longer than the cause takes to a write without one. Default: five minutes. */
  readonly heldMs?: number;
  /** Default: both. */
  readonly direction?: 'scale-up' | 'scale-down';
  readonly arrange?: (world: VirtualRun) => void;
}

const pods = (replicas: number, spec: object = {}): ObjectDraft =>
  deployment({ name: 'web', replicas, cpu: '3', spec: { nodeSelector: { agentpool: 'alpha' }, ...spec } });

const template: ObjectDraft = {
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 'chunk', namespace: 'default' },
  template: {
    spec: {
      nodeSelector: { agentpool: 'alpha' },
      containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '3', memory: '256Mi' } } }],
    },
  },
};
const capacityObject = (kind: string, apiVersion: string, spec: object): readonly ObjectDraft[] => [
  template,
  { apiVersion: `autoscaling.x-k8s.io/${apiVersion}`, kind, metadata: { name: 'asks', namespace: 'default' }, spec: { ...spec } },
];
const apply = (world: VirtualRun, objects: readonly ObjectDraft[]): void =>
  objects.forEach((object) => void world.world.cluster.apply(object));

/** Another writer adds nodes that come to nothing. */
function badNodes(world: VirtualRun, incident: number): void {
  const { control } = world.world.arm;
  control.addCatalogued({ number: incident, id: 'bad', match: { pool: 'alpha' } });
  control.raise({ foreignScale: { pool: 'alpha', delta: 2 } });
}

const ROWS: readonly Row[] = [
  { what: 'pods that wait', arrange: (world) => apply(world, [pods(4)]) },
  { what: 'pods that wait for a pool of virtual machines', pool: { kind: 'vms-pool' }, arrange: (world) => apply(world, [pods(4)]) },
  { what: 'pods that wait for a flexible scale set', pool: { kind: 'vmss-flexible' }, arrange: (world) => apply(world, [pods(4)]) },
  {
    what: 'a minimum size',
    arrange: (world) => void world.world.arm.control.raise({ retag: { pool: 'alpha', tags: { min: '3' } } }),
  },
  {
    what: 'a buffer',
    flags: ['--capacity-buffer-controller-enabled', '--capacity-buffer-pod-injection-enabled', KEEPS],
    arrange: (world) => apply(world, capacityObject('CapacityBuffer', 'v1beta1', { podTemplateRef: { name: 'chunk' }, replicas: 3 })),
  },
  {
    what: 'a ProvisioningRequest',
    flags: ['--enable-provisioning-requests', KEEPS],
    arrange: (world) =>
      apply(
        world,
        capacityObject('ProvisioningRequest', 'v1', {
          provisioningClassName: 'best-effort-atomic-scale-up.autoscaling.x-k8s.io',
          podSets: [{ podTemplateRef: { name: 'chunk' }, count: 3 }],
        }),
      ),
  },
  { what: 'nodes that are not needed', pool: { count: 3 } },
  { what: 'machines that are not needed', pool: { kind: 'vms-pool', count: 3 } },
  {
    what: 'nodes whose pods fit elsewhere',
    pool: { count: 3 },
    arrange: (world) => apply(world, [deployment({ name: 'small', replicas: 3, cpu: '200m' })]),
  },
  { what: 'instances that failed', flags: ['--scale-down-unneeded-time=9h'], arrange: (world) => badNodes(world, 11) },
  {
    what: 'instances that never become nodes',
    heldMs: 10 * MINUTE,
    flags: ['--scale-down-unneeded-time=9h'],
    arrange: (world) => badNodes(world, 13),
  },
  ...(['scale-up', 'scale-down'] as const).map((direction) => ({
    what: `AKS's own count, in the direction ${direction}`,
    direction,
    heldMs: 15 * MINUTE,
    flags: [KEEPS],
    env: { AZURE_SYNC_AGENT_POOL_COUNT: 'true' },
    arrange: (world: VirtualRun) => void world.world.arm.control.raise({ foreignScale: { pool: 'alpha', delta: 3 } }),
  })),
];

const pauseOf = (world: VirtualRun, direction: string): ObjectDraft => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'aks-autoscaler-pause', namespace: 'kube-system' },
  data: { alpha: `until=${new Date(world.clock.now() + 9 * 60 * MINUTE).toISOString()} direction=${direction}` },
});

it.each(ROWS)('$what: the pause holds', async ({ pool = {}, flags = [], env = {}, direction = 'both', heldMs = 5 * MINUTE, arrange }) => {
  const world = await startedWorld({
    spec: worldOf([aPool({ name: 'alpha', count: 1, min: 1, ...pool })]),
    flags: [...FLAGS, ...flags],
    env,
  });
  await world.stopDaemon();
  const pause = pauseOf(world, direction);
  world.world.cluster.apply(pause);
  arrange?.(world);
  await world.startDaemon();
  const writes = () => world.writes().filter((write) => write.pool === 'alpha');
  await world.advance(heldMs);
  expect(writes()).toEqual([]);
  world.world.cluster.remove(pause);
  await world.until('a write', () => writes().length > 0, 25 * MINUTE);
});

it.each([
  ['a pause of scale-down', 4],
  ['a pause of scale-up', 1],
  ['a schedule that keeps nodes', 1],
])('capacity that Azure could not fill, with %s: the capacity is %s', async (what, left) => {
  const spec = worldOf([aPool({ name: 'alpha', vmSize: SIZE, count: 1, min: 1 })], { stock: { [`${SIZE}/0`]: 0 } });
  const direction = what.startsWith('a pause') ? what.split(' ').at(-1) : undefined;
  const config = direction === undefined ? [`--config=${configFile('schedules: {rules: [{scaleDown: off}]}')}`] : [];
  const world = await startedWorld({ spec, knobs: { listFailedInstances: false }, flags: [...FLAGS, ...config] });
  world.world.cluster.apply(pods(4));
  await world.until('an increase', () => capacity(world, 'alpha') === 4, 2 * MINUTE);
  world.world.cluster.apply(pods(1));
  if (direction !== undefined) world.world.cluster.apply(pauseOf(world, direction));
  await world.advance(10 * MINUTE);
  expect(capacity(world, 'alpha')).toBe(left);
  if (direction === undefined) return;
  world.world.cluster.remove(pauseOf(world, direction));
  await world.until('the capacity is given back', () => capacity(world, 'alpha') === 1, 2 * MINUTE);
});
