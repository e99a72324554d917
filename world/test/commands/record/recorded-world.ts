/** A simulated cluster in virtual time that the command `record` follows, with its real watches over loopback. */
import { createReadStream, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../commands/record/record-command.ts';
import type { Terminal } from '../../../../src/cli/process/process.ts';
import { CLIENT, writeClientFiles } from '../../../lab/client-files.ts';
import { openClientRequests } from '../../../lab/client-traffic.ts';
import { clockOf } from '../../../lab/process-clock.ts';
import { Patience } from '../../../lab/patience.ts';
import { VirtualTime } from '../../../lab/virtual-time.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import type { WorldSpec } from '../../../simulator/base/world-spec.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import { START_MS } from '../../../../test/support/builders.ts';

const STUCK_AFTER_MS = 20_000;

export interface RunningRecord {
  /** Sends SIGTERM and waits for the end. @returns the exit code. */
  stop(): Promise<number>;
  /** @returns the exit code of a command that ends by itself. */
  readonly ended: Promise<number>;
  readonly out: () => string;
  readonly err: () => string;
}

export class RecordedWorld {
  readonly clock: VirtualSimClock;
  readonly world: World;
  readonly dir: string;
  readonly #time: VirtualTime;

  private constructor(clock: VirtualSimClock, world: World, dir: string) {
    this.clock = clock;
    this.#time = new VirtualTime(clock, () => this.#isBusy());
    this.world = world;
    this.dir = dir;
  }

  static async start(spec: WorldSpec): Promise<RecordedWorld> {
    const clock = new VirtualSimClock(START_MS);
    const world = await startWorld({ spec, clock, client: CLIENT, token: 'only-known-to-this-simulation' });
    const dir = await mkdtemp(join(tmpdir(), 'recorded-world-'));
    await writeClientFiles(dir, world);
    return new RecordedWorld(clock, world, dir);
  }

  file(name: string): string {
    return join(this.dir, name);
  }

  /** Starts the command and waits until the first picture is on the disk. */
  async record(name: string, flags: readonly string[] = []): Promise<RunningRecord> {
    const terminal = aTerminal();
    const argv = ['--out', this.file(name), '--kubeconfig', join(this.dir, 'kubeconfig'), ...flags];
    const ended = run(argv, terminal, clockOf(this.clock));
    await terminal.begun(ended);
    const stop = (): Promise<number> => {
      terminal.signal();
      return ended;
    };
    return { ended, stop, out: terminal.printed, err: terminal.said };
  }

  /** Lets time pass in steps (milliseconds) until then, for a command that waits for Azure. */
  async until(holds: () => boolean, ended: Promise<number>, stepMs = 100): Promise<void> {
    let failed: unknown;
    ended.catch((thrown: unknown) => {
      failed = thrown;
    });
    for (const patience = new Patience(STUCK_AFTER_MS); !holds();) {
      if (failed !== undefined) throw failed;
      if (patience.isOver()) throw new Error('the condition does not come true');
      await this.advance(stepMs);
    }
  }

  advance(ms: number): Promise<void> {
    return this.#time.advance(ms);
  }

  async end(): Promise<void> {
    await this.world.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  #isBusy(): string | undefined {
    const { arm, cluster } = this.world;
    if (arm.pendingRequests() > 0) return 'ARM has not responded yet';
    // Time must not pass while the recorder writes.
    if (process.getActiveResourcesInfo().includes('FSReqPromise')) return 'the disk is busy';
    if (cluster.pendingRequests() > 0) return 'the API server has not responded yet';
    return openClientRequests() > 0 ? 'a request of the recorder is in flight' : undefined;
  }
}

export interface TestTerminal extends Terminal {
  readonly printed: () => string;
  readonly said: () => string;
  /** SIGTERM. */
  readonly signal: () => void;
  /** Resolves when the recording has begun. Time stands still until then: modules load and files open in real time. */
  readonly begun: (ended: Promise<number>) => Promise<void>;
}

export function aTerminal(env: Terminal['env'] = {}): TestTerminal {
  const [out, err]: [string[], string[]] = [[], []];
  const listeners = new Set<() => void>();
  return {
    env,
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    readFile: (path) => readFileSync(path, 'utf8'),
    readChunks: (path) => createReadStream(path),
    hostname: 'test',
    signals: {
      on: (_name, listener) => listeners.add(listener),
      off: (_name, listener) => listeners.delete(listener),
      exit: () => undefined,
    },
    printed: () => out.join(''),
    said: () => err.join(''),
    signal: () => [...listeners][0]?.(),
    begun: (ended) => untilBegun(() => err.join('').includes('Recording.'), ended),
  };
}

async function untilBegun(hasBegun: () => boolean, ended: Promise<number>): Promise<void> {
  const patience = new Patience(STUCK_AFTER_MS);
  let failed: unknown;
  ended.catch((thrown: unknown) => {
    failed = thrown;
  });
  while (!hasBegun()) {
    if (failed !== undefined) throw failed;
    if (patience.isOver()) throw new Error('the recording does not begin');
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
