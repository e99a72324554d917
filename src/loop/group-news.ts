import type { NodeGroupId } from '../domain/ids.ts';
import type { NodeGroup } from '../domain/node-group.ts';
import type { CloudEvent } from '../domain/observation.ts';
import type { Log } from '../telemetry/log.ts';
import type { LoopListener } from './report.ts';

/**
 * Says when a group comes, goes or has other limits; when it begins to be left alone and why, when the reason is another one, and
 * when that is over; and when there is no group at all. A name misspelt in the configuration is a group that is left alone: without this line nobody would
 * learn why its pods stay pending.
 */
export function groupNews(log: Log): LoopListener {
  let frozen: ReadonlyMap<NodeGroupId, string> = new Map();
  let limits: ReadonlyMap<NodeGroupId, string> = new Map();
  let hadGroups: boolean | undefined;
  return ({ observation }) => {
    if (observation === undefined) return;
    const { groups, events } = observation.cloud;
    tellComings(log, events, groups);
    limits = tellLimits(log, limits, groups);
    frozen = tellFrozen(log, frozen, groups);
    if (groups.length === 0 && hadGroups !== false) log.warn({}, 'there is no node group: none is named and no scale set has the tags');
    hadGroups = groups.length > 0;
  };
}

function tellComings(log: Log, events: readonly CloudEvent[], groups: readonly NodeGroup[]): void {
  for (const event of events) {
    if (event.kind === 'group-vanished') log.info({ nodeGroup: event.group, reason: event.because }, 'a node group is gone');
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

/** @returns what was last told of each group that is left alone. */
function tellFrozen(log: Log, before: ReadonlyMap<NodeGroupId, string>, groups: readonly NodeGroup[]): ReadonlyMap<NodeGroupId, string> {
  const now = new Map<NodeGroupId, string>();
  for (const { id: nodeGroup, frozen: reason } of groups) {
    if (reason === undefined) {
      if (before.has(nodeGroup)) log.info({ nodeGroup }, 'a node group is no longer left alone');
      continue;
    }
    // An age within the reason grows from loop to loop and is no news.
    const news = reason.replace(/\d+/g, '#');
    if (before.get(nodeGroup) !== news) log.warn({ nodeGroup, reason }, 'a node group is left alone');
    now.set(nodeGroup, news);
  }
  return now;
}
