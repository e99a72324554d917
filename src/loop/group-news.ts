import type { Log } from '../telemetry/log.ts';
import type { LoopListener } from './report.ts';

/**
 * Says when a group begins to be left alone and why, and when that is over; and when there is no group at all. A name
 * misspelt in the configuration is such a group: without this line nobody would learn why its pods stay pending.
 */
export function groupNews(log: Log): LoopListener {
  let frozen: ReadonlySet<string> = new Set();
  let hadGroups: boolean | undefined;
  return ({ observation }) => {
    if (observation === undefined) return;
    const { groups } = observation.cloud;
    for (const { id, frozen: reason } of groups) {
      if (reason !== undefined && !frozen.has(id)) log.warn({ nodeGroup: id, reason }, 'a node group is left alone');
      if (reason === undefined && frozen.has(id)) log.info({ nodeGroup: id }, 'a node group is no longer left alone');
    }
    frozen = new Set(groups.filter((group) => group.frozen !== undefined).map(({ id }) => id));
    if (groups.length === 0 && hadGroups !== false) log.warn({}, 'there is no node group: none is named and no scale set has the tags');
    hadGroups = groups.length > 0;
  };
}
