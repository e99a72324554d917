/** What drains do to the world: evictions, the least availability of each workload, pods without a node. Must not know the daemon. */
import type { PodObject } from '../../world/simulator/cluster/store/objects.ts';
import type { World } from '../../world/simulator/world.ts';
import { QUIET_PREFIX, type QuietWorkload } from './drain-content.ts';
import type { DrainFacts } from './world-orders.ts';

type Change = Parameters<Parameters<World['cluster']['onChange']>[0]>[0];

/** How available one workload is, and was at worst. */
class Availability {
  readonly workload: QuietWorkload;
  /** No pod may go while its budget is held. */
  atLeast: number;
  #available: number;
  #leastShare = 1;
  #mostBelow = 0;

  constructor(workload: QuietWorkload, available: number) {
    this.workload = workload;
    this.#available = available;
    this.atLeast = workload.released === undefined ? workload.atLeast : workload.replicas;
  }

  change(by: number): void {
    this.#available += by;
    this.#leastShare = Math.min(this.#leastShare, this.#available / this.workload.replicas);
    this.#mostBelow = Math.max(this.#mostBelow, this.atLeast - this.#available);
  }

  /** Of all its pods. */
  get leastShare(): number {
    return this.#leastShare;
  }

  /** Pods that were missing at worst, compared with what its budget demands. */
  get mostBelow(): number {
    return this.#mostBelow;
  }
}

/** Follows the quiet workloads of the world from its construction on. Owns its subscriptions. */
export class DrainFollower {
  readonly #world: World;
  readonly #startedAt = Date.now();
  readonly #byApp: ReadonlyMap<string, Availability>;
  readonly #stops: readonly (() => void)[];
  readonly #evictedAt: number[] = [];
  readonly #unplacedSince = new Map<string, number>();
  readonly #waits: number[] = [];
  #evictedAgain = 0;
  #refused = 0;
  #failed = 0;
  #nodesGone = 0;
  #nodesAdded = 0;
  #armCalls = 0;
  #armWrites = 0;
  #apiCalls = 0;

  constructor(world: World, workloads: readonly QuietWorkload[]) {
    this.#world = world;
    const available = new Map<string, number>();
    for (const pod of world.cluster.store.pods()) available.set(appOf(pod), (available.get(appOf(pod)) ?? 0) + availableOf(pod));
    this.#byApp = new Map(workloads.map((workload) => [workload.name, new Availability(workload, available.get(workload.name) ?? 0)]));
    this.#stops = [
      world.cluster.onChange((change) => this.#seeChange(change)),
      world.cluster.onRequest(({ resource, status }) => this.#seeRequest(resource === 'pods/eviction', status)),
      world.arm.control.onEntry(({ method, path, principal, status }) => {
        if (principal === '') return;
        this.#armCalls += 1;
        if (['PUT', 'POST', 'DELETE'].includes(method) && path.includes('/virtualMachineScaleSets/') && status < 300) this.#armWrites += 1;
      }),
    ];
  }

  get nodesGone(): number {
    return this.#nodesGone;
  }

  /** Budgets that allowed nothing allow what they are meant to from now on. */
  release(): void {
    for (const availability of this.#byApp.values()) {
      const { released, atLeast } = availability.workload;
      if (released === undefined) continue;
      availability.atLeast = atLeast;
      this.#world.cluster.apply(released);
    }
  }

  /** Ends the subscriptions. */
  facts(isDone: boolean): DrainFacts {
    for (const stop of this.#stops) stop();
    const [first = Number.NaN] = this.#evictedAt;
    const guarded = [...this.#byApp.values()].filter(({ workload }) => workload.atLeast > 0);
    return {
      firstEvictionMs: first - this.#startedAt,
      lastEvictionMs: (this.#evictedAt.at(-1) ?? Number.NaN) - this.#startedAt,
      doneMs: isDone ? Date.now() - this.#startedAt : Number.NaN,
      nodesGone: this.#nodesGone,
      nodesAdded: this.#nodesAdded,
      evicted: this.#evictedAt.length,
      evictedAgain: this.#evictedAgain,
      refused: this.#refused,
      failed: this.#failed,
      leastAvailable: Math.min(...guarded.map(({ leastShare }) => leastShare)),
      mostBelowBudget: Math.max(0, ...guarded.map(({ mostBelow }) => mostBelow)),
      unplaced: this.#waits.length + this.#unplacedSince.size,
      longestUnplacedMs: Math.max(0, ...this.#waits, ...[...this.#unplacedSince.values()].map((since) => Date.now() - since)),
      armCalls: this.#armCalls,
      armWrites: this.#armWrites,
      apiCalls: this.#apiCalls,
    };
  }

  #seeRequest(isEviction: boolean, status: number): void {
    this.#apiCalls += 1;
    if (!isEviction) return;
    if (status === 429) this.#refused += 1;
    else if (status >= 300 && status !== 404) this.#failed += 1;
  }

  #seeChange({ storage, type, object, previous }: Change): void {
    if (storage === 'nodes' && type === 'DELETED') this.#nodesGone += 1;
    if (storage === 'nodes' && type === 'ADDED') this.#nodesAdded += 1;
    if (storage !== 'pods' || object.metadata.namespace?.startsWith(QUIET_PREFIX) !== true) return;
    const [now, before] = [type === 'DELETED' ? undefined : (object as PodObject), previous as PodObject | undefined];
    const by = (now === undefined ? 0 : availableOf(now)) - (before === undefined ? 0 : availableOf(before));
    if (by !== 0) this.#byApp.get(appOf(object))?.change(by);
    if (object.metadata.deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined)
      this.#seeEnd(object as PodObject);
    this.#seePlace(object.metadata.uid, now);
  }

  #seeEnd(pod: PodObject): void {
    this.#evictedAt.push(Date.now());
    // It took the place of one that had to move, and its new node went, too.
    if (Date.parse(pod.metadata.creationTimestamp) > this.#startedAt) this.#evictedAgain += 1;
  }

  #seePlace(uid: string, pod: PodObject | undefined): void {
    const since = this.#unplacedSince.get(uid);
    const isUnplaced = pod?.status.conditions?.some(({ reason }) => reason === 'Unschedulable') === true && pod.spec.nodeName === undefined;
    if (isUnplaced && since === undefined) this.#unplacedSince.set(uid, Date.now());
    if (isUnplaced || since === undefined) return;
    this.#unplacedSince.delete(uid);
    this.#waits.push(Date.now() - since);
  }
}

function appOf({ metadata }: Pick<PodObject, 'metadata'>): string {
  return metadata.labels?.['app'] ?? '';
}

/** 1 if it counts for its budget, else 0. */
function availableOf({ metadata, status }: PodObject): 0 | 1 {
  const isReady = status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
  return metadata.deletionTimestamp === undefined && status.phase === 'Running' && isReady ? 1 : 0;
}
