/** Pods that are counted on a node to which they are not bound, and pods whose successors need a place. */
import { describe, expect, it } from 'vitest';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import type { Taint } from '../../../src/domain/taints.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { arrivingPods, awaitsSuccessor, nominatedNode, reservedPods } from '../../../src/planning/state/assumed-pods.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, keyOf, START_MS, type NodeOptions } from '../../support/builders.ts';
import { aState } from '../../support/state.ts';

const MINUTE = 60_000;
const going: Taint = { key: TO_BE_DELETED_TAINT, value: String(START_MS / 1000), effect: 'NoSchedule' };
const group = aGroup({ id: 'a', target: 1 });

describe('a nomination', () => {
  it.each<{
    readonly name: string;
    readonly node?: NodeOptions;
    readonly leaving?: boolean;
    readonly bound?: string;
    readonly holds: boolean;
  }>([
    { name: 'of a present node', node: {}, holds: true },
    { name: 'of a node that is gone', holds: false },
    { name: 'of a node that we remove', node: {}, leaving: true, holds: false },
    { name: 'of a node that another program removes', node: { taints: [going] }, holds: false },
    { name: 'of a node whose object is being deleted', node: { deletionAtMs: START_MS }, holds: false },
    {
      name: 'of a node that the platform takes back',
      node: { preemption: { noticedAtMs: START_MS, deadlineMs: START_MS + 30_000, notice: 'PreemptScheduled' } },
      holds: false,
    },
    { name: 'of a node that is not ready', node: { readiness: { ready: false, sinceMs: START_MS, reason: '' } }, holds: false },
    { name: 'of a node that takes no pods yet', node: { taints: [{ key: 'starting', value: '', effect: 'NoExecute' }] }, holds: false },
    { name: 'of a node that is cordoned', node: { unschedulable: true }, holds: false },
    { name: 'of a node that others avoid', node: { taints: [{ key: 'soft', value: '', effect: 'PreferNoSchedule' }] }, holds: true },
    { name: 'of a pod that was bound since', node: {}, bound: 'b-0', holds: false },
  ])('$name: $holds', ({ node, leaving, bound, holds }) => {
    const nodes = node === undefined ? [] : [aNode({ name: 'a-0', ...node })];
    const pod = aPod({ nominatedNodeName: 'a-0', ...(bound === undefined ? {} : { nodeName: bound }) });
    const observation = anObservation([group], aCluster({ nodes, pods: [pod] }));
    const entry = { group: group.id, instance: keyOf('a-0'), sinceMs: START_MS, sentAtMs: undefined };
    const state = aState({ deleting: new Map(leaving === true ? [['a-0', entry]] : []) });
    expect(nominatedNode(pod, { observation, state })).toBe(holds ? 'a-0' : undefined);
  });
});

describe('a place that a plan found on a present node', () => {
  it.each([
    { name: 'is that of an arriving pod, if the pod is pending', pod: {}, arriving: true, reserved: false },
    {
      name: 'is none of an arriving pod, if only plans have the pod',
      pod: { origin: 'expected' as const },
      arriving: false,
      reserved: false,
    },
    { name: 'is none of an arriving pod, if the pod is bound elsewhere', pod: { nodeName: 'b-0' }, arriving: false, reserved: false },
    { name: 'is reserved, if a buffer holds it', pod: { origin: 'buffer' as const }, arriving: false, reserved: true },
  ])('$name', ({ pod: change, arriving, reserved }) => {
    const pod = aPod(change);
    const on = (verdict: PodVerdict) => ({ verdicts: new Map([[pod, verdict]]) });
    const place = { pod, node: 'a-0' };
    const plan = on({ kind: 'fits-present-node', node: 'a-0' });
    expect([arrivingPods(plan), reservedPods(plan)]).toEqual([arriving ? [place] : [], reserved ? [place] : []]);
    const coming = on({ kind: 'fits-upcoming-node', group: group.id });
    expect([arrivingPods(coming), reservedPods(coming)]).toEqual([[], []]);
  });
});

describe('the successor of a pod that must leave its node', () => {
  const stateful = { kind: 'StatefulSet', name: 'db', uid: 'sts' };
  it.each([
    { name: 'is awaited before the eviction', pod: {}, awaited: true },
    { name: 'exists already, for a terminating pod of a ReplicaSet', pod: { deletionAtMs: START_MS }, awaited: false },
    { name: 'is awaited until a pod of a StatefulSet has ended', pod: { deletionAtMs: START_MS, controller: stateful }, awaited: true },
    {
      name: 'is not awaited from a pod that is stuck',
      pod: { deletionAtMs: START_MS - 10 * MINUTE, controller: stateful },
      awaited: false,
    },
  ])('$name', ({ pod, awaited }) => {
    expect(awaitsSuccessor(aPod({ nodeName: 'a-0', ...pod }), START_MS)).toBe(awaited);
  });
});
