/**
 * What happens to a fleet: a quiet time, a size that is out of stock, and other clients that use up Azure's limit of reads while every
 * cluster grows. The same for clusters that share a store and for those that do not. Only counts; nothing here decides what is good.
 */
import { MINUTE, SECOND, aPool, deployment } from '../../scenarios/support.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import type { JournalEntry } from '../../../world/simulator/arm/http/journal.ts';
import { FleetRun, type FleetCluster, type FleetOptions } from './fleet-run.ts';
import { useUpLimit } from './other-clients.ts';

/** `rare` is the better choice for the pods, and out of stock. */
const RARE = 'Standard_F8s_v2';
const POOLS = [
  aPool({ name: 'web', count: 1 }),
  aPool({ name: 'rare', vmSize: RARE, count: 0 }),
  aPool({ name: 'plenty', vmSize: 'Standard_D16s_v5', count: 0 }),
];
const SHARED_KINDS = ['GET skus', 'GET locations/{location}/usages'];
const QUIET_MS = 6 * MINUTE;
/** After the first cluster met the stockout, before the others ask for nodes. Hints are at most five seconds old. */
const UNTIL_OTHERS_MS = 30 * SECOND;
/** Reads that Azure allows to all clients, once the saved-up ones are gone (caching 2.1). Others leave so many for each cluster. */
const READS_A_MINUTE = 360;
const READS_LEFT_EACH = 4;
/** Clusters of one subscription get their pods in the same half minute, not in the same millisecond. */
const BETWEEN_CLUSTERS_MS = SECOND;
const CALL_MS = 250;
const LIST_OF_SIZES_MS = 3 * SECOND;
const PRESSURE_MS = 4 * MINUTE;
/** Azure's for all of a subscription, as the emulator has them. */
const WRITES_A_MINUTE = 125;
const WRITE_PRESSURE_MS = 5 * MINUTE;

export interface FleetFigures {
  readonly clusters: number;
  readonly store: 'memory' | 'none';
  /** Reads of sizes and usages while nothing happens, the start included. */
  readonly sharedCalls: number;
  /** Of all kinds, in the same time. */
  readonly calls: number;
  /** Clusters after the first that asked Azure for the size that is out of stock. */
  readonly askedForStockout: number;
  /** Clusters after the first that wrote the other pool in the loop that saw the pods. */
  readonly fellBackAtOnce: number;
  /** Of clusters after the first, from the pods to the accepted write of the other pool, seconds. */
  readonly fallbackSeconds: { readonly median: number; readonly longest: number };
  /** Of a new process, from its start to its first decision, while the list of sizes takes as long as Azure's does. */
  readonly handOver: { readonly seconds: number; readonly calls: number };
  /** While other clients used up the limit. */
  readonly pressure: {
    readonly reads: number;
    readonly refused: number;
    readonly writesRefused: number;
    /** The longest time in which a cluster got no list of its scale sets, seconds. */
    readonly longestWithoutList: number;
    /** From the pods to the write, of the slowest cluster, seconds. */
    readonly slowestWrite: number;
  };
  /** While other clients leave half a capacity write a minute for each cluster, and each needs one. */
  readonly writePressure: {
    readonly served: number;
    readonly refused: number;
    /** From the pods to the accepted write, seconds. */
    readonly waits: { readonly median: number; readonly longest: number };
  };
  readonly violations: number;
  readonly failedLoops: number;
  /** Seconds of processor time, and of virtual time. */
  readonly cpuSeconds: number;
  readonly virtualSeconds: number;
}

/** @throws Error if the world does not come to rest. */
export async function liveAsFleet(clusters: number, store: FleetFigures['store'], seed = 1): Promise<FleetFigures> {
  const began = process.cpuUsage();
  const run = await FleetRun.start({ clusters, seed, pools: POOLS, stock: { [`${RARE}/0`]: 0 }, ...storeOptions(store) });
  const startMs = run.clock.now();
  try {
    await run.startDaemons();
    await run.advance(QUIET_MS);
    const quiet = { sharedCalls: callsOf(run, (entry) => SHARED_KINDS.includes(entry.route)), calls: callsOf(run, () => true) };
    const handedOver = await handOver(run);
    const stockout = await meetStockout(run);
    const pressure = await underPressure(run);
    const writePressure = await underWritePressure(run);
    const { user, system } = process.cpuUsage(began);
    return {
      clusters,
      store,
      ...quiet,
      handOver: handedOver,
      ...stockout,
      pressure,
      writePressure,
      violations: run.clusters.reduce((sum, { world }) => sum + world.violations().length, 0),
      failedLoops: run.clusters.reduce((sum, { loops }) => sum + loops.filter(({ outcome }) => outcome !== 'completed').length, 0),
      cpuSeconds: Math.round((user + system) / 1e6),
      virtualSeconds: (run.clock.now() - startMs) / SECOND,
    };
  } finally {
    await run.stop();
  }
}

/** Every process of the run shares one store in memory. */
export function storeOptions(store: FleetFigures['store']): Pick<FleetOptions, 'storeOf'> {
  let memory: MemoryStore | undefined;
  return store === 'none' ? {} : { storeOf: ({ name, simClock }) => (memory ??= new MemoryStore(simClock)).of(name) };
}

/** The last cluster's process is replaced by another one. Each call takes a quarter of a second, and the list of sizes three (caching 2.1). */
async function handOver(run: FleetRun): Promise<FleetFigures['handOver']> {
  const last = run.clusters.at(-1);
  if (last === undefined) throw new Error('a fleet has a cluster');
  const { control } = last.world.arm;
  await run.stopDaemon(last);
  control.addFault({ id: 'slow-sizes', match: { pathGlob: '**/skus' }, effect: { kind: 'delay', ms: LIST_OF_SIZES_MS } });
  control.addFault({ id: 'slow', match: { pathGlob: '**/providers/**' }, effect: { kind: 'delay', ms: CALL_MS } });
  const sinceMs = run.clock.now();
  const loops = last.loops.length;
  await run.startDaemon(last);
  await run.advance(MINUTE, () => last.loops.length > loops);
  const untilMs = last.loops.at(-1)?.endedAtMs ?? Number.POSITIVE_INFINITY;
  for (const id of ['slow', 'slow-sizes']) control.removeFault(id);
  return { seconds: (untilMs - sinceMs) / SECOND, calls: last.calls.filter(({ at }) => at >= sinceMs && at <= untilMs).length };
}

async function meetStockout(run: FleetRun): Promise<Pick<FleetFigures, 'askedForStockout' | 'fellBackAtOnce' | 'fallbackSeconds'>> {
  const [first, ...others] = run.clusters;
  if (first === undefined) throw new Error('a fleet has a cluster');
  grow(first, 'rare-work', '7');
  await run.advance(3 * MINUTE, () => writesOf(first, 'plenty').length > 0);
  await run.advance(UNTIL_OTHERS_MS);
  const sinceMs = run.clock.now();
  for (const each of others) grow(each, 'rare-work', '7');
  await run.advance(MINUTE);
  const waits = others.map((each) => firstWriteAfter(each, 'plenty', sinceMs));
  const asked = others.filter((each) => writesOf(each, 'rare').some(({ at }) => at >= sinceMs));
  const atOnce = others.filter((each, at) => !asked.includes(each) && (waits[at] ?? Number.POSITIVE_INFINITY) < 10 * SECOND);
  return { askedForStockout: asked.length, fellBackAtOnce: atOnce.length, fallbackSeconds: spreadOf(waits) };
}

async function underPressure(run: FleetRun): Promise<FleetFigures['pressure']> {
  const sinceMs = run.clock.now();
  const stop = useUpLimit(run, {
    method: 'GET',
    compute: 'HighCostGetVMScaleSet',
    aMinute: READS_A_MINUTE - READS_LEFT_EACH * run.clusters.length,
  });
  await run.advance(MINUTE);
  const grownMs = run.clock.now();
  for (const [at, each] of run.clusters.entries()) run.clock.after(at * BETWEEN_CLUSTERS_MS, () => grow(each, 'web-work', '3'));
  await run.advance(PRESSURE_MS);
  stop();
  const during = run.clusters.map(({ calls }) => calls.filter(({ at }) => at >= sinceMs));
  const count = (isMeant: (entry: JournalEntry) => boolean): number => during.flat().filter(isMeant).length;
  return {
    reads: count(({ method }) => method === 'GET'),
    refused: count(({ method, status }) => method === 'GET' && status === 429),
    writesRefused: count(({ method, status }) => method !== 'GET' && status === 429),
    longestWithoutList: Math.max(...run.clusters.map((each) => longestGap(each, sinceMs, run.clock.now()))),
    slowestWrite: Math.max(...run.clusters.map((each, at) => firstWriteAfter(each, '[a-z]+', grownMs + at * BETWEEN_CLUSTERS_MS))) / SECOND,
  };
}

async function underWritePressure(run: FleetRun): Promise<FleetFigures['writePressure']> {
  // What the increases before have used up of each scale set is back.
  await run.advance(3 * MINUTE);
  const stop = useUpLimit(run, { method: 'PUT', compute: 'CreateVMScaleSet', aMinute: WRITES_A_MINUTE - run.clusters.length / 2 });
  const sinceMs = run.clock.now();
  for (const each of run.clusters) grow(each, 'late-work', '12');
  await run.advance(WRITE_PRESSURE_MS);
  stop();
  const waits = run.clusters.map((each) => firstWriteAfter(each, 'plenty', sinceMs));
  return {
    served: waits.filter((wait) => Number.isFinite(wait)).length,
    refused: callsOf(run, ({ method, status, at }) => method === 'PUT' && status === 429 && at >= sinceMs),
    waits: spreadOf(waits),
  };
}

function grow({ world }: FleetCluster, name: string, cpu: string): void {
  world.cluster.apply(deployment({ name, replicas: 4, cpu }));
}

function callsOf(run: FleetRun, isMeant: (entry: JournalEntry) => boolean): number {
  return run.clusters.reduce((sum, { calls }) => sum + calls.filter(isMeant).length, 0);
}

/** Capacity writes of a pool, accepted or not. */
export function writesOf({ calls }: FleetCluster, pool: string): readonly JournalEntry[] {
  return calls.filter(({ method, path }) => method === 'PUT' && new RegExp(`aks-${pool}-\\d+-vmss$`, 'i').test(path));
}

/** Milliseconds until the first accepted write since then; infinite if there is none. */
export function firstWriteAfter(cluster: FleetCluster, pool: string, sinceMs: number): number {
  const write = writesOf(cluster, pool).find(({ at, status }) => at >= sinceMs && status < 300);
  return write === undefined ? Number.POSITIVE_INFINITY : write.at - sinceMs;
}

function longestGap({ calls }: FleetCluster, sinceMs: number, untilMs: number): number {
  const lists = calls.filter(({ route, status, at }) => route === 'GET virtualMachineScaleSets' && status === 200 && at >= sinceMs);
  const times = [sinceMs, ...lists.map(({ at }) => at), untilMs];
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at))) / SECOND;
}

export function spreadOf(waitsMs: readonly number[]): FleetFigures['fallbackSeconds'] {
  const sorted = waitsMs.toSorted((left, right) => left - right);
  const at = (index: number): number => (sorted[index] ?? 0) / SECOND;
  return { median: at(Math.floor(sorted.length / 2)), longest: at(sorted.length - 1) };
}
