/** Rules for tests: as people write them, through the schema. */
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { Schedules } from '../../src/domain/schedule-rules.ts';
import { expectedStartMs, scheduleOf } from '../../src/domain/schedules/schedules.ts';
import { configOf } from '../config/support.ts';

/** `written`: YAML of the setting `schedules`; each entry of `files` is a file by its path. */
export function schedulesOf(written: string, files: Readonly<Record<string, string>> = {}): Schedules {
  return configOf({ argv: ['--config=c'], files: { ...files, c: `schedules:\n${written.replaceAll(/^/gm, '  ')}` } }).azure.schedules;
}

/** A group as the view has it at that time, with the limits and the schedule of these rules. */
export function scheduledGroup(group: NodeGroup, schedules: Schedules, nowMs: number): NodeGroup {
  const { id, minSize: min, maxSize: max } = group;
  const schedule = scheduleOf(schedules, { names: [id], min, max, bootMs: expectedStartMs(), maintenance: undefined }, nowMs);
  return { ...group, schedule, minSize: schedule?.min?.value ?? min, maxSize: schedule?.max?.value ?? max };
}
