/**
 * This cluster's share of the writes that Azure still accepts from all clusters of a subscription. When few are left, writes on which no pod
 * waits (deletions of nodes, counts of AKS) go within the share, or after a minute at most. What Azure reported to this process counts; the
 * store adds how many clusters there are, and counts of others where this process has none. An increase never asks here. Sends nothing.
 */
import type { DeletionBlock } from '../../domain/group-blocks.ts';
import type { HintCount } from '../../domain/ports/shared-hints.ts';
import type { Clock } from '../../lib/clock.ts';
import { OPERATIONS, type ArmOperation } from '../arm/call-list.ts';
import { GLOBAL_WRITES, LOW_FRACTION } from '../arm/rate-limits.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';
import type { RegisteredGroup } from './registry.ts';

/** Writes are counted over this time, and none is postponed for longer. */
const WINDOW_MS = 60_000;
/** As many as Azure gives one scale set in a minute: a share is never smaller, however many clusters there seem to be. */
const LEAST_SHARE = 4;
/** What Azure saves up for all clusters of a subscription and region, as Azure's CLI recorded it: the first report of a process may come late. */
const SAVED_UP: Readonly<Record<string, number>> = { VMScaleSetActions: 1_500, [GLOBAL_WRITES]: 3_000 };
const ASK_AGAIN_MS = 1_000;
/** A write that has not been asked for since then was given up. */
const GIVEN_UP_MS = 30_000;

interface WriteSharesDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Clusters that report themselves in the store, this one included. 1: none is known, so nothing is shared. */
  readonly clusters: () => number;
  /** What another cluster reported of a limit within the last minute. */
  readonly reported: (limit: string) => HintCount | undefined;
  /** From 0 to 1, different between resources: writes that waited together do not go in the same moment. */
  readonly phase: (resource: string) => number;
  /** A write begins to wait. */
  readonly onPostponed: (write: PostponableWrite, reason: DeletionBlock) => void;
}

export interface PostponableWrite {
  readonly operation: ArmOperation;
  /** The folded name of what is written: writes of one resource are joined into one call. */
  readonly resource: string;
}

interface Sent {
  readonly family: string;
  readonly resource: string;
  readonly atMs: number;
}

interface Waiting {
  /** Then it goes whatever is left. */
  readonly untilMs: number;
  readonly askedMs: number;
  readonly reason: DeletionBlock;
}

/** The resource that a deletion from the group writes. */
export function writtenKeyOf({ key, kind }: Pick<RegisteredGroup, 'key' | 'kind'>): string {
  return kind === 'vms-pool' ? poolKeyOf(key) : key;
}

export class WriteShares {
  readonly #deps: WriteSharesDeps;
  /** What Azure last reported to this process, by limit. */
  readonly #own = new Map<string, HintCount & { readonly atMs: number }>();
  #sent: readonly Sent[] = [];
  /** Writes that may go and have not left yet, by resource. */
  readonly #granted = new Map<string, Sent>();
  readonly #waiting = new Map<string, Waiting>();

  constructor(deps: WriteSharesDeps) {
    this.#deps = deps;
  }

  /** Azure reported how many writes of a family, or of all, it still accepts from all clusters. */
  noteRemaining(limit: string, count: HintCount): void {
    this.#own.set(limit, { ...count, atMs: this.#deps.clock.monotonic() });
  }

  /** A write is being sent. */
  noteWrite({ operation, resource }: PostponableWrite): void {
    const nowMs = this.#deps.clock.monotonic();
    this.#granted.delete(resource);
    this.#sent = [...this.#recent(this.#sent), { family: OPERATIONS[operation].family, resource, atMs: nowMs }];
  }

  /** Resolves when the write may go: at once, or after a minute at most. @throws AutoscalerError `cancelled` with the signal. */
  async untilGranted(write: PostponableWrite, signal: AbortSignal): Promise<void> {
    while (!this.request(write)) await this.#deps.clock.sleep(ASK_AGAIN_MS, signal);
  }

  /** Whether the write may go now. A caller that asks again later is granted it a minute after the first refusal at the latest. */
  request(write: PostponableWrite): boolean {
    const nowMs = this.#deps.clock.monotonic();
    const { operation, resource } = write;
    if (this.#isGranted(resource)) return true;
    const known = this.#waitingFor(resource);
    const reason = this.#reasonAgainst(OPERATIONS[operation].family);
    // guard: a write that can wait goes after a minute, whatever the store says
    if (reason === undefined || (known !== undefined && nowMs >= known.untilMs)) {
      this.#waiting.delete(resource);
      this.#granted.set(resource, { family: OPERATIONS[operation].family, resource, atMs: nowMs });
      return true;
    }
    if (known === undefined) this.#deps.onPostponed(write, reason);
    this.#waiting.set(resource, {
      untilMs: known?.untilMs ?? nowMs + this.#longestWaitMs(resource),
      askedMs: nowMs,
      reason: known?.reason ?? reason,
    });
    return false;
  }

  /** Why a write of the resource waits; the same value until it goes. undefined: none waits. */
  waitingReason(resource: string): DeletionBlock | undefined {
    return this.#waitingFor(resource)?.reason;
  }

  /** From half a minute to a minute. */
  #longestWaitMs(resource: string): number {
    return (WINDOW_MS * (1 + this.#deps.phase(resource))) / 2;
  }

  #waitingFor(resource: string): Waiting | undefined {
    const known = this.#waiting.get(resource);
    return known !== undefined && this.#deps.clock.monotonic() - known.askedMs < GIVEN_UP_MS ? known : undefined;
  }

  #isGranted(resource: string): boolean {
    const granted = this.#granted.get(resource);
    return granted !== undefined && this.#recent([granted]).length > 0;
  }

  #recent(writes: readonly Sent[]): readonly Sent[] {
    const nowMs = this.#deps.clock.monotonic();
    return writes.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
  }

  /** The first limit that leaves this cluster no further write of the family. */
  #reasonAgainst(family: string): DeletionBlock | undefined {
    const others = this.#deps.clusters() - 1;
    // guard: a cluster that shares with no other postpones nothing
    if (others < 1) return undefined;
    const writes = this.#recent([...this.#sent, ...this.#granted.values()]);
    for (const limit of [family, GLOBAL_WRITES]) {
      const used = limit === GLOBAL_WRITES ? writes.length : writes.filter((write) => write.family === family).length;
      const count = this.#remaining(limit);
      if (count === undefined || count.left >= Math.max(count.of, SAVED_UP[limit] ?? 0) * LOW_FRACTION) continue;
      // guard: a share of writes is never so small that a cluster cannot write
      if (used >= Math.max(LEAST_SHARE, count.left / (others + 1))) return { code: 'write-share', left: count.left, limit, others, used };
    }
    return undefined;
  }

  #remaining(limit: string): HintCount | undefined {
    const own = this.#own.get(limit);
    // guard: what Azure reported to this process decides how many writes are left
    return own !== undefined && this.#deps.clock.monotonic() - own.atMs < WINDOW_MS ? own : this.#deps.reported(limit);
  }
}
