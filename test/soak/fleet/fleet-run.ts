/**
 * Clusters of one subscription in one process and in virtual time: a world and a daemon each, on one clock, with Azure's limits, stock and
 * usages in common. What the daemons share beside Azure is handed in. Nothing here decides what is good.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { composeDaemon } from '../../../src/cli/compose.ts';
import { NO_STORE, type ConnectedStore } from '../../../src/cli/connect/shared-texts.ts';
import type { Daemon } from '../../../src/cli/daemon.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors, type Config } from '../../../src/config/types/config.ts';
import type { LoopReport } from '../../../src/domain/loop-report.ts';
import { clientEnvironment, writeClientFiles } from '../../../world/lab/client-files.ts';
import { openClientRequests } from '../../../world/lab/client-traffic.ts';
import { clockOf, type ProcessState } from '../../../world/lab/process-clock.ts';
import { VirtualTime } from '../../../world/lab/virtual-time.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { seededStreams } from '../../../src/lib/random.ts';
import { createSubscription } from '../../../world/simulator/arm/emulator.ts';
import type { JournalEntry } from '../../../world/simulator/arm/http/journal.ts';
import type { Subscription } from '../../../world/simulator/arm/state/arm-state.ts';
import type { PoolSpec } from '../../../world/simulator/base/world-spec.ts';
import { VirtualSimClock } from '../../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../world/simulator/world.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { worldOf } from '../../scenarios/support.ts';

const TOKEN = 'only-known-to-this-simulation';
const WARM_UP_MS = 60_000;
/** More than there are clusters. */
const SEEDS_APART = 1_000;

export interface FleetOptions {
  readonly clusters: number;
  /** If absent, 1. */
  readonly seed?: number;
  /** Of each cluster, beside its system pool. */
  readonly pools: readonly PoolSpec[];
  /** Further pools of the cluster with this number. */
  readonly poolsOf?: (at: number) => readonly PoolSpec[];
  /** `size/zone` -> VMs that the region has left for all of them. */
  readonly stock?: Readonly<Record<string, number>>;
  /** What a new process shares with the others. undefined: nothing. */
  readonly storeOf?: (process: StoreClient) => ConnectedStore;
  /** Flags of every daemon. */
  readonly flags?: readonly string[];
  /** Further reasons why the world is not at rest. */
  readonly isBusy?: () => string | undefined;
}

/** A process that gets its part of a store. */
interface StoreClient {
  /** The cluster. */
  readonly name: string;
  readonly simClock: VirtualSimClock;
  readonly config: Config;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: (line: string) => void;
}

/** One cluster, with the daemon in it. */
export interface FleetCluster {
  readonly name: string;
  readonly world: World;
  /** What the daemon asked of Azure, oldest first. */
  readonly calls: readonly JournalEntry[];
  readonly loops: readonly LoopFacts[];
  readonly lines: readonly string[];
  daemon: Daemon | undefined;
  /** Of the process that was started last. */
  state: ProcessState;
}

/** What is kept of a loop: a report holds an observation. */
interface LoopFacts {
  readonly endedAtMs: number;
  readonly durationMs: number;
  readonly outcome: LoopReport['outcome'];
  /** It wrote nothing to Azure and removed nothing. */
  readonly isIdle: boolean;
}

export class FleetRun {
  readonly clock = new VirtualSimClock(START_MS);
  readonly clusters: FleetCluster[] = [];
  readonly subscription: Subscription;
  readonly #options: FleetOptions;
  readonly #time = new VirtualTime(this.clock, () => this.#isBusy());
  #dir = '';

  private constructor(options: FleetOptions) {
    this.#options = options;
    this.subscription = createSubscription(this.clock, options.stock ?? {});
  }

  /** Starts the worlds and waits until their first nodes are there. No daemon runs yet. */
  static async start(options: FleetOptions): Promise<FleetRun> {
    const run = new FleetRun(options);
    run.#dir = await mkdtemp(join(tmpdir(), 'aks-fleet-'));
    for (let at = 0; at < options.clusters; at++) run.clusters.push(await run.#cluster(at));
    await run.advance(WARM_UP_MS);
    return run;
  }

  /** Starts a daemon in each cluster, a second after each other. */
  async startDaemons(): Promise<void> {
    for (const cluster of this.clusters) {
      await this.startDaemon(cluster);
      await this.advance(1_000);
    }
  }

  async startDaemon(cluster: FleetCluster): Promise<void> {
    const config = this.#configOf(cluster);
    const state: ProcessState = { skewMs: 0, dead: false };
    const clock = clockOf(this.clock, state);
    const metrics = createMetrics();
    const lines = cluster.lines as string[];
    const write = (line: string): void => void lines.push(line);
    const sharedStore =
      this.#options.storeOf?.({ name: cluster.name, simClock: this.clock, config, clock, metrics, log: write }) ?? NO_STORE;
    const log = createLog('info', { write }, clock, { dryRun: false });
    const random = seededStreams(cluster.world.spec.seed);
    const composed = composeDaemon({ config, clock, random, log, metrics, tokensFollowClock: true, sharedStore });
    const daemon = await this.#time.drive(`the composition of ${cluster.name}`, composed, state);
    if (daemon === undefined) return;
    daemon.onLoop(({ startedAtMs, durationMs, outcome, rounds, removed, scaleDown }) => {
      const isIdle =
        rounds.every(({ increases }) => increases.length === 0) && removed.length === 0 && (scaleDown?.removals.length ?? 0) === 0;
      (cluster.loops as LoopFacts[]).push({ endedAtMs: startedAtMs + durationMs, durationMs, outcome, isIdle });
    });
    cluster.daemon = daemon;
    cluster.state = state;
    await this.#time.drive(`the start of ${cluster.name}`, daemon.start(), state);
  }

  async stopDaemon(cluster: FleetCluster): Promise<void> {
    const { daemon } = cluster;
    cluster.daemon = undefined;
    if (daemon !== undefined) await this.#time.drive(`the stop of ${cluster.name}`, daemon.stop(), cluster.state);
  }

  /** Lets `ms` of virtual time pass, event by event. */
  advance(ms: number, stop?: () => boolean): Promise<void> {
    return this.#time.advance(ms, stop);
  }

  async stop(): Promise<void> {
    for (const cluster of this.clusters) await this.stopDaemon(cluster);
    for (const { world } of this.clusters) await world.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #cluster(at: number): Promise<FleetCluster> {
    const name = `c${String(at + 1).padStart(2, '0')}`;
    const spec = worldOf([...this.#options.pools, ...(this.#options.poolsOf?.(at) ?? [])], {
      seed: ((this.#options.seed ?? 1) - 1) * SEEDS_APART + at + 1,
      clusterName: name,
      clusterResourceGroup: `rg-${name}`,
      nodeResourceGroup: `MC_rg-${name}_${name}_westeurope`,
    });
    const { clock, subscription } = this;
    const world = await startWorld({ spec, clock, client: clientOf(name), token: TOKEN, subscription });
    const dir = join(this.#dir, name);
    await mkdir(dir);
    await writeClientFiles(dir, world);
    const calls: JournalEntry[] = [];
    world.arm.control.onEntry((entry) => {
      if (entry.principal === clientOf(name).clientId) calls.push(entry);
    });
    return { name, world, calls, loops: [], lines: [], daemon: undefined, state: { skewMs: 0, dead: false } };
  }

  #configOf({ name, world }: FleetCluster): Config {
    const dir = join(this.#dir, name);
    const argv = [
      `--kubeconfig=${join(dir, 'kubeconfig')}`,
      '--leader-elect=false',
      '--address=127.0.0.1:0',
      '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
      ...(this.#options.flags ?? []),
    ];
    const env = clientEnvironment(dir, world, clientOf(name));
    const config = loadConfig({ argv, env, readFile: (path) => readFileSync(path, 'utf8') });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    return config;
  }

  #isBusy(): string | undefined {
    if (openClientRequests() > 0) return 'a request of a daemon is in flight';
    for (const { world, daemon } of this.clusters) {
      if (world.arm.pendingRequests() > 0) return 'ARM has not responded yet';
      if (world.cluster.pendingRequests() > 0) return 'an API server has not responded yet';
      if ((daemon?.cloud.inFlightCalls() ?? 0) > world.arm.delayedRequests()) return 'a daemon waits for ARM';
    }
    return this.#options.isBusy?.();
  }
}

function clientOf(name: string): { readonly clientId: string; readonly clientSecret: string } {
  return { clientId: `aaaaaaaa-0000-0000-0000-${name.padStart(12, '0')}`, clientSecret: `only-known-to-${name}` };
}
