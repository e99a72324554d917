/**
 * Azure evicts Spot instances, and a list of scale sets shows that late. So a GET of each Spot set replaces what the list shows of its
 * size. These reads have an interval of their own. If it is longer than the lists', a set with an unchanged tag is not read again.
 * If it is shorter, sets are also read between the lists.
 */
import { replacedRows, type CachingAgent } from '../../cache/agents/agent.ts';
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

/** The last GETs of Spot scale sets by this process. */
export class SpotScaleSets {
  readonly #deps: SpotScaleSetsDeps;
  readonly #read = new Map<string, { readonly etag: string; readonly atMs: number }>();

  constructor(deps: SpotScaleSetsDeps) {
    this.#deps = deps;
  }

  /**
   * The pages, with the Spot sets read again. A set that is gone is left out. One that cannot be read stays as listed, and the
   * condition of a write protects it. Rejects only with `cancelled`.
   */
  async refreshPages(pages: readonly ListPage<ScaleSetRow>[], signal: AbortSignal): Promise<readonly ListPage<ScaleSetRow>[]> {
    const spot = pages.flatMap(({ rows }) => rows).filter((row) => row.value.priority === 'Spot' && !this.#isKnown(row));
    if (spot.length === 0) return pages;
    const read = new Map(await Promise.all(spot.map(async (row) => [row.key, await this.#readNow(row, signal)] as const)));
    const now = (row: Listed): readonly Listed[] => (read.has(row.key) ? (read.get(row.key) ?? []) : [row]);
    return pages.map((page) => ({ ...page, rows: page.rows.flatMap(now) }));
  }

  /** Equal tags mean equal sets. An interval no longer than the lists' has passed at each list. */
  #isKnown({ key, etag }: Listed): boolean {
    const { clock, options } = this.#deps;
    const periodMs = options.spotSizeTtlMs;
    const last = this.#read.get(key);
    return periodMs > options.vmssCacheTtlMs && last !== undefined && last.etag === etag && clock.monotonic() - last.atMs < periodMs;
  }

  async #readNow(row: Listed, signal: AbortSignal): Promise<readonly Listed[]> {
    const { options, clients, calls, clock } = this.#deps;
    const { name } = row.value;
    const atMs = clock.monotonic();
    this.#read.delete(row.key);
    try {
      const raw = await calls.run({ operation: 'getScaleSet', resource: name }, signal, () =>
        clients.compute.virtualMachineScaleSets.get(options.nodeResourceGroup, name),
      );
      const value = projectScaleSet(raw);
      if (typeof raw.etag === 'string') this.#read.set(row.key, { etag: raw.etag, atMs });
      return value === undefined || foldName(value.name) !== row.key ? [row] : [{ key: row.key, value, etag: raw.etag ?? undefined }];
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      if (error.kind === 'cancelled') throw error;
      return error.kind === 'not-found' ? [] : [row];
    }
  }
}

/** Whether Spot sets are read more often than lists. */
export function readsBetweenLists({ spotSizeTtlMs, vmssCacheTtlMs }: SpotScaleSetsDeps['options']): boolean {
  return spotSizeTtlMs > 0 && spotSizeTtlMs < vmssCacheTtlMs;
}

/** Requests a GET of each Spot set in every interval. */
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
      requestedRate: undefined,
    },
    rest: undefined,
    load: () =>
      Promise.resolve({
        commit: () => {
          const keys = spotKeys();
          for (const key of keys) due(key);
          return replacedRows(keys.length, 0);
        },
        error: undefined,
      }),
  };
}

export interface SpotReads {
  readonly spotKeys: () => readonly string[];
  /** Requests a GET of this set. */
  readonly due: (key: string) => void;
  readonly periodMs: number;
}
