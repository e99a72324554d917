import { expect, it } from 'vitest';
import type { UnremovableNode } from '../../../src/domain/plan.ts';
import type { AutoscalerEvent } from '../../../src/domain/ports/records.ts';
import { unreadableProtectionEvents } from '../../../src/observers/events/unreadable-protections.ts';
import { aCluster, aNode, anObservation, aPod } from '../../support/builders.ts';
import { aLoopReport, aScaleDownPlan } from '../../support/loop-report.ts';

const blockedBy = (node: string): UnremovableNode => ({
  node,
  reason: 'BlockedByPod',
  blocker: { pod: `default/${node}-pod`, reason: 'DoNotDisruptAnnotation', detail: '' },
});
const disabled = (node: string): UnremovableNode => ({ node, reason: 'ScaleDownDisabledAnnotation' });

function recorded(
  nodes: readonly string[],
  protectedBy: string,
  loops: readonly (readonly UnremovableNode[])[],
): readonly AutoscalerEvent[] {
  const events: AutoscalerEvent[] = [];
  const observe = unreadableProtectionEvents({ record: (event) => void events.push(event) });
  const protection = { protectedBy, protectedUntilMs: undefined };
  const pods = nodes.map((nodeName) => aPod({ name: `${nodeName}-pod`, nodeName, protection }));
  const cluster = aCluster({ nodes: nodes.map((name) => aNode({ name, scaleDownDisabled: true, protectedBy })), pods });
  for (const kept of loops) {
    const scaleDown = aScaleDownPlan({ kept });
    observe(aLoopReport({ observation: anObservation([], cluster), scaleDown }));
  }
  return events;
}

it.each([
  ['pod', blockedBy('n-0'), { kind: 'Pod', name: 'n-0-pod' }],
  ['node', disabled('n-0'), { kind: 'Node', name: 'n-0' }],
])('a value that cannot be read is an event on the %s that it protects, once while it keeps the node', (_kind, entry, subject) => {
  expect(recorded(['n-0'], 'soon', [[entry], [entry], [], [entry]])).toMatchObject([
    {
      subject,
      type: 'Warning',
      reason: 'DoNotDisruptUnreadable',
      message: expect.stringContaining('do-not-disrupt: "soon", which is neither true, false nor a duration'),
    },
    { subject },
  ]);
});

it.each(['4h', '30m'])('a value that can be read causes no event: %s', (value) => {
  expect(recorded(['n-0'], value, [[blockedBy('n-0'), disabled('n-0')]])).toEqual([]);
});

it('all of many come to their turn', () => {
  const names = Array.from({ length: 50 }, (_, at) => `n-${at}`);
  const loop = names.map(blockedBy);
  const events = recorded(names, 'soon', [loop, loop, loop, loop]);
  expect(new Set(events.map(({ subject }) => subject.name)).size).toBe(50);
  expect(events).toHaveLength(50);
});
