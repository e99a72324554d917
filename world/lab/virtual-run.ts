/**
 * One run of a program in a simulated AKS cluster, in virtual time: world and daemon talk over loopback HTTPS with the real
 * clients, on one clock that moves only when the caller says so. Time stands still while a request is in flight, so a run
 * depends on nothing but its seed. Must not know how a daemon is composed: the composition root hands the program in.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoopReport } from '../../src/domain/loop-report.ts';
import type { DecisionJournal } from '../../src/domain/ports/records.ts';
import { defined } from '../../src/lib/defined.ts';
import { seededStreams } from '../../src/lib/random.ts';
import type { JournalEntry } from '../simulator/arm/http/journal.ts';
import type { ArmLatencies } from '../simulator/arm/state/latencies.ts';
import { VirtualSimClock } from '../simulator/base/sim-clock.ts';
import type { WorldSpec } from '../simulator/base/world-spec.ts';
import { startWorld, type World } from '../simulator/world.ts';
import type { InstantListener } from '../simulator/world-hash.ts';
import { Arrivals } from './arrivals.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from './client-files.ts';
import { forgetClientRequests, openClientRequests } from './client-traffic.ts';
import { MortalProcess, type CrashPlan } from './mortal-process.ts';
import { clockOf, type ProcessState } from './process-clock.ts';
import type { DrivenDaemon, Program } from './program.ts';
import { VirtualTime } from './virtual-time.ts';

const TOKEN = 'only-known-to-this-simulation';
/** The world's time before the daemon starts, in milliseconds. The first nodes join in that time. */
const WARM_UP_MS = 60_000;
const WRITE = /^(PUT|POST|PATCH|DELETE)/;

export interface VirtualRunInput {
  readonly spec: WorldSpec;
  /** When the run begins, milliseconds since the epoch. */
  readonly startMs: number;
  /** Flags of the `run` command that differ from the defaults. */
  readonly flags?: readonly string[];
  /** Discovery rules, as of the flag. If absent, the sets with the tags of a sample world. */
  readonly discovery?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Latencies of the emulated Azure that differ from the usual ones. */
  readonly knobs?: Partial<ArmLatencies>;
  /** Whether AKS's own autoscaler is imitated over the pools that have it on. Default: it does nothing. */
  readonly managedAutoscaler?: boolean;
  /** Receives every decision when it is made, including those of a loop that never ends. */
  readonly journal?: DecisionJournal;
  /** Receives every line that the daemon logs at level info and above. */
  readonly onLog?: (line: string) => void;
  /** Decides at which of its calls the daemon dies. If absent, it does not die. */
  readonly crashPlan?: CrashPlan;
  /** The number of last reports in memory. If absent, all are kept: each holds an observation. */
  readonly reportsKept?: number;
  /** Called with what happened in the world in each instant, to find where two runs differ. */
  readonly onInstant?: InstantListener;
}

/** A world with a daemon in it. Time passes only in `advance` and `until`. */
export class VirtualRun<Config, Daemon extends DrivenDaemon, Metrics> {
  readonly clock: VirtualSimClock;
  readonly world: World;
  readonly reports: LoopReport[] = [];
  readonly #writes: JournalEntry[] = [];
  #loops = 0;
  readonly #program: Program<Config, Daemon, Metrics>;
  readonly #dir: string;
  readonly #input: VirtualRunInput;
  readonly #process: MortalProcess;
  readonly #arrivals: Arrivals;
  readonly #time: VirtualTime;
  #daemon: Daemon | undefined;
  /** Daemons on the same world beside the first. */
  readonly #beside: Daemon[] = [];
  #state: ProcessState = { skewMs: 0, dead: false };
  #metrics: Metrics | undefined;

  private constructor(
    program: Program<Config, Daemon, Metrics>,
    input: VirtualRunInput,
    made: { readonly clock: VirtualSimClock; readonly world: World; readonly process: MortalProcess; readonly dir: string },
  ) {
    this.#program = program;
    this.#input = input;
    this.clock = made.clock;
    this.world = made.world;
    this.#process = made.process;
    this.#dir = made.dir;
    this.#arrivals = new Arrivals(made.world.cluster);
    this.#time = new VirtualTime(made.clock, () => this.#isBusy());
    this.world.arm.control.onEntry((entry) => {
      if (entry.principal === CLIENT.clientId && WRITE.test(entry.route)) this.#writes.push(entry);
    });
  }

  /** Starts the world, then the daemon, and waits until both are quiet. */
  static async start<Config, Daemon extends DrivenDaemon, Metrics>(
    program: Program<Config, Daemon, Metrics>,
    input: VirtualRunInput,
  ): Promise<VirtualRun<Config, Daemon, Metrics>> {
    const clock = new VirtualSimClock(input.startMs);
    let onDeath = (): void => undefined;
    const process = new MortalProcess(input.crashPlan ?? (() => undefined), () => onDeath());
    const { spec, knobs, onInstant, managedAutoscaler } = input;
    const optional = defined({ knobs, onInstant, managedAutoscaler });
    const world = await startWorld({ spec, clock, client: CLIENT, token: TOKEN, requestFilter: process, ...optional });
    const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-'));
    await writeClientFiles(dir, world);
    const run = new VirtualRun(program, input, { clock, world, process, dir });
    onDeath = () => run.killDaemon();
    await run.advance(WARM_UP_MS);
    await run.startDaemon();
    return run;
  }

  get daemon(): Daemon {
    if (this.#daemon === undefined) throw new Error('the daemon is not running');
    return this.#daemon;
  }

  /** Metrics of the process that was started last. */
  get metrics(): Metrics {
    if (this.#metrics === undefined) throw new Error('no daemon has been started');
    return this.#metrics;
  }

  /**
   * Starts a new daemon process, as after a crash or an upgrade. It only knows the state of the world. `flags` are added. Also
   * resolves if the daemon dies during the start.
   */
  async startDaemon(flags: readonly string[] = []): Promise<void> {
    await this.#time.rest();
    forgetClientRequests();
    this.#process.restart();
    const state: ProcessState = { skewMs: 0, dead: false, onWaitEnd: (waitedMs) => this.#process.endWait(waitedMs) };
    this.#state = state;
    const { metrics, composed } = this.#launch(flags, state);
    this.#metrics = metrics;
    // The program waits for time before it is composed, too: a first call that was cut is tried again.
    const daemon = await this.#time.drive('the composition of the daemon', Promise.race([composed, this.#process.died()]), state);
    if (daemon === undefined) return;
    daemon.onLoop((report) => {
      if (!state.dead) this.#keep(report);
    });
    this.#daemon = daemon;
    await this.#time.drive('the start of the daemon', daemon.start(), state);
  }

  /**
   * Starts another daemon on the same world, as after a mistaken installation. It has the run's flags and these, and ends with the run. It
   * does not die, and its reports are not collected.
   */
  async startBeside(flags: readonly string[] = []): Promise<void> {
    await this.#time.rest();
    const state: ProcessState = { skewMs: 0, dead: false };
    const daemon = await this.#time.drive('the composition of another daemon', this.#launch(flags, state).composed, state);
    if (daemon === undefined) return;
    this.#beside.push(daemon);
    await this.#time.drive('the start of another daemon', daemon.start(), state);
  }

  /** Starts another replica, which stands by: its start ends once it leads. It needs an identity of its own; else as `startBeside`. */
  async startStandby(flags: readonly string[]): Promise<void> {
    await this.#time.rest();
    const state: ProcessState = { skewMs: 0, dead: false };
    const daemon = await this.#time.drive('the composition of a standby', this.#launch(flags, state).composed, state);
    if (daemon === undefined) return;
    this.#beside.push(daemon);
    // A start that fails shows in the world: no replica leads.
    daemon.start().catch(() => undefined);
    await this.#time.rest();
  }

  #launch(flags: readonly string[], state: ProcessState): ReturnType<Program<Config, Daemon, Metrics>['launch']> {
    const config = this.configWith([...(this.#input.flags ?? []), ...flags]);
    const { journal, onLog } = this.#input;
    return this.#program.launch({
      config,
      clock: clockOf(this.clock, state),
      random: seededStreams(this.world.spec.seed),
      ...(journal === undefined ? {} : { journal: { record: (entry) => (state.dead ? undefined : journal.record(entry)) } }),
      ...defined({ onLog }),
    });
  }

  /** A configuration for this world with these flags. */
  configWith(flags: readonly string[]): Config {
    const { discovery = ['label:cluster-autoscaler-enabled=true'] } = this.#input;
    const common = [
      `--kubeconfig=${join(this.#dir, 'kubeconfig')}`,
      '--leader-elect=false',
      '--address=127.0.0.1:0',
      ...discovery.map((rule) => `--node-group-auto-discovery=${rule}`),
    ];
    return this.#program.configure([...common, ...flags], { ...clientEnvironment(this.#dir, this.world), ...this.#input.env });
  }

  async stopDaemon(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    if (daemon !== undefined) await this.#time.drive('the stop of the daemon', daemon.stop(), this.#state);
  }

  /** Ends the process between two instants: it cleans nothing up, and its waits never end. */
  killDaemon(): void {
    this.#state.dead = true;
    this.#daemon = undefined;
    this.#process.dropRequests();
    this.world.arm.dropDelayedResponses();
  }

  /** Number of calls of the daemon in all its lives. */
  get calls(): number {
    return this.#process.calls;
  }

  get isRunning(): boolean {
    return this.#daemon !== undefined;
  }

  /** Offsets the wall clock of the daemon's process by this much, until the next start. */
  skewDaemon(ms: number): void {
    this.#state.skewMs = ms;
  }

  /**
   * Lets `ms` of virtual time pass, event by event, with the network quiet before each event. Stops early if `stop` returns true.
   */
  advance(ms: number, stop?: () => boolean): Promise<void> {
    return this.#time.advance(ms, stop);
  }

  /** Lets time pass until the condition holds. Fails if it does not hold after `limitMs` of virtual time. */
  until(what: string, condition: () => boolean, limitMs: number): Promise<void> {
    return this.#time.until(what, condition, limitMs);
  }

  /** All writes of the daemon to Azure, oldest first. */
  writes(): readonly JournalEntry[] {
    return [...this.#writes];
  }

  /** Number of loops that ended, in all lives of the daemon. */
  get loops(): number {
    return this.#loops;
  }

  async stop(): Promise<void> {
    await this.stopDaemon();
    for (const daemon of this.#beside.splice(0)) await this.#time.drive('the stop of another daemon', daemon.stop(), this.#state);
    await this.world.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  #keep(report: LoopReport): void {
    const { reportsKept } = this.#input;
    this.#loops++;
    this.reports.push(report);
    if (reportsKept !== undefined && this.reports.length > reportsKept) this.reports.splice(0, this.reports.length - reportsKept);
  }

  #isBusy(): string | undefined {
    const { arm, cluster } = this.world;
    if (arm.pendingRequests() > 0) return 'ARM has not responded yet';
    if (cluster.pendingRequests() > 0) return 'the API server has not responded yet';
    if (openClientRequests() > this.#process.unansweredRequests) return 'a request of the daemon is in flight';
    if (this.#arrivals.arePending()) return 'the daemon has not received what the API server sent';
    // Only time completes a call whose response is delayed by the clock.
    const daemons = this.#daemon === undefined ? this.#beside : [this.#daemon, ...this.#beside];
    if (daemons.reduce((sum, { cloud }) => sum + cloud.inFlightCalls(), 0) > arm.delayedRequests()) return 'the daemon waits for ARM';
    return undefined;
  }
}
