/**
 * The bundled daemon and a large simulated world, each in its own process: start, rest, changes, the reaction to a pod, a burst and its end.
 * CPU times are the daemon's own; times of day include what the world needs, which shares the machine. Linux only.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { bundleInto } from '../daemon-bundle.ts';
import type { BenchRow } from '../row.ts';
import { MeasuredDaemon } from './daemon-process.ts';
import type { LongestTurn, WorldAnswers, WorldOrder, WorldReady, WorldSize } from './world-orders.ts';

export interface BigOptions {
  readonly nodes: number;
  readonly pods: number;
  /** Pods of the burst, each of which needs a node. */
  readonly burst: number;
  readonly speed: number;
  /** A folder for CPU profiles of both processes, the daemon's log, and its long turns (in `daemon.err`). If absent, there are none. */
  readonly profileDir?: string | undefined;
}

/** `bench/big-NODES.json`, from which a table of the docs is made. */
export interface BigReport extends Pick<BigOptions, 'nodes' | 'pods'> {
  readonly measuredOn: string;
  readonly processor: string;
  readonly node: string;
  /** What a reader must know of this measurement. */
  readonly note?: string;
  /** `null`: it was not done in time. */
  readonly rows: readonly { readonly name: string; readonly unit: string; readonly value: number | null }[];
}

/** The sizes whose figures are kept: the largest cluster of AKS, and three times as many nodes. */
const KEPT_NODES: ReadonlySet<number> = new Set([5_000, 15_000]);
const SETTLE_MS = 20_000;
const REST_MS = 60_000;
/** Turns at rest are measured after its CPU time, since the measurement takes some. */
const REST_TURNS_MS = 10_000;
const CHANGES = { perSecond: 100, forMs: 30_000 };
const LONE_PODS = 20;
const LONE_PAUSE_MS = 2_000;

export async function bigBench(options: BigOptions): Promise<readonly BenchRow[]> {
  const dir = options.profileDir ?? mkdtempSync(join(tmpdir(), 'big-bench-'));
  mkdirSync(dir, { recursive: true });
  const main = bundleInto(join(dir, 'bundle'), { readable: options.profileDir !== undefined });
  const world = new WorldProcess({ nodes: options.nodes, pods: options.pods, speed: options.speed, dir }, profileOf(options));
  try {
    const rows = await measure({ options, main, dir, world });
    if (KEPT_NODES.has(options.nodes)) writeFileSync(reportFile(options), `${JSON.stringify(reportOf(options, rows), undefined, 2)}\n`);
    return rows;
  } finally {
    await world.stop();
    if (options.profileDir === undefined) await rm(dir, { recursive: true, force: true });
  }
}

function reportFile({ nodes }: BigOptions): string {
  return join(import.meta.dirname, '..', `big-${nodes}.json`);
}

function reportOf({ nodes, pods }: BigOptions, rows: readonly BenchRow[]): BigReport {
  return {
    measuredOn: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model ?? 'unknown processor',
    node: process.version,
    nodes,
    pods,
    rows: rows.map(({ name, unit, samples: [value = Number.NaN] }) => ({ name: name.slice(name.indexOf(': ') + 2), unit, value })),
  };
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

async function measure({ options, main, dir, world }: MeasureInput): Promise<readonly BenchRow[]> {
  const { nodes, pods } = options;
  const rows: BenchRow[] = [];
  const add = (name: string, unit: BenchRow['unit'], value: number | readonly number[], note = ''): void => {
    const samples = typeof value === 'number' ? [value] : value;
    rows.push({ name: `big, ${nodes} nodes, ${pods} pods: ${name}`, unit, samples, note });
    process.stderr.write(`  ${name}: ${samples.map((sample) => sample.toPrecision(4)).join(' ')} ${unit}\n`);
  };
  const started = await world.ready;
  add('world, start until all pods run', 'ms', started.startMs);
  add('world, CPU of the start', 'ms', started.startCpuMs);
  add('world, peak memory of the start', 'MB', started.peakMb);
  const startedMs = performance.now();
  const daemon = await MeasuredDaemon.start({ main, world: started, dir, nodeOptions: profileOf(options) });
  try {
    add('start to ready', 'ms', await daemon.ready(startedMs));
    add('start to ready, CPU', 'ms', daemon.cpuMs);
    add('peak memory of the start', 'MB', daemon.memoryMb.peak);
    addTurn(add, 'longest turn of the start', await daemon.longestTurn());
    await pause(SETTLE_MS);
    await rest(daemon, add);
    await changes(daemon, world, add);
    await reactions(daemon, world, add);
    await burst(daemon, world, { count: options.burst, add });
    await end(daemon, world, add);
    add('memory at the end', 'MB', daemon.memoryMb.now);
    add('peak memory', 'MB', daemon.memoryMb.peak);
    const { peakMb } = await world.obey({ verb: 'usage' });
    add('world, peak memory', 'MB', peakMb);
  } finally {
    await daemon.stop();
  }
  return rows;
}

type Add = (name: string, unit: BenchRow['unit'], value: number | readonly number[], note?: string) => void;

function addTurn(add: Add, name: string, { wallMs, cpuMs }: LongestTurn): void {
  add(name, 'ms', wallMs, 'time of day');
  add(`${name}, CPU`, 'ms', cpuMs, 'of the main thread; may be another turn than the one above');
}

/** Nothing happens. */
async function rest(daemon: MeasuredDaemon, add: Add): Promise<void> {
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
  addTurn(add, 'longest turn at rest', await daemon.longestTurn());
}

async function changes(daemon: MeasuredDaemon, world: WorldProcess, add: Add): Promise<void> {
  daemon.measureTurns();
  const [cpuMs, startedMs] = [daemon.cpuMs, performance.now()];
  const { changed } = await world.obey({ verb: 'change-pods', ...CHANGES });
  const seconds = (performance.now() - startedMs) / 1000;
  add(`CPU of a second with ${Math.round(changed / seconds)} changed pods`, 'ms', (daemon.cpuMs - cpuMs) / seconds);
  addTurn(add, 'longest turn with changes', await daemon.longestTurn());
}

async function reactions(daemon: MeasuredDaemon, world: WorldProcess, add: Add): Promise<void> {
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
  { count, add }: { readonly count: number; readonly add: Add },
): Promise<void> {
  daemon.measureTurns();
  const cpuMs = daemon.cpuMs;
  const { firstMs, lastMs, doneMs, nodes } = await world.obey({ verb: 'add-pods', count });
  const name = `scale-up for ${count} pods`;
  add(`${name}, first write`, 'ms', firstMs, 'from the creation of the pods');
  add(`${name}, last write`, 'ms', lastMs);
  add(`${name}, all pods run`, 'ms', doneMs, `${nodes} nodes`);
  add(`${name}, CPU`, 'ms', daemon.cpuMs - cpuMs);
  addTurn(add, `${name}, longest turn`, await daemon.longestTurn());
}

async function end(daemon: MeasuredDaemon, world: WorldProcess, add: Add): Promise<void> {
  daemon.measureTurns();
  const cpuMs = daemon.cpuMs;
  const { firstMs, lastMs, doneMs, nodes, othersEnded } = await world.obey({ verb: 'remove-pods' });
  add(`removal of ${nodes} nodes, first write`, 'ms', firstMs, 'with 20 s of being unneeded');
  add(`removal of ${nodes} nodes, last write`, 'ms', lastMs);
  add(`removal of ${nodes} nodes, all gone`, 'ms', doneMs);
  add(`removal of ${nodes} nodes, pods of other workloads that ended`, 'pods', othersEnded, 'none had to move');
  add(`removal of ${nodes} nodes, CPU`, 'ms', daemon.cpuMs - cpuMs);
  addTurn(add, `removal of ${nodes} nodes, longest turn`, await daemon.longestTurn());
}

/** What 5,000 nodes need is far below what Node.js allows; three times as many are not. */
function heapMb({ nodes, pods }: WorldSize): number {
  return Math.max(4_000, Math.ceil(nodes / 5 + pods / 50));
}

type Message = { readonly ready: WorldReady } | { readonly answer: WorldAnswers[WorldOrder['verb']] } | { readonly error: string };

class WorldProcess {
  readonly ready: Promise<WorldReady>;
  readonly #child: ChildProcess;
  #answer = Promise.withResolvers<Message>();

  constructor(size: WorldSize, nodeOptions: readonly string[]) {
    this.#child = fork(join(import.meta.dirname, 'world-process.ts'), [JSON.stringify(size)], {
      execArgv: ['--disable-warning=ExperimentalWarning', `--max-old-space-size=${heapMb(size)}`, ...nodeOptions],
      serialization: 'advanced',
    });
    this.#child.on('message', (message: Message) => this.#answer.resolve(message));
    this.#child.on('exit', () => this.#answer.resolve({ error: 'the process of the world ended' }));
    this.ready = this.#answer.promise.then((message) => ('ready' in message ? message.ready : fail(message)));
  }

  async obey<Verb extends WorldOrder['verb']>(order: Extract<WorldOrder, { readonly verb: Verb }>): Promise<WorldAnswers[Verb]> {
    this.#answer = Promise.withResolvers<Message>();
    this.#child.send(order);
    const message = await this.#answer.promise;
    return 'answer' in message ? (message.answer as WorldAnswers[Verb]) : fail(message);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    // It ends by itself when its parent has disconnected: so a profile is written.
    this.#child.disconnect();
    await ended;
  }
}

function fail(message: Message): never {
  throw new Error('error' in message ? message.error : 'an unexpected answer of the world');
}
