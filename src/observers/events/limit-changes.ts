/** One event for each group whose limits changed: in tags, in the configuration, or in a rule. */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';

type Limits = Pick<NodeGroup, 'minSize' | 'maxSize' | 'maxFrom'>;

const PLACES: Readonly<Record<NonNullable<NodeGroup['maxFrom']>, string>> = {
  settings: 'the configuration',
  tag: 'a tag',
  'agent-pool': 'its agent pool',
  'discovery-rule': 'a discovery rule',
};

export function limitChanges(events: Pick<EventRecorder, 'record'>, namespace: string): LoopListener {
  let before: ReadonlyMap<NodeGroupId, Limits> = new Map();
  return ({ observation }) => {
    if (observation === undefined) return;
    const now = new Map<NodeGroupId, Limits>(observation.cloud.groups.map((group) => [group.id, ownLimits(group)]));
    for (const [id, to] of now) {
      const from = before.get(id);
      const message = from === undefined ? undefined : describeChange(id, from, to);
      if (message === undefined) continue;
      const subject = { kind: 'ConfigMap', namespace, name: STATUS_NAME } as const;
      events.record({ subject, type: 'Normal', reason: 'NodeGroupLimitsChanged', message });
    }
    before = now;
  };
}

/** Without schedules, whose rules have events of their own. */
function ownLimits({ minSize, maxSize, maxFrom, schedule }: NodeGroup): Limits {
  return { minSize: schedule?.pool.min ?? minSize, maxSize: schedule?.pool.max ?? maxSize, maxFrom };
}

/** undefined: they are the same. */
function describeChange(id: NodeGroupId, from: Limits, to: Limits): string | undefined {
  const parts = [
    ...(from.minSize === to.minSize ? [] : [`minimum from ${from.minSize} to ${to.minSize}`]),
    ...(from.maxSize === to.maxSize ? [] : [`maximum from ${from.maxSize} to ${to.maxSize}`]),
  ];
  if (parts.length === 0) return undefined;
  const place = to.maxFrom === undefined ? '' : `, set by ${PLACES[to.maxFrom]}`;
  return `Node group ${id}: ${parts.join(', ')}${place}`;
}
