/** The size that a scale set is meant to have, as far as Azure can be believed. Must not know who changes it. */
import type { Row, RowView } from '../../cache/table/row.ts';
import type { Instance, TargetSize } from '../../domain/node-group.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import type { InstanceMapper } from './instances.ts';

interface TargetDeps {
  readonly store: Pick<AzureInventory, 'changes' | 'lists' | 'reads'>;
  readonly options: Pick<AzureOptions, 'enableVmssEtag'>;
  readonly instances: Pick<InstanceMapper, 'serialOf'>;
}

/** Asks for a fresh read of a set that Azure shows as empty beside its instances. */
export function scaleSetTarget(
  deps: TargetDeps,
  { key }: RegisteredGroup,
  view: RowView<ScaleSetRow> | undefined,
  instances: readonly Instance[] | undefined,
): TargetSize {
  const { changes, lists, reads } = deps.store;
  if (view?.target === undefined || view.row.value.unreadable !== undefined) {
    return { known: false, reason: 'the scale set has not been read' };
  }
  const alive = instances?.filter(({ state }) => state !== 'deleting').length ?? 0;
  const isListNewer = (lists.listedAtMs(key) ?? 0) > view.seen.atMs;
  // Azure has been seen to return capacity 0 for sets with instances. One such reading is not used as a size.
  if (view.target === 0 && view.inFlight === 0 && alive > 0 && isListNewer) {
    reads.want({ what: 'size', group: key });
    return { known: false, reason: `Azure returned capacity 0, but lists ${alive} instances` };
  }
  // A previous leader may have started changes, so the size is not confirmed for removals. Increases start from the scale
  // set's model in any case.
  const confirmed = view.confirmed && !changes.isInherited(key);
  return { known: true, value: view.target, version: versionOf(view.row, deps), confirmed, observedAtMs: 0 };
}

/** The entity tag. Without conditional writes, or without a tag: a text that changes with every change of the row. */
function versionOf(row: Row<ScaleSetRow>, { options: { enableVmssEtag }, instances }: TargetDeps): string {
  return enableVmssEtag && row.etag !== undefined ? row.etag : `${row.etag ?? ''}#${instances.serialOf(row)}`;
}
