/**
 * A list of all VMs of a resource group has no instance views. Without one, a failed instance looks like a good node whose last
 * update failed, and a deallocated one like a running one. So the few that failed, or whose nodes are silent, are read one by one.
 */
import type { Table } from '../../cache/table/table.ts';
import type { ListPage, ListedRow } from '../../cache/table/row.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { ArmCalls } from '../arm/arm-client.ts';
import type { ArmClients } from '../arm/sdk-clients.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { ForeignItems } from '../rows/foreign-items.ts';
import { instanceKeyOf, projectVm, type InstanceRow } from '../rows/scale-set.ts';
import { INSTANCES } from '../rows/tables.ts';

/** If more are unclear, the others are read with the next list. */
const MOST_VIEWS = 20;

export interface InstanceViewDeps {
  readonly options: Pick<AzureOptions, 'nodeResourceGroup'>;
  readonly clients: Pick<ArmClients, 'compute'>;
  readonly calls: ArmCalls;
  readonly foreign: Pick<ForeignItems, 'countRead'>;
  readonly instances: Pick<Table<InstanceRow>, 'get'>;
}

/** The instances that are unclear, by folded key. `turn` grows with each list, so that each of many is read every few lists. */
interface Unclear {
  readonly keys: ReadonlySet<string>;
  readonly turn: number;
}

/** The pages, with the unclear instances read again with their views. Rejects only with `cancelled`. */
export async function withViews(
  deps: InstanceViewDeps,
  pages: readonly ListPage<InstanceRow>[],
  { keys, turn }: Unclear,
  signal: AbortSignal,
): Promise<readonly ListPage<InstanceRow>[]> {
  const listed = pages.flatMap(({ rows }) => rows).filter(({ key }) => keys.has(key));
  const first = listed.length > MOST_VIEWS ? (turn * MOST_VIEWS) % listed.length : 0;
  const inTurn = [...listed.slice(first), ...listed.slice(0, first)].slice(0, MOST_VIEWS);
  const values = await Promise.all(inTurn.map((row) => readView(deps, row, signal)));
  const viewed = new Map(values.flatMap((value) => (value === undefined ? [] : [[value.ref.key as string, value]])));
  const better = (row: ListedRow<InstanceRow>): ListedRow<InstanceRow> => ({ ...row, value: viewed.get(row.key) ?? asKnown(deps, row) });
  return listed.length === 0 ? pages : pages.map((page) => ({ ...page, rows: page.rows.map(better) }));
}

/** A list, which shows no power, does not undo what a view showed of the same VM. */
function asKnown({ instances }: InstanceViewDeps, { key, value }: ListedRow<InstanceRow>): InstanceRow {
  const known = instances.get(key)?.value;
  const isStopped = known?.state === 'deallocated' && known.vmId === value.vmId && value.state === 'running';
  return isStopped ? { ...value, state: 'deallocated' } : value;
}

/** undefined: the VM could not be read, so the listed row stays. */
async function readView({ options, clients, calls, foreign }: InstanceViewDeps, row: ListedRow<InstanceRow>, signal: AbortSignal) {
  const name = row.value.instanceId;
  try {
    const raw = await calls.run({ operation: 'getVm', resource: name }, signal, () =>
      clients.compute.virtualMachines.get(options.nodeResourceGroup, name, { expand: 'instanceView' }),
    );
    const isAnother = instanceKeyOf(raw) !== row.key;
    foreign.countRead(INSTANCES.name, row.key, isAnother);
    return isAnother ? undefined : projectVm(raw, row.value.group);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind === 'cancelled') throw error;
    return undefined;
  }
}
