import type { NodeGroupId } from '../domain/ids.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { CloudEvent } from '../domain/observation.ts';
import type { Log } from '../telemetry/log.ts';
import type { LoopListener } from './report.ts';

/**
 * Says when a group comes, goes or has other limits; when it begins to be left alone and why, and when that is over; and when
 * there is no group at all. A name misspelt in the configuration is a group that is left alone: without this line nobody would
 * learn why its pods stay pending.
 */
export function groupNews(log: Log): LoopListener {
  let frozen: ReadonlySet<string> = new Set();
  let limits: ReadonlyMap<NodeGroupId, string> = new Map();
  let hadGroups: boolean | undefined;
  return ({ observation }) => {
    if (observation === undefined) return;
    const { groups, events } = observation.cloud;
    tellComings(log, events, groups);
    limits = tellLimits(log, limits, groups);
    for (const { id, frozen: reason } of groups) {
      if (reason !== undefined && !frozen.has(id)) log.warn({ nodeGroup: id, reason }, 'a node group is left alone');
      if (reason === undefined && frozen.has(id)) log.info({ nodeGroup: id }, 'a node group is no longer left alone');
    }
    frozen = new Set(groups.filter((group) => group.frozen !== undefined).map(({ id }) => id));
    if (groups.length === 0 && hadGroups !== false) log.warn({}, 'there is no node group: none is named and no scale set has the tags');
    hadGroups = groups.length > 0;
  };
}

function tellComings(log: Log, events: readonly CloudEvent[], groups: readonly NodeGroup[]): void {
  for (const event of events) {
    if (event.kind === 'group-vanished') log.info({ nodeGroup: event.group }, 'a node group is gone');
    if (event.kind !== 'group-appeared') continue;
    const group = groups.find(({ id }) => id === event.group);
    log.info({ nodeGroup: event.group, min: group?.minSize, max: group?.maxSize }, 'a node group appeared');
  }
}

function tellLimits(log: Log, before: ReadonlyMap<NodeGroupId, string>, groups: readonly NodeGroup[]): ReadonlyMap<NodeGroupId, string> {
  const now = new Map(groups.map(({ id, minSize, maxSize }) => [id, `${minSize}:${maxSize}`]));
  for (const [nodeGroup, to] of now) {
    const from = before.get(nodeGroup);
    if (from !== undefined && from !== to) log.info({ nodeGroup, from, to }, 'the limits of a node group changed');
  }
  return now;
}
