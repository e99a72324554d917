/** The pools of a cluster, from what Azure reports of them, else from their nodes; and the nodes that Azure took back. */
import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../../src/lib/defined.ts';
import type { LoadEvent, LoadPool } from '../loads/load.ts';
import type { ObservedLimits, ObservedNode } from './observed.ts';

/** AKS's limit of one pool: the maximum where nothing says it. */
const MOST_NODES = 1_000;

/** No change of a pool: nodes come and go, and the others are only described. */
const BESIDE = { count: 0, size: undefined, mode: undefined };

type PoolEvent = Extract<LoadEvent, { readonly kind: 'pool' | 'pool-removed' | 'spot-eviction' }>;

export class PoolWatch {
  readonly #nodes = new Map<string, ObservedNode>();
  /** By name; those of nodes have the size in their key. */
  readonly #pools = new Map<string, LoadPool>();
  /** Pools that Azure reports. */
  #reported: ReadonlyMap<string, LoadPool> | undefined;
  /** By pool, as an autoscaler publishes them. */
  readonly #limits = new Map<string, ObservedLimits>();
  #events: PoolEvent[] = [];
  #hasBegun = false;

  /** The pools at the start. `report` and `see` come before. */
  begin(): readonly LoadPool[] {
    for (const node of this.#nodes.values()) this.#learn(node, 0);
    this.#hasBegun = true;
    this.#events = [];
    return [...this.#pools.values()].map((pool) => ({ ...pool, count: this.#countOf(pool) }));
  }

  /** Goes on from the pools that the recording has, whose names may be hashed. `report` and `see` come before. */
  resume(recorded: readonly LoadPool[], atMs: number, hashed: (pool: LoadPool) => LoadPool): void {
    const before = new Map(recorded.map((pool) => [pool.name, pool]));
    for (const pool of this.begin()) {
      const known = before.get(hashed(pool).name);
      if (known === undefined || !isSame(known, hashed(pool))) this.#events.push({ kind: 'pool', atMs, pool });
    }
  }

  /** What Azure reports now, all of it. */
  report(pools: readonly LoadPool[], atMs: number): void {
    this.#reported = new Map(pools.map((pool) => [pool.name, pool]));
    for (const pool of pools) this.#set(pool, atMs);
    for (const name of this.#pools.keys()) if (!this.#reported.has(name) && !this.#hasNodes(name)) this.#remove(name, atMs);
  }

  /** What an autoscaler publishes. What Azure reports counts more. */
  limit(limits: readonly ObservedLimits[], atMs: number): void {
    for (const each of limits) {
      this.#limits.set(each.pool, each);
      const pool = this.#pools.get(each.pool);
      if (pool !== undefined && this.#reported?.has(each.pool) !== true) this.#set(this.#limited(pool), atMs);
    }
  }

  /** undefined: there was no such pool. */
  named(name: string): LoadPool | undefined {
    return this.#pools.get(name);
  }

  /** Pools with limits that are not known. */
  get unlimited(): readonly string[] {
    return [...this.#pools.values()].filter(({ limitsUnknown }) => limitsUnknown === true).map(({ name }) => name);
  }

  /** @returns whether it was not there before. */
  see(node: ObservedNode, atMs: number): boolean {
    const isNew = !this.#nodes.has(node.name);
    this.#nodes.set(node.name, node);
    if (this.#hasBegun) this.#learn(node, atMs);
    return isNew;
  }

  /** Azure evicted a Spot node that goes without being drained, or after it was announced. */
  forget(name: string, atMs: number): void {
    const node = this.#nodes.get(name);
    this.#nodes.delete(name);
    if (node === undefined || !node.isSpot || (node.isLeaving && !node.isPreempted)) return;
    this.#events.push({ kind: 'spot-eviction', atMs, pool: poolName(node, this.#pools), count: 1 });
  }

  /** Evictions of one moment are one event. */
  take(): readonly PoolEvent[] {
    const events: PoolEvent[] = [];
    for (const event of this.#events) {
      const last = events.at(-1);
      if (event.kind === 'spot-eviction' && last?.kind === 'spot-eviction' && last.pool === event.pool && last.atMs === event.atMs)
        events[events.length - 1] = { ...last, count: last.count + event.count };
      else events.push(event);
    }
    this.#events = [];
    return events;
  }

  #learn(node: ObservedNode, atMs: number): void {
    const name = poolName(node, this.#pools);
    const reported = this.#reported?.get(name);
    if (reported !== undefined) return this.#complete(reported, node);
    const { zones = [], ...pool } = this.#pools.get(name) ?? this.#limited(poolOf(node, name));
    const known = node.zone === undefined || zones.includes(node.zone) ? zones : [...zones, node.zone].toSorted();
    this.#set(known.length === 0 ? pool : { ...pool, zones: known }, atMs);
  }

  #limited(pool: LoadPool): LoadPool {
    const limits = this.#limits.get(pool.name);
    if (limits === undefined) return pool;
    const { limitsUnknown: _, ...known } = pool;
    return { ...known, min: limits.min, max: limits.max };
  }

  /** Azure's limits, with what only nodes show. That is no change of the pool. */
  #complete(pool: LoadPool, { size, mode }: ObservedNode): void {
    this.#pools.set(pool.name, { ...defined({ size, mode }), ...pool });
  }

  #set(pool: LoadPool, atMs: number): void {
    const before = this.#pools.get(pool.name);
    this.#pools.set(pool.name, pool);
    if (before === undefined || !isSame(before, pool)) this.#events.push({ kind: 'pool', atMs, pool });
  }

  #remove(name: string, atMs: number): void {
    this.#pools.delete(name);
    this.#events.push({ kind: 'pool-removed', atMs, pool: name });
  }

  #hasNodes(name: string): boolean {
    return [...this.#nodes.values()].some((node) => poolName(node, this.#pools) === name);
  }

  #countOf({ name }: LoadPool): number {
    return [...this.#nodes.values()].filter((node) => poolName(node, this.#pools) === name).length;
  }
}

/** A pool with several sizes is one pool for each size here. */
function poolName({ pool, vmSize }: ObservedNode, known: ReadonlyMap<string, LoadPool>): string {
  const first = known.get(pool);
  if (first === undefined || first.vmSize.toLowerCase() === vmSize.toLowerCase()) return pool;
  return `${pool}-${vmSize}`;
}

function isSame(left: LoadPool, right: LoadPool): boolean {
  return isDeepStrictEqual({ ...left, ...BESIDE }, { ...right, ...BESIDE });
}

function poolOf({ vmSize, size, isSpot, mode, kind, labels, taints }: ObservedNode, name: string): LoadPool {
  return {
    name,
    ...(kind === undefined ? {} : { kind }),
    vmSize,
    ...(size === undefined ? {} : { size }),
    count: 0,
    min: mode === 'System' ? 1 : 0,
    max: MOST_NODES,
    limitsUnknown: true,
    priority: isSpot ? 'Spot' : 'Regular',
    ...(mode === undefined ? {} : { mode }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(taints.length === 0 ? {} : { taints }),
  };
}
