/** A past that no loop had: sizes and changes of pools, as the history returns them. */
import type { DocumentInput } from '../../src/api/documents/document-input.ts';
import type { CapacityChange, SizeSample } from '../../src/domain/history.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import { START_MS } from '../support/builders.ts';
import { scheduledGroup, schedulesOf } from '../support/schedules.ts';
import { documentInput } from './support.ts';

const MINUTE = 60_000;
/** Where the past begins. */
export const FROM = START_MS - 60 * MINUTE;

export interface Past {
  readonly sizes: Readonly<Record<string, readonly SizeSample[]>>;
  readonly changes: readonly CapacityChange[];
}

export async function withPast(groups: readonly NodeGroup[], { sizes, changes }: Past): Promise<DocumentInput> {
  const input = await documentInput({ groups });
  return {
    ...input,
    history: { ...historyOf(input), changes: () => changes.toReversed(), sizes: (group: string) => sizes[group] ?? [] },
  };
}

/** Its methods read private fields. */
function historyOf({ history }: DocumentInput): DocumentInput['history'] {
  return {
    sinceMs: history.sinceMs,
    changes: (query) => history.changes(query),
    sizes: (group, fromMs) => history.sizes(group, fromMs),
    scaleUps: () => history.scaleUps(),
    durations: (group) => history.durations(group),
    timeToReady: (group) => history.timeToReady(group),
    decisions: (query) => history.decisions(query),
    decision: (id) => history.decision(id),
  };
}

/** `minute`: after `FROM`. */
export const at = (minute: number, target: number, ready = target): SizeSample => ({ atMs: FROM + minute * MINUTE, target, ready });
export const grew = (group: string, minute: number, from: number, to: number): CapacityChange => ({
  atMs: FROM + minute * MINUTE,
  group: nodeGroupId(group),
  from,
  to,
  actor: 'autoscaler',
  why: '2 pods of default/web',
  outcome: 'accepted',
});

/** The same with schedules: each group has what its rules say now. */
export function withRules(input: DocumentInput, written: string): DocumentInput {
  const schedules = schedulesOf(written);
  const { report } = input;
  const { observation } = report;
  const groups = observation.cloud.groups.map((group) => scheduledGroup(group, schedules, observation.nowMs));
  return { ...input, report: { ...report, observation: { ...observation, cloud: { ...observation.cloud, groups, schedules } } } };
}
