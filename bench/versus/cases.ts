/** The situations in which autoscalers are compared. Each is one world, one change of it, and what counts as its end. */
import type { PoolSpec, RunningWorld, WorldSpec } from '../../world/simulator/entry/world-entry.ts';

export interface VersusCase {
  readonly name: string;
  /** One sentence for the report. */
  readonly what: string;
  readonly pools: readonly PoolSpec[];
  /** Why a rival cannot take part in a simulated world. */
  readonly notForRivals?: string;
  readonly spec?: Partial<Omit<WorldSpec, 'pools'>>;
  /** Flags of every contestant in this case. */
  readonly flags?: readonly string[];
  /** Before a contestant starts. */
  readonly prepare?: (world: RunningWorld) => void;
  /** What happens once the contestant has been running for a while. */
  readonly act: (world: RunningWorld) => void;
  /** Called about four times a second after `act`, with the number of writes that Azure accepted from the contestant. */
  readonly follow?: (world: RunningWorld, writes: number) => void;
  readonly isDone: (world: RunningWorld) => boolean;
  /** Seconds of the machine until the case is given up. */
  readonly withinSeconds: number;
}

const D4 = 'Standard_D4s_v5';
const SYSTEM: PoolSpec = {
  name: 'system',
  vmSize: D4,
  count: 1,
  min: 1,
  max: 1,
  mode: 'System',
  taints: ['CriticalAddonsOnly=true:NoSchedule'],
};

function pool(name: string, over: Partial<PoolSpec> = {}): PoolSpec {
  return { name, vmSize: D4, count: 1, min: 1, max: 20, ...over };
}

/** Two empty pools. The first costs less for these pods. */
const TWO_SIZES: readonly PoolSpec[] = [
  SYSTEM,
  pool('general', { count: 0, min: 0, vmSize: 'Standard_D4s_v5' }),
  pool('large', { count: 0, min: 0, vmSize: 'Standard_E16s_v5' }),
];

/** Three fit on a node. */
function addWeb(world: RunningWorld, count: number, spec: Readonly<Record<string, unknown>> = {}): void {
  world.addPods({ name: 'web', count, cpu: '1100m', memory: '1Gi', spec });
}

function allBound(count: number): (world: RunningWorld) => boolean {
  return (world) => webPods(world) === count;
}

/** Running on a node that is still there. */
function webPods(world: RunningWorld): number {
  const nodes = new Set(world.nodes().map(({ metadata }) => metadata.name));
  return world
    .pods()
    .bound.filter(
      ({ metadata, spec, status }) => metadata.labels?.['app'] === 'web' && status.phase === 'Running' && nodes.has(spec.nodeName ?? ''),
    ).length;
}

/** Another writer changes a pool once, after the first write of the contestant. */
function afterFirstWrite(change: (world: RunningWorld) => void): NonNullable<VersusCase['follow']> {
  const done = new WeakSet<RunningWorld>();
  return (world, writes) => {
    if (writes === 0 || done.has(world)) return;
    done.add(world);
    change(world);
  };
}

/** The nodes of a Spot pool before the eviction. */
const evicted = new WeakMap<RunningWorld, ReadonlySet<string>>();

function nodesOf(world: RunningWorld, name: string): ReadonlySet<string> {
  const mine = world.nodes().filter(({ metadata }) => metadata.labels?.['kubernetes.azure.com/agentpool'] === name);
  return new Set(mine.map(({ metadata }) => metadata.name));
}

const SPOT = { priority: 'Spot', evictionPolicy: 'Delete' } as const;
const TOLERATES_SPOT = { tolerations: [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Exists' }] };

export const CASES: readonly VersusCase[] = [
  {
    name: 'burst',
    what: '60 pods at once, three fit on a node; one pool with one node.',
    pools: [SYSTEM, pool('general', { max: 30 })],
    act: (world) => addWeb(world, 60),
    isDone: allBound(60),
    withinSeconds: 150,
  },
  {
    name: 'from zero, labels of AKS only',
    what: 'A pod selects a label of an empty pool that AKS knows and the tags of the scale set do not.',
    pools: [SYSTEM, pool('general', { max: 5 }), pool('batch', { count: 0, min: 0, labels: { 'example.com/workload': 'batch' } })],
    act: (world) => addWeb(world, 3, { nodeSelector: { 'example.com/workload': 'batch' } }),
    isDone: allBound(3),
    withinSeconds: 120,
  },
  {
    name: 'no stock',
    what: 'The better of two pools has no stock; the other one could take the pods.',
    pools: TWO_SIZES,
    spec: { stock: { 'Standard_D4s_v5/0': 0 } },
    act: (world) => addWeb(world, 6),
    isDone: allBound(6),
    withinSeconds: 240,
  },
  {
    name: 'partial stock',
    what: 'Six nodes are needed, and the stock has three of the better size.',
    pools: TWO_SIZES,
    spec: { stock: { 'Standard_D4s_v5/0': 3 } },
    act: (world) => addWeb(world, 18),
    isDone: allBound(18),
    withinSeconds: 240,
  },
  {
    name: 'another writer, before',
    what: 'Another writer adds four nodes to the pool a moment before the contestant writes.',
    pools: [SYSTEM, pool('general')],
    act: (world) => {
      world.raise({ foreignScale: { pool: 'general', delta: 4, when: 'before-next-write' } });
      addWeb(world, 12);
    },
    isDone: allBound(12),
    withinSeconds: 120,
  },
  {
    name: 'another writer, during',
    what: 'Another writer adds four nodes while the contestant’s own increase runs; then more pods come.',
    pools: [SYSTEM, pool('general')],
    act: (world) => addWeb(world, 12),
    follow: afterFirstWrite((world) => {
      world.raise({ foreignScale: { pool: 'general', delta: 4 } });
      addWeb(world, 36);
    }),
    isDone: allBound(36),
    withinSeconds: 150,
  },
  {
    name: 'load falls',
    what: 'Eight of nine nodes become idle; nodes may go after a minute without need, under the same settings.',
    pools: [SYSTEM, pool('general', { count: 9 })],
    flags: ['--scale-down-unneeded-time=60s', '--scale-down-delay-after-add=60s'],
    prepare: (world) => addWeb(world, 27),
    act: (world) => addWeb(world, 3),
    isDone: (world) => world.pool('general').nodes <= 1,
    withinSeconds: 330,
  },
  {
    name: 'Spot eviction',
    what: 'Half of the nodes of a Spot pool are evicted; their pods need new ones.',
    pools: [SYSTEM, pool('spot', { count: 4, ...SPOT })],
    prepare: (world) => addWeb(world, 12, TOLERATES_SPOT),
    act: (world) => {
      const before = nodesOf(world, 'spot');
      evicted.set(world, before);
      world.raise({ evict: { pool: 'spot', fraction: 0.5 } });
    },
    isDone: (world) => {
      const now = nodesOf(world, 'spot');
      const gone = [...(evicted.get(world) ?? [])].filter((name) => !now.has(name)).length;
      return gone >= 2 && world.pods().pending.length === 0 && webPods(world) === 12;
    },
    withinSeconds: 240,
  },
  {
    name: 'VMs pool',
    what: 'A pool of type VirtualMachines, which has no scale set.',
    notForRivals:
      'The client for agent pools of the Cluster Autoscaler accepts no host but management.azure.com, so it has no result here.',
    pools: [SYSTEM, pool('vms', { kind: 'vms-pool' })],
    act: (world) => addWeb(world, 9),
    isDone: allBound(9),
    withinSeconds: 150,
  },
  {
    name: 'idle',
    what: 'Six pools at rest for three minutes of the machine, at the speed of Azure.',
    pools: [SYSTEM, ...['a', 'b', 'c', 'd', 'e'].map((name) => pool(name))],
    act: () => undefined,
    isDone: () => false,
    withinSeconds: 180,
  },
];
