/** What went wrong, as lines of a recording: refusals of Azure, VMs without nodes, nodes that were not ready. */
import { defined } from '../../../src/lib/defined.ts';
import type { LoadEvent, LoadPool, RefusalCause } from '../loads/load.ts';
import { NodeOutages } from './node-outages.ts';
import type { ObservedNode, ObservedRefusal } from './observed.ts';
import { RefusalSpans, type RefusalSpan } from './refusal-spans.ts';

/** Refusals that end together. */
type Scope =
  | {
      readonly key: string;
      readonly why: 'stock';
      readonly vmSize: string;
      readonly priority: 'Regular' | 'Spot';
      readonly zone: string | undefined;
      readonly code: string | undefined;
    }
  | { readonly key: string; readonly why: RefusalCause; readonly pool: string };

/** Times of the lines count from the start of the recording. */
interface FaultWatchInput {
  /** undefined: no such pool was seen. */
  readonly poolNamed: (name: string) => LoadPool | undefined;
  /** Milliseconds since the epoch to those of the recording. */
  readonly relative: (atMs: number) => number;
  readonly startMs: number;
}

export interface FaultCounts {
  /** Moments at which Azure refused. */
  readonly refusals: number;
  readonly nodeFailures: number;
}

/** Times of all arguments are milliseconds since the epoch. */
export class FaultWatch {
  readonly #input: FaultWatchInput;
  readonly #spans = new RefusalSpans<Scope>();
  readonly #outages = new NodeOutages();
  readonly #known = new Set<string>();
  /** Pools of refusals that no node and no reader of Azure has shown. */
  readonly #unknownPools = new Set<string>();
  /** VMs that never became nodes. */
  #withoutNodes: LoadEvent[] = [];
  #refusals = 0;
  #nodeFailures = 0;

  constructor(input: FaultWatchInput) {
    this.#input = input;
  }

  get counts(): FaultCounts {
    return { refusals: this.#refusals, nodeFailures: this.#nodeFailures };
  }

  get unknownPools(): readonly string[] {
    return [...this.#unknownPools].toSorted();
  }

  /** Sources repeat themselves: one moment counts once. */
  refuse(refusal: ObservedRefusal): void {
    const { atMs, pool: name, why } = refusal;
    const identity = `${why} ${name} ${refusal.zone ?? ''} ${atMs}`;
    if (atMs < this.#input.startMs || this.#known.has(identity)) return;
    this.#known.add(identity);
    const pool = this.#input.poolNamed(name);
    if (pool === undefined) return void this.#unknownPools.add(name);
    this.#refusals++;
    if (why !== 'no-node') return this.#spans.refuse(scopeOf(why, refusal, pool), atMs);
    const { count = 1 } = refusal;
    this.#withoutNodes.push({ kind: 'failure', atMs: this.#input.relative(atMs), pool: pool.name, how: 'no-node', count });
  }

  /** `isNew`: it joined now. */
  seeNode(node: ObservedNode, nowMs: number, isNew: boolean): void {
    this.#outages.see(node, nowMs);
    if (isNew) this.#spans.join((scope) => isProof(node, scope), node.createdAtMs);
  }

  forgetNode(name: string): void {
    this.#outages.forget(name);
  }

  take(nowMs: number): readonly LoadEvent[] {
    return this.#lines(this.#spans.take(nowMs), this.#outages.take());
  }

  end(nowMs: number): readonly LoadEvent[] {
    return this.#lines(this.#spans.end(nowMs), this.#outages.end(nowMs));
  }

  #lines(spans: readonly RefusalSpan<Scope>[], outages: ReturnType<NodeOutages['take']>): readonly LoadEvent[] {
    const withoutNodes = this.#withoutNodes;
    this.#withoutNodes = [];
    this.#nodeFailures += outages.length;
    const { relative } = this.#input;
    const failures = outages.map(({ pool, fromMs, untilMs }): LoadEvent => {
      const forMs = untilMs === undefined ? undefined : relative(untilMs) - relative(fromMs);
      return { kind: 'node-failure', atMs: relative(fromMs), pool, ...defined({ forMs }) };
    });
    return [...withoutNodes, ...failures, ...spans.flatMap((span) => this.#linesOfSpan(span))];
  }

  #linesOfSpan({ scope, fromMs, untilMs }: RefusalSpan<Scope>): readonly LoadEvent[] {
    const [atMs, endMs] = [this.#input.relative(fromMs), this.#input.relative(untilMs)];
    if (scope.why !== 'stock') return [{ kind: 'refusal', atMs, pool: scope.pool, why: scope.why, forMs: endMs - atMs }];
    const { vmSize, priority, zone, code } = scope;
    const place = { vmSize, ...defined({ zone }), priority };
    return [
      { kind: 'stock', atMs, ...place, count: 0, ...defined({ code }) },
      { kind: 'stock', atMs: endMs, ...place, count: null },
    ];
  }
}

/** A pool in one zone has its refusals there, although Azure does not say so. */
function scopeOf(
  why: Scope['why'],
  { zone: said, code }: ObservedRefusal,
  { name, vmSize, zones = [], priority = 'Regular' }: LoadPool,
): Scope {
  if (why !== 'stock') return { key: `${why} ${name}`, why, pool: name };
  const zone = said ?? (zones.length === 1 ? zones[0] : undefined);
  return { key: `stock ${vmSize} ${zone ?? ''} ${priority}`.toLowerCase(), why, vmSize, priority, zone, code };
}

function isProof({ pool, vmSize, zone, isSpot }: ObservedNode, scope: Scope): boolean {
  if (scope.why !== 'stock') return scope.pool === pool;
  const isSame = scope.vmSize.toLowerCase() === vmSize.toLowerCase() && (scope.priority === 'Spot') === isSpot;
  return isSame && (scope.zone === undefined || scope.zone === zone);
}
