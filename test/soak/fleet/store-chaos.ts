/**
 * `npm run soak -- --store-chaos N [--first SEED]`: clusters that share a real Redis server, which is killed, stopped, wiped, full and full of
 * lies at random, while pods come and go. Time is virtual for the clusters and real for the server, so two runs differ; what must hold
 * does not, although the clock of one of them is wrong: no unsafe write, no loop that waits, every pod with a node, every idle node gone, each trouble logged once.
 */
import { connectRedis } from '../../../src/cli/connect/redis-store.ts';
import type { ConnectedStore } from '../../../src/cli/connect/shared-texts.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { seededStreams, type Random } from '../../../src/lib/random.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { freePort } from '../../../world/simulator/real-control-plane/free-ports.ts';
import { hasRedis, RedisServer } from '../../support/redis-server.ts';
import { aPool, deployment, MINUTE, SECOND } from '../../scenarios/support.ts';
import { FleetRun, type FleetCluster } from './fleet-run.ts';
import { Liar } from './liar.ts';

const POOLS = [aPool({ name: 'web', count: 1 }), aPool({ name: 'big', vmSize: 'Standard_D16s_v5', count: 0 })];
const FLAGS = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=30s'];
const CHAOS_MS = 20 * MINUTE;
/** Pods must have nodes after the first, and idle nodes be gone after the second, although the store lies. Longer than a back-off. */
const GROW_MS = 7 * MINUTE;
const SHRINK_MS = 10 * MINUTE;
const MANY = 14;
const FEW = 3;
/** One of the system pool, and one for each pod. */
const MOST_NODES = 1 + FEW;
/** What a loop may wait for a store. Without a write, it waits for nothing else in virtual time. */
const LONGEST_WAIT_MS = 50;
/** The clock of the second cluster is ahead, as far as the store is concerned. */
const WITH_WRONG_CLOCK = 'c02';
const WRONG_BY_MS = 5 * MINUTE;
const SUBSCRIPTION = '11111111-2222-3333-4444-555555555555';

type Trouble = 'kill' | 'stop' | 'wipe' | 'full' | 'lie';
const TROUBLES: readonly Trouble[] = ['kill', 'stop', 'wipe', 'full', 'lie', 'lie'];

export async function runStoreChaos(clusters: number, seed: number, print: (line: string) => void): Promise<number> {
  if (!hasRedis) {
    print('skipped: there is no redis-server');
    return 0;
  }
  const chaos = await StoreChaos.start(clusters, seed);
  try {
    await chaos.live();
    const wrong = await chaos.judge();
    print(JSON.stringify({ clusters, seed, ...chaos.figures(), wrong }));
    return wrong.length > 0 ? 1 : 0;
  } finally {
    await chaos.stop();
  }
}

class StoreChaos {
  readonly #run: FleetRun;
  readonly #server: RedisServer;
  readonly #liar: Liar;
  readonly #random: Random;
  readonly #stores: ReadonlyMap<string, ConnectedStore>;
  readonly #logged: string[];
  readonly #counts: Record<Trouble, number> = { kill: 0, stop: 0, wipe: 0, full: 0, lie: 0 };
  #answers = true;

  private constructor(made: {
    readonly run: FleetRun;
    readonly server: RedisServer;
    readonly stores: ReadonlyMap<string, ConnectedStore>;
    readonly logged: string[];
    readonly seed: number;
  }) {
    this.#run = made.run;
    this.#server = made.server;
    this.#stores = made.stores;
    this.#logged = made.logged;
    this.#random = seededStreams(made.seed);
    this.#liar = new Liar(made.server.url, SUBSCRIPTION, made.run.clock);
  }

  static async start(clusters: number, seed: number): Promise<StoreChaos> {
    const server = new RedisServer(await freePort());
    await server.start();
    const stores = new Map<string, ConnectedStore>();
    const logged: string[] = [];
    const made: { chaos?: StoreChaos } = {};
    const run = await FleetRun.start({
      clusters,
      pools: POOLS,
      flags: FLAGS,
      storeOf: ({ name, config, clock, metrics }) => {
        const redis = { url: server.url, keyPrefix: 'soak' };
        const log = createLog('info', { write: (line) => void logged.push(`${name} ${line}`) }, clock);
        const scope = { subscriptionId: SUBSCRIPTION, location: 'westeurope' };
        const ownClock = name === WITH_WRONG_CLOCK ? { ...methodsOf(clock), now: () => clock.now() + WRONG_BY_MS } : clock;
        const store = connectRedis(
          { config: { ...config, azure: { ...config.azure, redis } }, scope, clock: ownClock, log, metrics },
          redis,
        );
        stores.set(name, store);
        return store;
      },
      isBusy: () => made.chaos?.waitsForServer(),
    });
    made.chaos = new StoreChaos({ run, server, stores, logged, seed });
    return made.chaos;
  }

  /** Time stands still while a server that works has not answered. */
  waitsForServer(): string | undefined {
    const isWaiting = this.#answers && [...this.#stores.values()].some((store) => store.inFlight() > 0);
    return isWaiting ? 'the store has not answered yet' : undefined;
  }

  async live(): Promise<void> {
    await this.#run.startDaemons();
    const endMs = this.#run.clock.now() + CHAOS_MS;
    while (this.#run.clock.now() < endMs) {
      for (const cluster of this.#run.clusters) if (this.#random() < 0.5) this.#scale(cluster);
      await this.#trouble(TROUBLES[Math.floor(this.#random() * TROUBLES.length)] ?? 'lie', (10 + 50 * this.#random()) * SECOND);
      await this.#run.advance((5 + 20 * this.#random()) * SECOND);
    }
  }

  /** Sentences about what is not as it must be, while the store lies all the time. */
  async judge(): Promise<readonly string[]> {
    for (const cluster of this.#run.clusters) this.#scale(cluster, MANY);
    await this.#lieFor(GROW_MS);
    const grown = this.#run.clusters.flatMap((cluster) => this.#unplaced(cluster, MANY));
    for (const cluster of this.#run.clusters) this.#scale(cluster, FEW);
    await this.#lieFor(SHRINK_MS);
    return [...grown, ...this.#run.clusters.flatMap((cluster) => [...this.#unplaced(cluster, FEW), ...this.#faults(cluster)])];
  }

  #unplaced({ name, world }: FleetCluster, wanted: number): readonly string[] {
    const placed = world.cluster.store.boundPods().filter((pod) => pod.metadata.labels?.['app'] === 'work').length;
    return placed === wanted ? [] : [`${name}: ${placed} of ${wanted} pods have a node`];
  }

  #faults({ name, world, loops }: FleetCluster): readonly string[] {
    const nodes = world.cluster.store.nodes().length;
    const waits = loops.filter(({ isIdle, durationMs }) => isIdle && durationMs > LONGEST_WAIT_MS).length;
    const failed = loops.filter(({ outcome }) => outcome !== 'completed').length;
    return [
      ...world.violations().map(({ rule }) => `${name}: ${rule}`),
      ...(nodes <= MOST_NODES ? [] : [`${name}: ${nodes} nodes are left, and ${MOST_NODES} suffice`]),
      ...(waits === 0 ? [] : [`${name}: ${waits} loops without a write took more than ${LONGEST_WAIT_MS} ms`]),
      ...(failed === 0 ? [] : [`${name}: ${failed} loops did not complete`]),
      ...this.#loggedTwice(name),
    ];
  }

  async #lieFor(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 5 * SECOND) {
      await this.#liar.lie(this.#random());
      await this.#run.advance(5 * SECOND);
    }
  }

  figures(): object {
    const { clock, clusters } = this.#run;
    return {
      ...this.#counts,
      loops: clusters.reduce((sum, { loops }) => sum + loops.length, 0),
      writes: clusters.reduce((sum, { calls }) => sum + calls.filter(({ method }) => method !== 'GET').length, 0),
      logLines: this.#logged.length,
      virtualMinutes: Math.round((clock.now() - (clusters[0]?.loops[0]?.endedAtMs ?? clock.now())) / MINUTE),
    };
  }

  async stop(): Promise<void> {
    this.#answers = false;
    this.#liar.stop();
    await this.#run.stop();
    await this.#server.stop();
  }

  /** Between two reports of trouble, the store worked. */
  #loggedTwice(name: string): readonly string[] {
    const lines = this.#logged.filter((line) => line.startsWith(`${name} `) && /Shared store c/.test(line));
    const isTrouble = (line: string | undefined): boolean => line?.includes('cannot be used') === true;
    return lines.some((line, at) => isTrouble(line) && isTrouble(lines[at + 1])) ? [`${name}: one trouble was logged twice`] : [];
  }

  #scale({ world }: FleetCluster, replicas = Math.floor(this.#random() * 12)): void {
    world.cluster.apply(deployment({ name: 'work', replicas, cpu: '2' }));
  }

  async #trouble(kind: Trouble, forMs: number): Promise<void> {
    this.#counts[kind]++;
    if (kind === 'wipe') return this.#liar.wipe();
    if (kind === 'lie') return this.#lieFor(forMs);
    await this.#begin(kind);
    await this.#run.advance(forMs);
    await this.#end(kind);
  }

  async #begin(kind: 'kill' | 'stop' | 'full'): Promise<void> {
    if (kind === 'full') return this.#liar.fill(true);
    this.#answers = false;
    if (kind === 'stop') this.#server.signal('SIGSTOP');
    else await this.#server.stop();
  }

  async #end(kind: 'kill' | 'stop' | 'full'): Promise<void> {
    if (kind === 'full') return this.#liar.fill(false);
    if (kind === 'stop') this.#server.signal('SIGCONT');
    else await this.#server.start();
    this.#answers = true;
  }
}

function methodsOf(clock: Clock): Clock {
  return { now: () => clock.now(), monotonic: () => clock.monotonic(), sleep: (ms, signal) => clock.sleep(ms, signal) };
}
