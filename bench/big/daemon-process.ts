/** The bundled daemon against the large world, in its own process, with its metrics. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { containerOptions, cpuMs, imageEnvironment, memoryMb } from '../daemon-bundle.ts';
import type { LiveHeap, LongestTurn, MeterOrder, WorldReady } from './world-orders.ts';

const METER = join(import.meta.dirname, 'turn-meter.ts');
const POLL_MS = 100;
const START_WITHIN_MS = 300_000;
const STOP_WITHIN_MS = 20_000;
const FLAGS = [
  '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
  '--address=127.0.0.1:0',
  '--leader-elect=false',
  '--scale-down-unneeded-time=20s',
  '--scale-down-delay-after-add=0s',
];

/** What makes removals as many at once as a large cluster needs: a bench does not wait for hours. */
export const MANY_AT_ONCE: Pick<DaemonInput, 'flags' | 'config'> = {
  flags: ['--max-scale-down-parallelism=2000'],
  // Has no flag. The default is 1,000 in ten minutes, and half of the number counts as used at the start of a process.
  config: 'scaleDown:\n  maxEmptyRemovalsPerWindow: 10000\n',
};

export interface LoopTotals {
  readonly loops: number;
  readonly loopMs: number;
}

export interface DaemonInput {
  readonly main: string;
  readonly world: WorldReady;
  readonly dir: string;
  /** Options of Node.js, such as those of a profile. */
  readonly nodeOptions: readonly string[];
  /** Beside those of every bench: nodes are unneeded after 20 s. */
  readonly flags?: readonly string[];
  /** YAML. */
  readonly config?: string;
}

export class MeasuredDaemon {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  /** Its log is in `DIR/daemon.log`. Resolves when it serves its metrics. */
  static async start({ main, world, dir, nodeOptions, flags: more = [], config = '' }: DaemonInput): Promise<MeasuredDaemon> {
    const log = openSync(join(dir, 'daemon.err'), 'w');
    writeFileSync(join(dir, 'config.yaml'), config);
    const flags = [
      `--config=${join(dir, 'config.yaml')}`,
      `--kubeconfig=${world.kubeconfig}`,
      `--cloud-config=${world.cloudConfig}`,
      ...FLAGS,
      ...more,
    ];
    const child = spawn(process.execPath, [...containerOptions(world), ...nodeOptions, `--import=${METER}`, main, 'run', ...flags], {
      env: { PATH: process.env['PATH'], HOME: dir, ...imageEnvironment(), ...world.environment },
      stdio: ['ignore', 'pipe', log, 'ipc'],
    });
    closeSync(log);
    const daemon = new MeasuredDaemon(child, await servedUrl(child, join(dir, 'daemon.log')));
    // Its modules are loaded, which is one turn. What is read of the cluster follows.
    daemon.measureTurns();
    return daemon;
  }

  /** Milliseconds until a loop has completed. @throws if it does not within five minutes. */
  async ready(startedMs: number): Promise<number> {
    while (performance.now() - startedMs < START_WITHIN_MS && this.#child.exitCode === null) {
      const metrics = await this.metrics();
      if ((metrics.get('aks_autoscaler_loops_total{outcome="completed"}') ?? 0) > 0) return performance.now() - startedMs;
      await pause(POLL_MS);
    }
    throw new Error('the daemon has not completed a loop; its log says why');
  }

  get cpuMs(): number {
    return cpuMs(this.#child);
  }

  get memoryMb(): { readonly now: number; readonly peak: number } {
    return memoryMb(this.#child);
  }

  async totals(): Promise<LoopTotals> {
    const metrics = await this.metrics();
    const seconds = metrics.get('aks_autoscaler_loop_duration_seconds_sum{step="total"}') ?? 0;
    return { loops: metrics.get('aks_autoscaler_loop_duration_seconds_count{step="total"}') ?? 0, loopMs: seconds * 1000 };
  }

  /** From now on, turns of the event loop are measured. */
  measureTurns(): void {
    this.#order('start');
  }

  /** The longest turn of the event loop since they are measured; they are not any more. */
  async longestTurn(): Promise<LongestTurn> {
    const answer = once(this.#child, 'message') as Promise<[LongestTurn]>;
    this.#order('stop');
    return (await answer)[0];
  }

  /** What is left of the heap after a full collection of garbage. */
  async liveHeap(): Promise<LiveHeap> {
    const answer = once(this.#child, 'message') as Promise<[LiveHeap]>;
    this.#order('live-heap');
    return (await answer)[0];
  }

  /** Writes a snapshot of the heap, for the tools of Chromium. */
  async writeSnapshot(file: string): Promise<void> {
    const answer = once(this.#child, 'message');
    this.#order({ snapshotTo: file });
    await answer;
  }

  #order(order: MeterOrder): void {
    this.#child.send(order);
  }

  /** What a person's page asks for. @throws if the daemon does not answer it. */
  async read(path: string): Promise<void> {
    const response = await fetch(`${this.#url}${path}`);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  }

  async metrics(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))] as const));
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await Promise.race([ended, pause(STOP_WITHIN_MS)]);
    this.#child.kill('SIGKILL');
  }
}

/** The address in the log's line about it. The log is also written to a file. */
function servedUrl(child: ChildProcess, file: string): Promise<string> {
  if (child.stdout === null) throw new Error('no output to read');
  const written = createWriteStream(file);
  const lines = createInterface({ input: child.stdout });
  const found = Promise.withResolvers<string>();
  lines.on('line', (line) => {
    written.write(`${line}\n`);
    const url = /"url":"(http:[^"]+)"/.exec(line)?.[1];
    if (url !== undefined) found.resolve(url);
  });
  lines.on('close', () => found.reject(new Error(`the daemon ended; its log is ${file}`)));
  return found.promise;
}
