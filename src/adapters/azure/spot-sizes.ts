/**
 * Azure takes Spot machines away by itself, and a list of scale sets shows that late: what the list says of a Spot set's
 * size is replaced by a GET of the set, with every list. Costs one small read per Spot set and list.
 */
import type { ListPage, ListedRow } from '../../cache/row.ts';
import { asAutoscalerError } from '../../domain/errors.ts';
import { foldName } from './arm-ids.ts';
import type { ArmCalls } from './arm-calls.ts';
import type { ArmClients } from './clients.ts';
import type { AzureOptions } from './options.ts';
import { projectScaleSet, type ScaleSetRow } from './rows.ts';

export interface SpotParts {
  readonly options: Pick<AzureOptions, 'nodeResourceGroup'>;
  readonly clients: Pick<ArmClients, 'compute'>;
  readonly calls: ArmCalls;
}

type Listed = ListedRow<ScaleSetRow>;

/**
 * The pages with the Spot sets as they are now. A set that is gone is left out; one that cannot be read stays as it was
 * listed, and the condition of a write protects it. Rejects only with `cancelled`.
 */
export async function withSpotSizes(
  parts: SpotParts,
  pages: readonly ListPage<ScaleSetRow>[],
  signal: AbortSignal,
): Promise<readonly ListPage<ScaleSetRow>[]> {
  const spot = pages.flatMap(({ rows }) => rows).filter(({ value }) => value.priority === 'Spot');
  if (spot.length === 0) return pages;
  const read = new Map(await Promise.all(spot.map(async (row) => [row.key, await readNow(parts, row, signal)] as const)));
  const now = (row: Listed): readonly Listed[] => (read.has(row.key) ? (read.get(row.key) ?? []) : [row]);
  return pages.map((page) => ({ ...page, rows: page.rows.flatMap(now) }));
}

async function readNow({ options, clients, calls }: SpotParts, row: Listed, signal: AbortSignal): Promise<readonly Listed[]> {
  const { name } = row.value;
  try {
    const raw = await calls.run({ operation: 'getScaleSet', resource: name }, signal, () =>
      clients.compute.virtualMachineScaleSets.get(options.nodeResourceGroup, name),
    );
    const value = projectScaleSet(raw);
    return value === undefined ? [row] : [{ key: foldName(value.name), value, etag: raw.etag }];
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return error.kind === 'not-found' ? [] : [row];
  }
}
