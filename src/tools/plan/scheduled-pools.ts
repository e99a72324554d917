/** What schedules of the configuration say of the pools of a file, as the daemon's view of Azure has it. */
import { limitsIn, ruleFindings, scheduledPauses } from '../../azure/groups/group-schedules.ts';
import { pauseBlocks } from '../../azure/groups/pauses.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { CloudView } from '../../domain/observation.ts';
import type { Schedules } from '../../domain/schedule-rules.ts';
import { expectedStartMs, scheduleOf } from '../../domain/schedules/schedules.ts';
import { defined } from '../../lib/defined.ts';

export function withSchedules(cloud: CloudView, schedules: Schedules, nowMs: number): CloudView {
  if (schedules.rules.length === 0) return cloud;
  const scheduleFindings = ruleFindings(
    schedules.rules,
    cloud.groups.map((group) => ({ id: group.id, min: group.minSize, max: group.maxSize, names: namesOf(group) })),
  );
  return { ...cloud, schedules, scheduleFindings, groups: cloud.groups.map((group) => scheduled(group, schedules, nowMs)) };
}

function namesOf({ id, template }: NodeGroup): readonly string[] {
  const pool = template?.labels['kubernetes.azure.com/agentpool'];
  return pool === undefined ? [id] : [id, pool];
}

function scheduled(group: NodeGroup, schedules: Schedules, nowMs: number): NodeGroup {
  const { minSize: min, maxSize: max } = group;
  const names = namesOf(group);
  const schedule = scheduleOf(schedules, { names, min, max, bootMs: expectedStartMs(), maintenance: undefined }, nowMs);
  if (schedule === undefined) return group;
  const limits = limitsIn({ min, max }, schedule);
  const paused = pauseBlocks(scheduledPauses(schedule), names, nowMs);
  return {
    ...group,
    schedule,
    minSize: limits.min,
    maxSize: limits.max,
    blocks: { ...group.blocks, ...defined(paused) },
    options: {
      ...group.options,
      ...defined({ headroom: schedule.headroom?.value, repack: schedule.repack?.value === 'off' ? false : undefined }),
    },
  };
}
