/** What removals of a group do with the hours of AKS, by the configuration. Pure. */
import type { MaintenanceUse } from '../../domain/schedule-rules.ts';
import type { GroupSelection } from '../arm/options.ts';
import { foldName } from '../arm/resource-ids.ts';

/** `namesOf`: all names of the group, that of its pool last. Asked only if the answer depends on the group. */
export function maintenanceUseOf({ schedules, nodeGroupOptions = [] }: GroupSelection, namesOf: () => readonly string[]): MaintenanceUse {
  const stated = nodeGroupOptions.filter(({ options }) => options.maintenance !== undefined);
  const names = stated.length === 0 ? [] : namesOf().map(foldName);
  const own = names.flatMap((name) => stated.find((entry) => foldName(entry.name) === name)?.options.maintenance ?? []);
  return own[0] ?? schedules?.maintenance ?? 'ignore';
}
