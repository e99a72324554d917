import { describe, expect, it } from 'vitest';
import { RESOURCE_NOT_READY, type Node } from '../../../src/domain/node.ts';
import { countNodes, type NodeCounts } from '../../../src/planning/state/node-counts.ts';
import { aCluster, aGroup, anInstance, anObservation, aNode, START_MS, type GroupOptions } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import type { Instance } from '../../../src/domain/node-group.ts';
import { aState } from '../../support/state.ts';

const MINUTE = 60_000;
const unready = (reason = 'Ready=Unknown: NodeStatusUnknown') => ({ ready: false, sinceMs: START_MS - MINUTE, reason });
const goingTaint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' } as const;

interface Case {
  readonly name: string;
  readonly node?: Partial<Node>;
  readonly group?: GroupOptions;
  readonly instance?: Partial<Instance>;
  /** Whether the list shows the machine of the node. */
  readonly listed?: boolean;
  readonly expected: Partial<NodeCounts>;
}

/** A group with one node, which belongs to it by its id whether its machine is listed or not, as a Uniform set's does. */
function counted({ node = {}, group = {}, instance = {}, listed = true }: Case): Partial<NodeCounts> {
  const cluster = aCluster({ nodes: [aNode({ name: 'a-0', ...node })] });
  const instances = listed ? [anInstance({ node: 'a-0', ...instance })] : [];
  const observation = anObservation([aGroup({ id: 'a', target: 1, instances, ...group })], cluster);
  const cloud = { ...observation.cloud, groupOfNode: new Map([['a-0', observation.cloud.groups[0]!.id]]) };
  const { byGroup } = countNodes({ observation: { ...observation, cloud }, state: aState(), policy: aPolicy() });
  const [counts] = byGroup.values();
  return Object.fromEntries(Object.entries(counts ?? {}).filter(([, value]: [string, number]) => value > 0));
}

describe('what a node counts as', () => {
  const cases: readonly Case[] = [
    { name: 'ready', expected: { ready: 1 } },
    { name: 'unready', node: { readiness: unready() }, expected: { unready: 1 } },
    {
      name: 'not ready for 20 min since it was made, in a group whose nodes take longer to start',
      node: { readiness: unready(), createdAtMs: START_MS - 20 * MINUTE },
      group: { options: { maxStartupMs: 40 * MINUTE } },
      expected: { notStarted: 1 },
    },
    {
      name: 'not ready for 20 min since it was made, in a group whose machines may take longer to join',
      node: { readiness: unready(), createdAtMs: START_MS - 20 * MINUTE },
      group: { options: { maxProvisionMs: 40 * MINUTE } },
      expected: { unready: 1 },
    },
    {
      name: 'its machine is gone and the node object is still there',
      node: { readiness: unready() },
      listed: false,
      expected: { beingDeleted: 1 },
    },
    {
      name: 'its machine is gone, and the kubelet has not been missed yet',
      listed: false,
      expected: { beingDeleted: 1 },
    },
    {
      name: 'it joined after the list was read, which therefore says nothing',
      node: { createdAtMs: START_MS - 1_000, readiness: unready() },
      group: { instancesObservedAtMs: START_MS - 2_000 },
      listed: false,
      expected: { notStarted: 1 },
    },
    {
      name: 'nobody can say whether the machine exists, and the node carries the mark of a deletion',
      node: { readiness: unready(), taints: [goingTaint] },
      group: { instances: undefined, instancesObservedAtMs: undefined },
      expected: { beingDeleted: 1 },
    },
    {
      name: 'nobody can say, and there is no mark: it is taken to exist',
      node: { readiness: unready() },
      group: { instances: undefined, instancesObservedAtMs: undefined },
      expected: { unready: 1 },
    },
    {
      name: 'its machine is deallocated',
      node: { readiness: unready() },
      instance: { state: 'deallocated' },
      expected: { suspended: 1 },
    },
    {
      name: 'its condition says that it is suspended',
      node: { readiness: unready(), suspended: true },
      expected: { suspended: 1 },
    },
    {
      name: 'the same, whatever its kubelet said last',
      node: { suspended: true },
      expected: { suspended: 1 },
    },
    {
      name: 'it lacks its devices, and is young',
      node: { readiness: unready(RESOURCE_NOT_READY), createdAtMs: START_MS - 14 * MINUTE },
      expected: { notStarted: 1 },
    },
    {
      name: 'it lacks its devices, after its time to start',
      node: { readiness: unready(RESOURCE_NOT_READY), createdAtMs: START_MS - 16 * MINUTE },
      expected: { unready: 1, resourceUnready: 1 },
    },
    {
      name: 'Azure takes its machine, and it has gone silent',
      node: {
        readiness: unready(),
        preemption: { noticedAtMs: START_MS - 40_000, deadlineMs: START_MS - 10_000, notice: 'PreemptScheduled' },
      },
      expected: { beingDeleted: 1 },
    },
    {
      name: 'Azure was to take its machine minutes ago: that says nothing any more',
      node: { readiness: unready(), preemption: { noticedAtMs: 0, deadlineMs: START_MS - 10 * MINUTE, notice: 'PreemptScheduled' } },
      expected: { unready: 1 },
    },
    {
      name: 'the time to start is the group’s own',
      node: { readiness: unready(), createdAtMs: START_MS - 16 * MINUTE },
      group: { options: { maxStartupMs: 20 * MINUTE } },
      expected: { notStarted: 1 },
    },
  ];
  it.each(cases)('$name', (row) => {
    expect(counted(row)).toEqual({ registered: 1, ...row.expected });
  });

  it.each([
    { name: 'within the group’s own time', options: { maxProvisionMs: 40 * MINUTE }, expected: { unregistered: 1 } },
    { name: 'after the time that holds for all', options: {}, expected: { longUnregistered: 1 } },
  ])('a machine without a node, $name', ({ options, expected }) => {
    const lost = anInstance({ node: 'lost', firstSeenMs: START_MS - 30 * MINUTE });
    const observation = anObservation([aGroup({ id: 'a', target: 1, instances: [lost], options })], aCluster());
    const { total } = countNodes({ observation, state: aState(), policy: aPolicy() });
    expect(total).toMatchObject({ unregistered: 0, longUnregistered: 0, ...expected });
  });
});
