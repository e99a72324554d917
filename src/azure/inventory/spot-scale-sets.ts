/**
 * Azure takes Spot machines away by itself, and a list of scale sets shows that late: what the list says of a Spot set's
 * size is replaced by a GET of the set. Reads have a period of their own. One that is longer than the lists' spares the GET
 * while the set's tag is the one that the last GET saw; one that is shorter reads between the lists, too.
 */
import type { CachingAgent } from '../../cache/agents/agent.ts';
import type { ListPage, ListedRow } from '../../cache/table/row.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { foldName } from '../arm/resource-ids.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions } from '../arm/options.ts';
import { projectScaleSet, type ScaleSetRow } from '../rows/scale-set.ts';

export interface SpotScaleSetsDeps {
  readonly options: Pick<AzureOptions, 'nodeResourceGroup' | 'spotSizeTtlMs' | 'vmssCacheTtlMs'>;
  readonly clients: Pick<ArmClients, 'compute'>;
  readonly calls: ArmCalls;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type Listed = ListedRow<ScaleSetRow>;

/** What the GETs of one process saw last. */
export class SpotScaleSets {
  readonly #parts: SpotScaleSetsDeps;
  readonly #read = new Map<string, { readonly etag: string; readonly atMs: number }>();

  constructor(parts: SpotScaleSetsDeps) {
    this.#parts = parts;
  }

  /**
   * The pages with the Spot sets as they are now. A set that is gone is left out; one that cannot be read stays as it was
   * listed, and the condition of a write protects it. Rejects only with `cancelled`.
   */
  async refreshPages(pages: readonly ListPage<ScaleSetRow>[], signal: AbortSignal): Promise<readonly ListPage<ScaleSetRow>[]> {
    const spot = pages.flatMap(({ rows }) => rows).filter((row) => row.value.priority === 'Spot' && !this.#isKnown(row));
    if (spot.length === 0) return pages;
    const read = new Map(await Promise.all(spot.map(async (row) => [row.key, await this.#readNow(row, signal)] as const)));
    const now = (row: Listed): readonly Listed[] => (read.has(row.key) ? (read.get(row.key) ?? []) : [row]);
    return pages.map((page) => ({ ...page, rows: page.rows.flatMap(now) }));
  }

  /** Equal tags mean equal sets. A period no longer than the lists' has passed at each of them. */
  #isKnown({ key, etag }: Listed): boolean {
    const { clock, options } = this.#parts;
    const periodMs = options.spotSizeTtlMs ?? 0;
    const last = this.#read.get(key);
    return periodMs > options.vmssCacheTtlMs && last !== undefined && last.etag === etag && clock.monotonic() - last.atMs < periodMs;
  }

  async #readNow(row: Listed, signal: AbortSignal): Promise<readonly Listed[]> {
    const { options, clients, calls, clock } = this.#parts;
    const { name } = row.value;
    const atMs = clock.monotonic();
    this.#read.delete(row.key);
    try {
      const raw = await calls.run({ operation: 'getScaleSet', resource: name }, signal, () =>
        clients.compute.virtualMachineScaleSets.get(options.nodeResourceGroup, name),
      );
      const value = projectScaleSet(raw);
      if (typeof raw.etag === 'string') this.#read.set(row.key, { etag: raw.etag, atMs });
      return value === undefined ? [row] : [{ key: foldName(value.name), value, etag: raw.etag ?? undefined }];
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return error.kind === 'not-found' ? [] : [row];
    }
  }
}

/** Whether Spot sets are to be read more often than lists are. */
export function readsBetweenLists({ spotSizeTtlMs = 0, vmssCacheTtlMs }: SpotScaleSetsDeps['options']): boolean {
  return spotSizeTtlMs > 0 && spotSizeTtlMs < vmssCacheTtlMs;
}

/** Asks for a GET of each Spot set, over and over. */
export function spotSizesAgent(id: string, { spotKeys, due, periodMs }: SpotReads): CachingAgent {
  return {
    id,
    kind: 'spotSizes',
    required: false,
    warm: false,
    order: 1,
    bucket: 'GetVMScaleSet',
    policy: {
      intervalMs: periodMs,
      jitter: { kind: 'spread', fraction: 0 },
      errorIntervalMs: periodMs,
      maxErrorIntervalMs: periodMs,
      timeoutMs: 30_000,
    },
    load: () =>
      Promise.resolve({
        commit: () => {
          const keys = spotKeys();
          for (const key of keys) due(key);
          return { rows: keys.length, added: 0, changed: 0, evicted: 0, rejected: 0, runAgain: false };
        },
      }),
  };
}

export interface SpotReads {
  readonly spotKeys: () => readonly string[];
  /** A GET of this set is due. */
  readonly due: (key: string) => void;
  readonly periodMs: number;
}
