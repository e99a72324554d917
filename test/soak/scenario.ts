/** Makes a world, its workloads and its misfortunes out of a seed. Pure: the same seed makes the same scenario. */
import { seededRandom, type Random } from '../../src/lib/random.ts';
import type { BackgroundActorOptions } from '../../world/simulator/arm/faults/background-actors.ts';
import { INCIDENT_CATALOGUE } from '../../world/simulator/arm/faults/incident-catalogue.ts';
import type { ArmLatencies } from '../../world/simulator/arm/state/latencies.ts';
import type { WorldEvent } from '../../world/simulator/arm/faults/world-event.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { aPool, worldOf } from '../scenarios/support.ts';
import { happens, oneOf, whole } from './chance.ts';
import { drawFault } from './fault-kinds.ts';
import { hiddenFailures, isHeldByAks } from './hidden-failures.ts';
import type { Patience } from './removals.ts';
import type { Step, TimedStep } from './step.ts';

const SECOND = 1_000;

export interface WorkloadSpec {
  readonly name: string;
  readonly cpu: string;
  readonly memory: string;
  /** Set: the budget's `maxUnavailable`. */
  readonly maxUnavailable: number | undefined;
  readonly gracePeriodSeconds: number;
  /** Set: runs on Spot machines only, and tolerates them. */
  readonly spotOnly: boolean;
  readonly toleratesSpot: boolean;
}

export interface Scenario {
  readonly seed: number;
  readonly world: WorldSpec;
  readonly workloads: readonly WorkloadSpec[];
  /** In order of time, milliseconds from the start. */
  readonly steps: readonly TimedStep[];
  readonly chaosMs: number;
  readonly flags: readonly string[];
  /** Whether what was out of stock comes back when the misfortunes end. */
  readonly stockReturns: boolean;
  /** The daemon dies at calls of its own, besides the restarts among the steps. */
  readonly mortal: boolean;
  /** What the flags promise. */
  readonly patience: Patience;
  /** Who acts by himself until the misfortunes end. */
  readonly ambient: BackgroundActorOptions;
  readonly knobs: Partial<ArmLatencies>;
  /** Reports of loops in memory. Default: all. */
  readonly reportsKept?: number;
  /** How long after the last misfortune the world may take to come to rest, milliseconds of its time. Default: 45 minutes. */
  readonly restWithinMs?: number;
  /** Of the daemon's process, besides what leads it to this world. */
  readonly env?: Readonly<Record<string, string>>;
  /** Judgements that hold where nothing else explains what they forbid. */
  readonly rules?: {
    /** Nothing that was known is forgotten while it is there; `many`: of machines, only where there are enough to doubt a list. */
    readonly remembers?: 'all' | 'many';
    /** Every pod takes a machine, and no more machines are ordered than there are pods. */
    readonly exact?: boolean;
    /** Others raise capacities that Azure cannot fill, and nobody takes them back. */
    readonly unfilled?: boolean;
  };
}

const SIZES = ['Standard_D4s_v5', 'Standard_D8s_v5', 'Standard_E4s_v5', 'Standard_E8s_v5', 'Standard_F8s_v2', 'Standard_D4ads_v5'];
const FAMILIES = ['cores', 'standardDSv5Family', 'standardESv5Family', 'lowPriorityCores'];

/** @param loops how many scan intervals the misfortunes last. @param deadly with deaths at calls and hidden failures. */
export function makeScenario(seed: number, loops: number, deadly: boolean): Scenario {
  const random = seededRandom(seed * 7919 + 13);
  const pools = Array.from({ length: whole(random, 2, 6) }, (_, index) => drawPool(random, `p${index}`));
  const stock = Object.fromEntries(pools.filter(() => happens(random, 0.3)).map((pool) => drawStock(random, pool)));
  const workloads = Array.from({ length: whole(random, 1, 4) }, (_, index) => drawWorkload(random, `w${index}`, pools));
  const chaosMs = loops * 10 * SECOND;
  return {
    seed,
    world: worldOf(pools, { seed, stock }),
    workloads,
    steps: [...drawSteps(random, { pools, workloads, chaosMs }), ...(deadly ? drawHidden(seed, { pools, workloads, chaosMs }) : [])].sort(
      (left, right) => left.atMs - right.atMs,
    ),
    chaosMs,
    flags: drawFlags(random),
    stockReturns: happens(random, 0.6),
    mortal: deadly && happens(random, 0.7),
    patience: { provisionMs: 360 * SECOND, unneededMs: 60 * SECOND },
    ...(deadly ? drawRestlessness(seed) : { ambient: {}, knobs: {} }),
  };
}

function drawPool(random: Random, name: string): PoolSpec {
  const min = happens(random, 0.4) ? whole(random, 1, 2) : 0;
  const spot = happens(random, 0.25);
  return aPool({
    name,
    ...drawKind(random),
    min,
    max: min + whole(random, 3, 9),
    count: min + whole(random, 0, 2),
    ...(happens(random, 0.4) ? { zones: happens(random, 0.5) ? ['1', '2', '3'] : [String(whole(random, 1, 3))] } : {}),
    ...(spot ? { priority: 'Spot' as const, taints: ['kubernetes.azure.com/scalesetpriority=spot:NoSchedule'] } : {}),
  });
}

/** Half are Uniform scale sets, the others Flexible ones and pools of type VirtualMachines, some of two sizes. */
function drawKind(random: Random): Pick<PoolSpec, 'kind' | 'vmSize' | 'sizes'> {
  const vmSize = oneOf(random, SIZES);
  const dice = random();
  if (dice < 0.5) return { vmSize };
  if (dice < 0.72) return { vmSize, kind: 'vmss-flexible' };
  const other = oneOf(random, SIZES);
  return { vmSize, kind: 'vms-pool', ...(other === vmSize ? {} : { sizes: [{ vmSize: other, count: 0 }] }) };
}

function drawStock(random: Random, pool: PoolSpec): readonly [string, number] {
  const zone = pool.zones === undefined ? '0' : oneOf(random, pool.zones);
  return [`${pool.vmSize}/${zone}`, whole(random, 0, 4)];
}

function drawWorkload(random: Random, name: string, pools: readonly PoolSpec[]): WorkloadSpec {
  const hasSpot = pools.some(({ priority }) => priority === 'Spot');
  const spotOnly = hasSpot && happens(random, 0.3);
  return {
    name,
    cpu: oneOf(random, ['200m', '600m', '1100m', '2500m']),
    memory: oneOf(random, ['128Mi', '1Gi', '3Gi']),
    maxUnavailable: happens(random, 0.6) ? oneOf(random, [0, 1, 1, 2, 3]) : undefined,
    gracePeriodSeconds: oneOf(random, [1, 10, 40]),
    spotOnly,
    toleratesSpot: spotOnly || happens(random, 0.4),
  };
}

function drawFlags(random: Random): readonly string[] {
  return [
    '--scale-down-unneeded-time=1m',
    '--scale-down-delay-after-add=30s',
    '--scale-down-delay-after-failure=30s',
    '--scale-down-unready-time=3m',
    '--unremovable-node-recheck-timeout=1m',
    '--max-node-provision-time=6m',
    '--initial-node-group-backoff-duration=1m',
    '--max-node-group-backoff-duration=4m',
    `--max-drain-parallelism=${whole(random, 1, 3)}`,
    `--expander=${oneOf(random, ['least-waste', 'random', 'most-pods', 'least-nodes'])}`,
    `--enforce-node-group-min-size=${String(happens(random, 0.5))}`,
    `--balance-similar-node-groups=${String(happens(random, 0.4))}`,
  ];
}

interface Stage {
  readonly pools: readonly PoolSpec[];
  readonly workloads: readonly WorkloadSpec[];
  readonly chaosMs: number;
}

function drawSteps(random: Random, stage: Stage): readonly TimedStep[] {
  const steps: TimedStep[] = stage.workloads.map(({ name }) => ({
    atMs: whole(random, 0, 60) * SECOND,
    step: { kind: 'scale', workload: name, replicas: whole(random, 1, 12) },
  }));
  let serial = 0;
  for (let atMs = 20 * SECOND; atMs < stage.chaosMs; atMs += whole(random, 1, 60_000)) {
    steps.push({ atMs, step: drawStep(random, stage, ++serial) });
  }
  return steps.sort((left, right) => left.atMs - right.atMs);
}

/** In half of the worlds AKS, the region and another writer act by themselves; in as many, lists may be behind. */
function drawRestlessness(seed: number): Pick<Scenario, 'ambient' | 'knobs'> {
  const random = seededRandom(seed * 3_001 + 5);
  const every = (): { readonly everyMs: number } => ({ everyMs: whole(random, 120, 900) * SECOND });
  const ambient: BackgroundActorOptions = {
    ...(happens(random, 0.3) ? { reconcile: every() } : {}),
    ...(happens(random, 0.3) ? { evictions: { ...every(), fraction: oneOf(random, [0.3, 1]) } } : {}),
    ...(happens(random, 0.3) ? { foreignScaling: { ...every(), upTo: whole(random, 1, 3) } } : {}),
  };
  return { ambient, knobs: happens(random, 0.5) ? { listStalenessMs: whole(random, 1, 20) * SECOND } : {} };
}

function drawHidden(seed: number, { pools, workloads, chaosMs }: Stage): readonly TimedStep[] {
  return hiddenFailures(seededRandom(seed * 6_007 + 3), {
    pools,
    workloads: workloads.map(({ name }) => name),
    chaosMs,
  });
}

function drawStep(random: Random, stage: Stage, serial: number): Step {
  const dice = random();
  if (dice < 0.25) return { kind: 'scale', workload: oneOf(random, stage.workloads).name, replicas: drawReplicas(random) };
  if (dice < 0.45) return drawCatalogued(random, stage, serial);
  if (dice < 0.65)
    return {
      kind: 'fault',
      ...drawFault(
        random,
        serial,
        stage.pools.map(({ name }) => name),
      ),
    };
  if (dice < 0.8) return drawWorldStep(random, stage, serial);
  return drawProcessStep(random);
}

const SLOW_CREATE = 9;
const CREATING_FOR_EVER = 10;

function drawCatalogued(random: Random, { pools }: Stage, serial: number): Step {
  const drawn = oneOf(random, [...INCIDENT_CATALOGUE.keys()]);
  const pool = oneOf(random, pools);
  const number = drawn === CREATING_FOR_EVER && isHeldByAks(pool) ? SLOW_CREATE : drawn;
  const match = {
    pool: pool.name,
    ...(happens(random, 0.5) ? { prob: oneOf(random, [0.3, 0.6]) } : {}),
    ...(happens(random, 0.4) ? { times: whole(random, 1, 4) } : {}),
  };
  return { kind: 'catalogued', order: { number, id: `${serial} catalogue ${number}`, match }, forMs: whole(random, 5, 240) * SECOND };
}

function drawReplicas(random: Random): number {
  return happens(random, 0.3) ? 0 : whole(random, 1, 20);
}

function drawWorldStep(random: Random, { pools }: Stage, serial: number): Step {
  const { name: pool, vmSize, zones = ['0'], priority, max } = oneOf(random, pools);
  const event = (value: WorldEvent): Step => ({ kind: 'event', event: value });
  switch (whole(random, 0, 8)) {
    case 0:
      return event({ foreignScale: { pool, delta: oneOf(random, [-2, -1, 1, 2]) } });
    case 1:
      return event({ foreignScale: { pool, to: whole(random, 0, max), when: 'before-next-write' } });
    case 2:
      return event({ rpReconcile: { pool } });
    case 3:
      return event({ evict: { pool: pools.find((other) => other.priority === 'Spot')?.name ?? pool, count: whole(random, 1, 4) } });
    case 4:
      return { kind: 'stock', vmSize, zone: oneOf(random, zones), count: whole(random, 0, 3) };
    case 5:
      return { kind: 'quota', name: oneOf(random, FAMILIES), limit: whole(random, 8, 60) };
    case 6:
      return event({ removePool: { pool } });
    case 7:
      return event({ addPool: drawPool(random, `new${serial}`) });
    default:
      return event({ foreignScale: { pool, delta: priority === 'Spot' ? -1 : 1 } });
  }
}

function drawProcessStep(random: Random): Step {
  switch (whole(random, 0, 6)) {
    case 0:
      return {
        kind: 'kube-errors',
        count: whole(random, 1, 12),
        status: oneOf(random, [429, 500, 503]),
        resource: happens(random, 0.4) ? undefined : oneOf(random, ['nodes', 'pods']),
      };
    case 1:
      return { kind: 'kube-watches' };
    case 2:
      return { kind: 'kube-compact' };
    case 3:
      return { kind: 'kube-away', forMs: whole(random, 1, 60) * SECOND };
    case 4:
      return { kind: 'skew', ms: oneOf(random, [-3600, -60, 45, 600, 7200]) * SECOND };
    default:
      return { kind: 'restart', kill: happens(random, 0.6), awayMs: whole(random, 0, 40) * SECOND };
  }
}
