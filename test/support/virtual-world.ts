/**
 * A whole world in virtual time: the simulated AKS cluster and the daemon, talking over loopback HTTPS with the real
 * clients, on one clock that moves only when the scenario says so. Time stands still while any request is on its way,
 * so a run depends on nothing but its seed.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { composeDaemon } from '../../src/cli/compose.ts';
import type { Daemon } from '../../src/cli/daemon.ts';
import { isConfigErrors, type Config } from '../../src/config/types/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { DecisionJournal } from '../../src/domain/ports/records.ts';
import type { LoopReport } from '../../src/domain/loop-report.ts';
import type { JournalEntry } from '../../src/simulator/arm/http/journal.ts';
import type { ArmKnobs } from '../../src/simulator/arm/state/latencies.ts';
import { VirtualSimClock } from '../../src/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../src/simulator/world.ts';
import type { WorldSpec } from '../../src/simulator/base/world-spec.ts';
import { createLog, silentLog, type Log } from '../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { START_MS } from './builders.ts';
import { forgetClientRequests, openClientRequests } from './client-traffic.ts';
import { MortalDoor, type Doom } from './mortal.ts';
import { clockOf, type ProcessFate } from './process-clock.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from './simulated-client.ts';

const TOKEN = 'only-known-to-this-simulation';

/** How long a world may take to come to rest before the harness calls it stuck, in real milliseconds. */
const STUCK_AFTER_MS = 20_000;
/** Rounds of the event loop without any sign of work that count as rest. */
const QUIET_ROUNDS = 25;

/** Waits until `isBusy` has been false for a few rounds of the event loop. Real sockets need real rounds, not sleeps. */
export async function atRest(isBusy: () => string | undefined): Promise<void> {
  const deadline = Date.now() + STUCK_AFTER_MS;
  for (let quiet = 0; quiet < QUIET_ROUNDS;) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const reason = isBusy();
    quiet = reason === undefined ? quiet + 1 : 0;
    if (Date.now() > deadline) throw new Error(`the world did not come to rest: ${reason ?? 'still settling'}`);
  }
}

export interface VirtualRunOptions {
  readonly spec: WorldSpec;
  /** Flags of the `run` command, for what the scenario wants different from the defaults. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What of the emulated Azure differs from the usual measure. */
  readonly knobs?: Partial<ArmKnobs>;
  /** Sees every decision when it is made, also those whose loop never ends. */
  readonly journal?: DecisionJournal;
  /** Sees every line that the daemon logs at level info and above, as a production process would write it. */
  readonly onLog?: (line: string) => void;
  /** At which of its calls the daemon dies. Default: at none. */
  readonly doom?: Doom;
}

function knobsOf({ knobs }: VirtualRunOptions): Pick<VirtualRunOptions, 'knobs'> {
  return knobs === undefined ? {} : { knobs };
}

/** A world with a daemon in it. Nothing happens in it except by `advance` and `until`. */
export class VirtualRun {
  readonly clock: VirtualSimClock;
  readonly world: World;
  readonly reports: LoopReport[] = [];
  readonly #dir: string;
  readonly #options: VirtualRunOptions;
  readonly #door: MortalDoor;
  #daemon: Daemon | undefined;
  #fate: ProcessFate = { skewMs: 0, dead: false };
  #metrics: Metrics = createMetrics();

  private constructor(parts: { clock: VirtualSimClock; world: World; door: MortalDoor; dir: string; options: VirtualRunOptions }) {
    this.clock = parts.clock;
    this.#door = parts.door;
    this.world = parts.world;
    this.#dir = parts.dir;
    this.#options = parts.options;
  }

  /** Starts the world, then the daemon, and lets both come to rest. */
  static async start(options: VirtualRunOptions): Promise<VirtualRun> {
    const clock = new VirtualSimClock(START_MS);
    let onDeath = (): void => undefined;
    const door = new MortalDoor(options.doom ?? (() => undefined), () => onDeath());
    const world = await startWorld({ spec: options.spec, clock, client: CLIENT, token: TOKEN, door, ...knobsOf(options) });
    const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-'));
    await writeClientFiles(dir, world);
    const run = new VirtualRun({ clock, world, door, dir, options });
    onDeath = () => run.killDaemon();
    await run.advance(60_000);
    await run.startDaemon();
    return run;
  }

  get daemon(): Daemon {
    if (this.#daemon === undefined) throw new Error('the daemon is not running');
    return this.#daemon;
  }

  get metrics(): Metrics {
    return this.#metrics;
  }

  /**
   * A new daemon process, as after a crash or an upgrade: nothing is remembered but what the world holds. `flags` come on top.
   * Also resolves when the daemon died on the way.
   */
  async startDaemon(flags: readonly string[] = []): Promise<void> {
    const config = this.configWith([...(this.#options.flags ?? []), ...flags]);
    this.#metrics = createMetrics();
    await this.#rest();
    forgetClientRequests();
    this.#door.reopen();
    const fate: ProcessFate = { skewMs: 0, dead: false, wakes: (waitedMs) => this.#door.wakes(waitedMs) };
    this.#fate = fate;
    const { journal } = this.#options;
    const composed = composeDaemon({
      config,
      clock: clockOf(this.clock, fate),
      random: seededRandom(this.world.spec.seed),
      log: this.#log(config),
      metrics: this.#metrics,
      ...(journal === undefined ? {} : { journal: { record: (entry) => (fate.dead ? undefined : journal.record(entry)) } }),
    });
    const daemon = await Promise.race([composed, this.#door.death()]);
    if (daemon === undefined) return;
    daemon.onLoop((report) => {
      if (!fate.dead) this.reports.push(report);
    });
    this.#daemon = daemon;
    await this.#drive(daemon.start(), fate);
  }

  /** A configuration for this world with these flags. */
  configWith(flags: readonly string[]): Config {
    const config = loadConfig({
      argv: [
        `--kubeconfig=${join(this.#dir, 'kubeconfig')}`,
        '--leader-elect=false',
        '--address=127.0.0.1:0',
        '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
        ...flags,
      ],
      env: { ...clientEnvironment(this.#dir, this.world), ...this.#options.env },
      readFile: (path) => readFileSync(path, 'utf8'),
    });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    return config;
  }

  #log({ dryRun }: Config): Log {
    const { onLog } = this.#options;
    return onLog === undefined ? silentLog() : createLog('info', { write: onLog }, clockOf(this.clock), { dryRun });
  }

  async stopDaemon(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    if (daemon !== undefined) await this.#drive(daemon.stop(), this.#fate);
  }

  /** The process is gone between two instants: it tidies nothing up, and what it waited for never reaches it. */
  killDaemon(): void {
    this.#fate.dead = true;
    this.#daemon = undefined;
    this.#door.close();
    this.world.arm.abandonParked();
  }

  /** How many calls the daemon made, in all its lives. */
  get calls(): number {
    return this.#door.calls;
  }

  get isRunning(): boolean {
    return this.#daemon !== undefined;
  }

  /** Sets the wall clock of the daemon's machine off by so much, until the next start. */
  skewDaemon(ms: number): void {
    this.#fate.skewMs = ms;
  }

  /** Lets `ms` of virtual time pass, event by event, with the network at rest before each; stops early when told to. */
  async advance(ms: number, stop: () => boolean = () => false): Promise<void> {
    const end = this.clock.now() + ms;
    await this.#rest();
    for (let next = this.clock.nextDueAt(); next !== undefined && next <= end; next = this.clock.nextDueAt()) {
      if (stop()) return;
      this.clock.advance(Math.max(0, next - this.clock.now()));
      await this.#rest();
    }
    if (stop()) return;
    this.clock.advance(Math.max(0, end - this.clock.now()));
  }

  /** Lets time pass until the condition holds; fails when it has not after `limitMs` of virtual time. */
  async until(what: string, condition: () => boolean, limitMs: number): Promise<void> {
    const end = this.clock.now() + limitMs;
    await this.#rest();
    while (!condition()) {
      const next = this.clock.nextDueAt();
      if (next === undefined || next > end) throw new Error(`after ${limitMs / 1000} s still not: ${what}`);
      this.clock.advance(Math.max(0, next - this.clock.now()));
      await this.#rest();
    }
  }

  /** Every write to Azure that the daemon made so far, oldest first. */
  writes(): readonly JournalEntry[] {
    return this.world.arm.control
      .journal()
      .filter((entry) => entry.principal === CLIENT.clientId && /^(PUT|POST|PATCH|DELETE)/.test(entry.route));
  }

  async stop(): Promise<void> {
    await this.stopDaemon();
    await this.world.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Waits for something the daemon does, letting time pass where it waits for time; gives up when it dies. */
  async #drive(work: Promise<unknown>, fate: ProcessFate): Promise<void> {
    let over = false;
    const watched = work.finally(() => {
      over = true;
    });
    watched.catch(() => undefined);
    for (;;) {
      await this.#rest();
      if (over) break;
      if (fate.dead) return;
      const next = this.clock.nextDueAt();
      if (next === undefined) throw new Error('the daemon waits, and nothing is due');
      this.clock.advance(Math.max(0, next - this.clock.now()));
    }
    await watched;
  }

  #rest(): Promise<void> {
    const { arm, cluster } = this.world;
    return atRest(() => {
      if (arm.pendingRequests() > 0) return 'ARM has not answered yet';
      if (cluster.pendingRequests() > 0) return 'the API server has not answered yet';
      if (openClientRequests() > this.#door.silenced) return 'a request of the daemon is on its way';
      // A call whose answer waits on the clock is helped by time alone.
      if ((this.#daemon?.cloud.inFlightCalls() ?? 0) > arm.parkedRequests()) return 'the daemon waits for ARM';
      return undefined;
    });
  }
}
