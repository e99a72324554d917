/**
 * The bundled daemon and a large simulated world, each in its own process: start, rest, changes, the reaction to a pod, a burst and its end.
 * CPU times are the daemon's own; times of day include what the world needs, which shares the machine. Linux only.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { bundleInto } from '../../test/support/bundle.ts';
import type { BenchRow } from '../row.ts';
import { BigRows } from './big-report.ts';
import { MANY_AT_ONCE, MeasuredDaemon } from './daemon-process.ts';
import { WorldProcess } from './world-client.ts';

export interface BigOptions {
  readonly nodes: number;
  readonly pods: number;
  /** Pods of the burst, each of which needs a node. */
  readonly burst: number;
  readonly speed: number;
  /** A folder for CPU profiles of both processes, the daemon's log, and its long turns (in `daemon.err`). If absent, there are none. */
  readonly profileDir?: string | undefined;
}

/** The sizes whose figures are kept: the largest cluster of AKS, and three times as many nodes. */
const KEPT_NODES: ReadonlySet<number> = new Set([5_000, 15_000]);
const SETTLE_MS = 20_000;
const REST_MS = 60_000;
/** Turns at rest are measured after its CPU time, since the measurement takes some. */
const REST_TURNS_MS = 10_000;
const PAGES = ['overview', 'pending', 'pools', 'nodes', 'blockers', 'timeline', 'search?q=a', 'agents'].map((name) => `/api/v1/${name}`);
const CHANGES = { perSecond: 100, forMs: 30_000 };
const LONE_PODS = 20;
const LONE_PAUSE_MS = 2_000;

export async function bigBench(options: BigOptions): Promise<readonly BenchRow[]> {
  const dir = options.profileDir ?? mkdtempSync(join(tmpdir(), 'big-bench-'));
  mkdirSync(dir, { recursive: true });
  const main = bundleInto(join(dir, 'bundle'), { readable: options.profileDir !== undefined });
  const world = new WorldProcess({ scene: 'day', nodes: options.nodes, pods: options.pods, speed: options.speed, dir }, profileOf(options));
  const report = new BigRows('big', options);
  try {
    await measure({ options, main, dir, world }, report);
    if (KEPT_NODES.has(options.nodes)) report.keep();
    return report.rows;
  } finally {
    await world.stop();
    if (options.profileDir === undefined) await rm(dir, { recursive: true, force: true });
  }
}

function profileOf({ profileDir }: BigOptions): readonly string[] {
  return profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
}

interface MeasureInput {
  readonly options: BigOptions;
  readonly main: string;
  readonly dir: string;
  readonly world: WorldProcess;
}

async function measure({ options, main, dir, world }: MeasureInput, report: BigRows): Promise<void> {
  const { add, addTurn } = report;
  const started = await world.ready;
  add('world, start until all pods run', 'ms', started.startMs);
  add('world, CPU of the start', 'ms', started.startCpuMs);
  add('world, peak memory of the start', 'MB', started.peakMb);
  const startedMs = performance.now();
  const daemon = await MeasuredDaemon.start({ main, world: started, dir, nodeOptions: profileOf(options), ...MANY_AT_ONCE });
  try {
    add('start to ready', 'ms', await daemon.ready(startedMs));
    add('start to ready, CPU', 'ms', daemon.cpuMs);
    add('peak memory of the start', 'MB', daemon.memoryMb.peak);
    addTurn('longest turn of the start', await daemon.longestTurn());
    await pause(SETTLE_MS);
    await rest(daemon, report);
    await pages(daemon, report);
    await changes(daemon, world, report);
    await reactions(daemon, world, report);
    await burst(daemon, world, { count: options.burst, report });
    await end(daemon, world, report);
    add('memory at the end', 'MB', daemon.memoryMb.now);
    await pause(REST_MS);
    add('memory a minute later', 'MB', daemon.memoryMb.now);
    add('peak memory', 'MB', daemon.memoryMb.peak);
    const { peakMb } = await world.obey({ verb: 'usage' });
    add('world, peak memory', 'MB', peakMb);
  } finally {
    await daemon.stop();
  }
}

/** Nothing happens. */
async function rest(daemon: MeasuredDaemon, { add, addTurn }: BigRows): Promise<void> {
  const before = { cpuMs: daemon.cpuMs, ...(await daemon.totals()) };
  await pause(REST_MS);
  const after = { cpuMs: daemon.cpuMs, ...(await daemon.totals()) };
  const loops = after.loops - before.loops;
  add('loop without news', 'ms', (after.loopMs - before.loopMs) / loops, 'time of day, mean, without what observers of the loop take');
  add('loop without news, CPU', 'ms', (after.cpuMs - before.cpuMs) / loops, 'all that the process did in a minute, for each loop');
  add('CPU of a minute at rest', 'ms', ((after.cpuMs - before.cpuMs) * 60_000) / REST_MS);
  add('memory at rest', 'MB', daemon.memoryMb.now);
  daemon.measureTurns();
  await pause(REST_TURNS_MS);
  addTurn('longest turn at rest', await daemon.longestTurn());
}

/** A person opens the page. */
async function pages(daemon: MeasuredDaemon, { addTurn }: BigRows): Promise<void> {
  daemon.measureTurns();
  for (const path of PAGES) await daemon.read(path);
  addTurn('longest turn while the page is read', await daemon.longestTurn());
}

async function changes(daemon: MeasuredDaemon, world: WorldProcess, { add, addTurn }: BigRows): Promise<void> {
  daemon.measureTurns();
  const [cpuMs, startedMs] = [daemon.cpuMs, performance.now()];
  const { changed } = await world.obey({ verb: 'change-pods', ...CHANGES });
  const seconds = (performance.now() - startedMs) / 1000;
  add(`CPU of a second with ${Math.round(changed / seconds)} changed pods`, 'ms', (daemon.cpuMs - cpuMs) / seconds);
  addTurn('longest turn with changes', await daemon.longestTurn());
}

async function reactions(daemon: MeasuredDaemon, world: WorldProcess, { add }: BigRows): Promise<void> {
  const samples: number[] = [];
  const cpuMs = daemon.cpuMs;
  for (let index = 0; index < LONE_PODS; index++) {
    const { unschedulableToWriteMs } = await world.obey({ verb: 'add-lone-pod', name: `lone-${index}`, index });
    samples.push(unschedulableToWriteMs);
    await pause(LONE_PAUSE_MS);
  }
  const sorted = samples.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  add('unschedulable to write, p50', 'ms', at(0.5), `${LONE_PODS} pods`);
  add('unschedulable to write, p99', 'ms', at(0.99), 'the longest');
  add('CPU of one such pod', 'ms', (daemon.cpuMs - cpuMs) / LONE_PODS, 'with the loops in between');
}

async function burst(
  daemon: MeasuredDaemon,
  world: WorldProcess,
  { count, report: { add, addTurn } }: { readonly count: number; readonly report: BigRows },
): Promise<void> {
  daemon.measureTurns();
  const cpuMs = daemon.cpuMs;
  const { firstMs, lastMs, doneMs, nodes } = await world.obey({ verb: 'add-pods', count });
  const name = `scale-up for ${count} pods`;
  add(`${name}, first write`, 'ms', firstMs, 'from the creation of the pods');
  add(`${name}, last write`, 'ms', lastMs);
  add(`${name}, all pods run`, 'ms', doneMs, `${nodes} nodes`);
  add(`${name}, CPU`, 'ms', daemon.cpuMs - cpuMs);
  addTurn(`${name}, longest turn`, await daemon.longestTurn());
}

async function end(daemon: MeasuredDaemon, world: WorldProcess, { add, addTurn }: BigRows): Promise<void> {
  daemon.measureTurns();
  const cpuMs = daemon.cpuMs;
  const { firstMs, lastMs, doneMs, nodes, othersEnded } = await world.obey({ verb: 'remove-pods' });
  add(`removal of ${nodes} nodes, first write`, 'ms', firstMs, 'with 20 s of being unneeded');
  add(`removal of ${nodes} nodes, last write`, 'ms', lastMs);
  add(`removal of ${nodes} nodes, all gone`, 'ms', doneMs);
  add(`removal of ${nodes} nodes, pods of other workloads that ended`, 'pods', othersEnded, 'none had to move');
  add(`removal of ${nodes} nodes, CPU`, 'ms', daemon.cpuMs - cpuMs);
  addTurn(`removal of ${nodes} nodes, longest turn`, await daemon.longestTurn());
}
