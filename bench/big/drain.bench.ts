/**
 * The bundled daemon and a large simulated world in the evening: nodes are removed whose pods must move, within budgets of every kind. First
 * with the limits of drains that are the default, for a few minutes; then many at once, by a new process, until they are gone. Linux only.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleInto } from '../../test/support/bundle.ts';
import type { BenchRow } from '../row.ts';
import type { BigOptions } from './big.bench.ts';
import { BigRows } from './big-report.ts';
import { MeasuredDaemon, type DaemonInput } from './daemon-process.ts';
import { WorldProcess } from './world-client.ts';
import type { DrainFacts, WorldReady } from './world-orders.ts';

export type DrainBenchOptions = Omit<BigOptions, 'burst'>;

/** The sizes whose figures are kept: the largest cluster of AKS, and one that needs less time. */
const KEPT_NODES: ReadonlySet<number> = new Set([1_000, 5_000]);
const DEFAULTS_MS = 180_000;
/** So that the bench ends by itself. */
const WITHIN_MS = 1_200_000;
const RELEASE_AFTER_MS = 120_000;
const AT_ONCE = 200;
const MANY_DRAINS: Pick<DaemonInput, 'flags' | 'config'> = {
  flags: [`--max-drain-parallelism=${AT_ONCE}`, `--max-scale-down-parallelism=${AT_ONCE}`],
  // Has no flag. The default is 100 in ten minutes.
  config: 'scaleDown:\n  maxRemovalsPerWindow: 10000\n',
};

export async function drainBench(options: DrainBenchOptions): Promise<readonly BenchRow[]> {
  const dir = options.profileDir ?? mkdtempSync(join(tmpdir(), 'drain-bench-'));
  mkdirSync(dir, { recursive: true });
  const main = bundleInto(join(dir, 'bundle'), { readable: options.profileDir !== undefined });
  const { nodes, pods, speed } = options;
  const world = new WorldProcess({ scene: 'evening', nodes, pods, speed, dir }, []);
  const report = new BigRows('drain', options);
  try {
    await measure({ main, dir, world, nodeOptions: profileOf(options) }, report);
    if (KEPT_NODES.has(nodes)) report.keep();
    return report.rows;
  } finally {
    await world.stop();
    if (options.profileDir === undefined) await rm(dir, { recursive: true, force: true });
  }
}

function profileOf({ profileDir }: DrainBenchOptions): readonly string[] {
  return profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
}

interface MeasureInput {
  readonly main: string;
  readonly dir: string;
  readonly world: WorldProcess;
  readonly nodeOptions: readonly string[];
}

async function measure(input: MeasureInput, report: BigRows): Promise<void> {
  const ready = await input.world.ready;
  const defaults = await drains(input, ready, { going: ready.going, withinMs: DEFAULTS_MS, settings: {} });
  addFacts('one drain at once', defaults, report);
  const { nodesGone } = defaults.facts;
  const { going } = ready;
  const many = await drains(input, ready, {
    going: going - nodesGone,
    withinMs: WITHIN_MS,
    releaseAfterMs: RELEASE_AFTER_MS,
    settings: MANY_DRAINS,
  });
  addFacts(`${AT_ONCE} drains at once`, many, report);
}

interface Phase {
  readonly going: number;
  readonly withinMs: number;
  readonly releaseAfterMs?: number;
  readonly settings: Pick<DaemonInput, 'flags' | 'config'>;
}

interface Measured {
  readonly facts: DrainFacts;
  readonly withinMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  readonly turn: { readonly wallMs: number; readonly cpuMs: number };
}

/** A process from its first loop on, until the nodes are gone or the time is up. */
async function drains({ main, dir, world, nodeOptions }: MeasureInput, ready: WorldReady, phase: Phase): Promise<Measured> {
  const { settings, ...order } = phase;
  const startedMs = performance.now();
  const daemon = await MeasuredDaemon.start({ main, world: ready, dir, nodeOptions, ...settings });
  try {
    await daemon.ready(startedMs);
    daemon.measureTurns();
    const cpuMs = daemon.cpuMs;
    const facts = await world.obey({ verb: 'follow-drains', ...order });
    return { facts, withinMs: phase.withinMs, cpuMs: daemon.cpuMs - cpuMs, peakMb: daemon.memoryMb.peak, turn: await daemon.longestTurn() };
  } finally {
    await daemon.stop();
  }
}

function addFacts(name: string, { facts, withinMs, cpuMs, peakMb, turn }: Measured, { add, addTurn }: BigRows): void {
  const { nodesGone, doneMs } = facts;
  if (Number.isNaN(doneMs)) add(`${name}: nodes gone in ${withinMs / 60_000} minutes`, 'nodes', nodesGone, 'with 20 s of being unneeded');
  else add(`${name}: ${nodesGone} nodes gone`, 'ms', doneMs, 'with 20 s of being unneeded');
  add(`${name}: first eviction`, 'ms', facts.firstEvictionMs);
  add(`${name}: last eviction`, 'ms', facts.lastEvictionMs);
  add(`${name}: pods evicted`, 'pods', facts.evicted);
  add(`${name}: pods evicted again from their new node`, 'pods', facts.evictedAgain);
  add(`${name}: evictions refused by a budget`, 'calls', facts.refused, 'status 429');
  add(`${name}: evictions that failed`, 'calls', facts.failed);
  add(`${name}: lowest availability of a workload with a budget`, '%', facts.leastAvailable * 100);
  add(`${name}: pods below a budget at worst`, 'pods', facts.mostBelowBudget);
  add(`${name}: pods that were unschedulable`, 'pods', facts.unplaced);
  add(`${name}: longest time unschedulable`, 'ms', facts.longestUnplacedMs);
  add(`${name}: nodes added`, 'nodes', facts.nodesAdded);
  add(`${name}: writes of scale sets`, 'calls', facts.armWrites);
  add(`${name}: calls of Azure`, 'calls', facts.armCalls);
  add(`${name}: calls of the API server`, 'calls', facts.apiCalls);
  add(`${name}: CPU`, 'ms', cpuMs);
  add(`${name}: peak memory`, 'MB', peakMb);
  addTurn(`${name}: longest turn`, turn);
}
