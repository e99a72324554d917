/**
 * The package entry `aks-autoscaler/world`: a simulated AKS cluster for the tests of any program. It serves Azure Resource Manager and the
 * Kubernetes API over HTTPS on loopback, and offers what the test changes and looks at. Must not know the program under test.
 */
import { mkdir } from 'node:fs/promises';
import { defined } from '../../../src/lib/defined.ts';
import type { BackgroundActorOptions } from '../arm/faults/background-actors.ts';
import type { IncidentRequest } from '../arm/faults/raise-incident.ts';
import type { WorldEvent } from '../arm/faults/world-event.ts';
import type { JournalEntry as AzureRequest } from '../arm/http/journal.ts';
import type { Fault } from '../arm/state/fault-rules.ts';
import type { ArmLatencies } from '../arm/state/latencies.ts';
import { realSimClock, VirtualSimClock } from '../base/sim-clock.ts';
import type { PoolSpec, WorldSpec } from '../base/world-spec.ts';
import type { Violation } from '../base/write-safety.ts';
import type { KubeObject, NodeObject, ObjectDraft, PodObject } from '../cluster/store/objects.ts';
import { smallWorld } from '../sample-worlds.ts';
import { startWorld as startBothSides, type World } from '../world.ts';
import { clientVariables, type ClientFiles, writeClientFiles } from './client-files.ts';
import { podsOf, type PodsRequest } from './pod-drafts.ts';
import { poolStates, type PoolState } from './pool-states.ts';
import { createWorldClock, type WorldClock } from './world-clock.ts';

export type {
  AzureRequest,
  BackgroundActorOptions,
  ClientFiles,
  Fault,
  IncidentRequest,
  KubeObject,
  NodeObject,
  ObjectDraft,
  PodObject,
  PodsRequest,
  PoolSpec,
  PoolState,
  Violation,
  WorldClock,
  WorldEvent,
  WorldSpec,
};

export interface StartOptions {
  /** Default: a system pool, `general` (1 of 1 to 10 nodes) and `memory` (0 of 0 to 5 nodes). */
  readonly pools?: readonly PoolSpec[];
  /** Ids, names, stock, quota and the seed of the world that differ from the defaults. */
  readonly spec?: Partial<Omit<WorldSpec, 'pools'>>;
  /**
   * `speed`: real time, in which everything takes that many times less than in Azure (default: 10). `virtual`: time moves only by
   * `clock.advance`, from `startMs` (default: now).
   */
  readonly clock?: { readonly speed: number } | { readonly virtual: true; readonly startMs?: number };
  /** Latencies and limits of the emulated Azure that differ from the defaults. */
  readonly latencies?: Partial<ArmLatencies>;
  /** Background actors: Spot evictions, other writers, reconciliation. Default: none. */
  readonly actors?: BackgroundActorOptions;
  /** Whether AKS's own autoscaler is imitated over pools with `managedAutoscaler`. Default: false. */
  readonly managedAutoscaler?: boolean;
  /** Ports on loopback. Default: any free ones. */
  readonly ports?: { readonly azure?: number; readonly kubernetes?: number };
}

/** The application that clients sign in as. */
export const CREDENTIALS = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };
const TOKEN = 'only-known-to-this-simulation';

/** Starts a world. Stop it with `stop`, or the process does not end. @throws if a pool is invalid, or a port is taken. */
export async function startWorld(options: StartOptions = {}): Promise<RunningWorld> {
  const { pools, spec, clock: time = { speed: 10 }, latencies, actors, managedAutoscaler, ports = {} } = options;
  const clock = 'virtual' in time ? new VirtualSimClock(time.startMs ?? realSimClock(1).now()) : realSimClock(time.speed);
  const base = smallWorld(spec?.seed ?? 1);
  const world = await startBothSides({
    spec: { ...base, ...spec, ...defined({ pools }) },
    clock,
    client: CREDENTIALS,
    token: TOKEN,
    ...defined({ knobs: latencies, ambient: actors, managedAutoscaler, armPort: ports.azure, kubePort: ports.kubernetes }),
  });
  return new RunningWorld(world, createWorldClock(clock, world));
}

export class RunningWorld {
  readonly clock: WorldClock;
  /** Azure Resource Manager and the sign-in host, and the Kubernetes API. */
  readonly urls: { readonly azure: string; readonly kubernetes: string };
  /** The certificate authority of both. */
  readonly caPem: string;
  /** Bearer token of the Kubernetes API. */
  readonly token = TOKEN;
  readonly spec: WorldSpec;
  readonly #world: World;

  /** @internal */
  constructor(world: World, clock: WorldClock) {
    this.#world = world;
    this.clock = clock;
    this.spec = world.spec;
    this.caPem = world.caPem;
    this.urls = { azure: world.arm.url, kubernetes: world.cluster.url };
  }

  /** With the CA and the token inline. */
  kubeconfig(): string {
    return this.#world.cluster.kubeconfig();
  }

  /** Writes what clients read: kubeconfig, azure.json, azure-environment.json, ca.pem, and env, a shell script with the variables. */
  async writeFiles(dir: string): Promise<ClientFiles> {
    await mkdir(dir, { recursive: true });
    return writeClientFiles(dir, await this.#clientSource());
  }

  /** The environment of a client process, for files written to `dir`. */
  async environment(dir: string): Promise<Readonly<Record<string, string>>> {
    return clientVariables(dir, await this.#clientSource());
  }

  pools(): readonly PoolState[] {
    return poolStates(this.#world);
  }

  /** @throws if there is no such pool. */
  pool(name: string): PoolState {
    const found = this.pools().find((pool) => pool.name === name);
    if (found === undefined)
      throw new Error(
        `There is no pool ${name}; pools: ${this.pools()
          .map((pool) => pool.name)
          .join(', ')}.`,
      );
    return found;
  }

  nodes(): readonly NodeObject[] {
    return this.#world.cluster.store.nodes();
  }

  pods(): { readonly pending: readonly PodObject[]; readonly bound: readonly PodObject[] } {
    const { store } = this.#world.cluster;
    return { pending: store.pendingPods(), bound: store.boundPods() };
  }

  /** Creates the object, or replaces the one with that name. @throws if the API server refuses it. */
  apply(object: ObjectDraft): KubeObject {
    return this.#world.cluster.apply(object);
  }

  /** Deletes an object with the default options of a client. @throws if the API server refuses it. */
  remove(object: ObjectDraft): void {
    this.#world.cluster.remove(object);
  }

  /** Creates a Deployment. */
  addPods(request: PodsRequest): KubeObject {
    return this.apply(podsOf(request));
  }

  /** The objects of a kind by its plural, such as `events`. */
  objects(plural: string): readonly KubeObject[] {
    return this.#world.cluster.store.list(plural);
  }

  /** A rule for requests, or for the creation or removal of VMs; `removeFault` with its id ends it. */
  addFault(fault: Fault): void {
    this.#world.arm.control.addFault(fault);
  }

  /** An incident of the catalogue by its number; `removeFault` with its id ends it. @throws if it cannot happen here. */
  addIncident(incident: IncidentRequest): void {
    throwIfWrong(this.#world.arm.control.addCatalogued(incident));
  }

  /** @returns whether there was one with that id. */
  removeFault(id: string): boolean {
    return this.#world.arm.control.removeFault(id);
  }

  /** Something happens in Azure: an eviction, another writer, an upgrade. @throws if it cannot happen here. */
  raise(event: WorldEvent): void {
    throwIfWrong(this.#world.arm.control.raise(event));
  }

  /** VMs of a size in stock. Zone `0` is regional. */
  setStock(vmSize: string, count: number, zone = '0'): void {
    this.#world.arm.control.setStock(vmSize, zone, count);
  }

  /** vCPUs of a family, or of `cores` or `lowPriorityCores`. */
  setQuota(name: string, limit: number): void {
    this.#world.arm.control.setQuota(name, limit);
  }

  /** Requests to Azure and its own changes (method `EVENT`), oldest first, from the one after `seq`. Only the last ones are kept. */
  journal(seq = 0): readonly AzureRequest[] {
    return this.#world.arm.control.journal(seq);
  }

  /** Writes that could have lost another writer's change, or removed what runs. */
  violations(): readonly Violation[] {
    return this.#world.violations();
  }

  /** @throws with one line for each violation. */
  assertSafe(): void {
    const found = this.violations();
    if (found.length > 0)
      throw new Error(`The world saw ${found.length} unsafe writes:\n${found.map((each) => JSON.stringify(each)).join('\n')}`);
  }

  /**
   * Waits until the condition holds, and checks it about once a second of the world. In virtual time it moves the clock.
   * @throws if it does not hold within `withinMs` milliseconds of the world (default: 10 minutes), with the state of the pools.
   */
  async until(condition: (world: RunningWorld) => boolean, { withinMs = 600_000, what = 'The condition' } = {}): Promise<void> {
    const deadline = this.clock.simulatedMs() + withinMs;
    while (!condition(this)) {
      if (this.clock.simulatedMs() >= deadline)
        throw new Error(`${what} did not hold within ${withinMs} ms of the world. ${this.#describe()}`);
      await this.clock.advance(1000);
    }
  }

  async stop(): Promise<void> {
    await this.#world.stop();
  }

  #describe(): string {
    const { pending, bound } = this.pods();
    const pools = this.pools().map(({ name, capacity, ready, min, max }) => `${name} ${ready} ready of ${capacity} (${min} to ${max})`);
    return `Pods: ${pending.length} pending, ${bound.length} bound. Pools: ${pools.join('; ')}.`;
  }

  async #clientSource() {
    const { spec, caPem, arm } = this.#world;
    return { spec, caPem, azureUrl: arm.url, metadataUrl: await arm.startMetadata(), kubeconfig: this.kubeconfig(), client: CREDENTIALS };
  }
}

function throwIfWrong(wrong: string | undefined): void {
  if (wrong !== undefined) throw new Error(`This cannot happen in this world: ${wrong}.`);
}
