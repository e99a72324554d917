/** What is checked of instances before a deletion: their identity, their state, and the minimum of their group. */
import type { Row } from '../../cache/table/row.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import type { WriteDeps } from '../writes/write-context.ts';

/** Whether the key now names another instance. An identity that was unknown before the read does not count as another. */
export function isAnother(before: string, now: string): boolean {
  // guard: an instance that has the number of another is not deleted
  return before !== '' && now !== '' && before !== now;
}

/** Whether the instance is not known to be leaving, nor stopped in a group that stops instances. */
export function isStaying({ inventory, stopped }: Pick<WriteDeps, 'inventory' | 'stopped'>, row: Row<InstanceRow>): boolean {
  const { key, value } = row;
  if (value.state === 'deleting' || inventory.instances.removalOf(key) === 'under-way') return false;
  if (stopped.ruleOf(value.group)?.kind !== 'stops') return true;
  const state = stopped.stateOf(row);
  return state !== 'stopped' && state !== 'stopping';
}

/** Azure refuses a whole batch because of one instance protected from actions. Deleting a working instance is a scale-in. */
export function isGuarded({ protectedFrom, state }: InstanceRow): boolean {
  return protectedFrom === 'actions' || (protectedFrom === 'scale-in' && state !== 'failed');
}

interface PlannedRemoval {
  /** The least that the size may be, our changes included. */
  readonly size: number;
  /** All listed instances that stay for now, `going` included. */
  readonly listed: readonly Row<InstanceRow>[];
  readonly going: readonly Row<InstanceRow>[];
  readonly min: number;
}

/**
 * Why a deletion would go below the minimum; undefined: it would not. Three counts must reach the minimum afterwards:
 * - The size, since Azure replaces nothing above it.
 * - The listed instances. While a deletion of ours is in progress, the size is only expected, and the list shows first what
 *   others deleted.
 * - The instances that have not failed, if the deletion includes one of them. A failed instance offers no capacity, so it must
 *   not stand in for a healthy one. A deletion of failed instances alone removes no capacity, so it stays possible.
 */
export function minimumBreach({ size, listed, going, min }: PlannedRemoval): string | undefined {
  const breach = (of: number, noun: string): string => `removing ${going.length} of ${of} ${noun} would go below its minimum of ${min}`;
  if (listed.length - going.length < min) return breach(listed.length, 'instances that stay');
  if (size - going.length < min) return breach(size, 'instances');
  const healthyGoing = going.filter(isHealthy).length;
  const healthy = listed.filter(isHealthy).length;
  if (healthyGoing === 0 || healthy - healthyGoing >= min) return undefined;
  return `removing ${healthyGoing} of ${healthy} instances that have not failed would go below its minimum of ${min}`;
}

function isHealthy({ value }: Row<InstanceRow>): boolean {
  return value.state !== 'failed';
}
