/**
 * Applies a load to a simulated world on the world's clock: workloads appear, follow their replicas and end, and Azure does what the
 * load says. Must not know which autoscaler runs, nor how it is judged.
 */
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';
import type { World } from '../../simulator/world.ts';
import type { LoadEvent, Scenario, Workload } from '../loads/load.ts';
import { AzureFaults } from './azure-faults.ts';
import { JobRuns } from './job-runs.ts';
import { OrdinalPods } from './owned-pods.ts';
import { azureZone, poolSpecOf } from './scenario-world.ts';
import { budgetObject, controllerObject, namespaceObject } from './workload-objects.ts';

/** AKS refuses a change of a pool while another one runs. */
const RETRY_POOL_AFTER_MS = 60_000;

export class LoadDriver {
  readonly jobs: JobRuns;
  /** What could not be applied, each once, as sentences. */
  readonly problems = new Set<string>();
  readonly #world: World;
  readonly #scenario: Scenario;
  readonly #ordinals: OrdinalPods;
  readonly #faults: AzureFaults;
  readonly #workloads: Map<string, Workload>;
  readonly #replicas = new Map<string, number>();
  /** Ids of workloads that the world has without the load. */
  readonly #ofWorld = new Set<string>();
  #startMs = 0;
  #next = 0;
  #stopped = false;

  constructor(world: World, scenario: Scenario) {
    this.#world = world;
    this.#scenario = scenario;
    this.jobs = new JobRuns(world.cluster, world.clock);
    this.#ordinals = new OrdinalPods(world.cluster, world.clock);
    this.#faults = new AzureFaults(world, scenario);
    this.#workloads = new Map(scenario.workloads.map((workload) => [workload.id, workload]));
    world.cluster.onChange((change) => this.#note(change));
  }

  /** Creates what is there from the start, and applies each event at its time from now on. */
  start(): void {
    const { cluster, clock } = this.#world;
    const namespaces = new Set(this.#scenario.workloads.map(({ namespace }) => namespace));
    for (const name of namespaces) if (cluster.store.get('namespaces', undefined, name) === undefined) cluster.apply(namespaceObject(name));
    for (const workload of this.#scenario.workloads) if (this.#isOfWorld(workload)) this.#ofWorld.add(workload.id);
    for (const workload of this.#scenario.workloads) this.#introduce(workload);
    this.#startMs = clock.now();
    this.#applyDue();
  }

  /** No further event is applied. Jobs and sets are not replaced any more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Simulated milliseconds since the start. */
  #elapsedMs(): number {
    const { clock } = this.#world;
    return (clock.now() - this.#startMs) * clock.speed;
  }

  /** AKS's own workloads that the simulated cluster has already, such as kube-proxy. */
  #isOfWorld({ kind, namespace, name }: Workload): boolean {
    return namespace === 'kube-system' && this.#world.cluster.store.get(`${kind.toLowerCase()}s`, namespace, name) !== undefined;
  }

  #introduce(workload: Workload): void {
    if (this.#ofWorld.has(workload.id)) return;
    const budget = budgetObject(workload);
    if (budget !== undefined) this.#world.cluster.apply(budget);
    if (workload.kind === 'DaemonSet') this.#world.cluster.apply(controllerObject(workload, 0));
  }

  #applyDue(): void {
    const { events } = this.#scenario;
    if (this.#stopped) return;
    for (let event = events[this.#next]; event !== undefined && event.atMs <= this.#elapsedMs(); event = events[++this.#next])
      this.#tryApply(event);
    const next = events[this.#next];
    if (next !== undefined) this.#world.clock.after(next.atMs - this.#elapsedMs(), () => this.#applyDue());
  }

  /** A load of another cluster may hold what this world refuses: it is reported, and the rest goes on. */
  #tryApply(event: LoadEvent): void {
    try {
      this.#apply(event);
    } catch (error) {
      if (!(error instanceof AutoscalerError)) throw error;
      this.problems.add(`${event.kind} of ${subjectOf(event)}: ${error.message}`);
    }
  }

  #apply(event: LoadEvent): void {
    switch (event.kind) {
      case 'replicas':
        return this.#scale(event.workload, event.count);
      case 'run':
        return this.jobs.start(this.#workload(event.workload), event.runMs, event.count ?? 1);
      case 'template':
        this.#workloads.set(event.workload, { ...this.#workload(event.workload), pod: event.pod });
        return this.#scale(event.workload, this.#replicas.get(event.workload) ?? 0);
      default:
        return this.#applyToAzure(event);
    }
  }

  #applyToAzure(event: Exclude<LoadEvent, { readonly workload: string }>): void {
    const { control } = this.#world.arm;
    switch (event.kind) {
      case 'spot-eviction':
        return this.#raise(event, () => control.raise({ evict: { pool: event.pool, count: event.count } }));
      case 'zone-outage':
        return this.#raise(event, () => control.raise({ zoneDown: { zone: azureZone(event.zone), forMs: event.forMs } }));
      case 'stock':
      case 'failure':
      case 'refusal':
      case 'node-failure':
        return this.#reportProblem(event, this.#faults.apply(event));
      case 'pool':
        return this.#changePool(event);
      case 'pool-removed':
        return this.#raise(event, () => control.raise({ removePool: { pool: event.pool } }));
    }
  }

  #workload(id: string): Workload {
    const found = this.#workloads.get(id);
    if (found === undefined) throw new AutoscalerError({ kind: 'bug' }, `The load has no workload ${id}.`);
    return found;
  }

  #scale(id: string, count: number): void {
    const workload = this.#workload(id);
    this.#replicas.set(id, count);
    if (this.#ofWorld.has(id)) return;
    if (workload.kind === 'StatefulSet' || workload.kind === 'Pod') this.#ordinals.scale(workload, count);
    else if (workload.kind !== 'Job') this.#world.cluster.apply(controllerObject(workload, count));
  }

  /** A new pool is created. Of a known pool, the minimum and maximum change: other settings of a pool cannot change in Azure. */
  #changePool(event: Extract<LoadEvent, { readonly kind: 'pool' }>): void {
    const { control } = this.#world.arm;
    const { name, min, max } = event.pool;
    const isKnown = control.state().agentPools.some((pool) => pool.name === name);
    const tags = { min: String(min), max: String(max) };
    this.#raise(event, () => control.raise(isKnown ? { retag: { pool: name, tags } } : { addPool: poolSpecOf(event.pool) }));
  }

  /** Tries again later if the pool is busy. */
  #raise(event: LoadEvent, attempt: () => string | undefined, attempts = 30): void {
    const wrong = attempt();
    if (wrong === undefined) return;
    if (attempts === 0) this.#reportProblem(event, wrong);
    else if (!this.#stopped) this.#world.clock.after(RETRY_POOL_AFTER_MS, () => this.#raise(event, attempt, attempts - 1));
  }

  #reportProblem(event: LoadEvent, wrong: string | undefined): void {
    if (wrong !== undefined) this.problems.add(`${event.kind} of ${subjectOf(event)}: ${wrong}`);
  }

  #note(change: StoreChange): void {
    if (change.storage !== 'pods' || this.#stopped) return;
    this.jobs.note(change);
    this.#ordinals.note(change);
  }
}

function subjectOf(event: LoadEvent): string {
  if ('workload' in event) return `workload ${event.workload}`;
  if (event.kind === 'stock') return event.vmSize;
  if (event.kind === 'zone-outage') return `zone ${event.zone}`;
  return `pool ${typeof event.pool === 'string' ? event.pool : event.pool.name}`;
}
