/** A pod that kube-scheduler has not placed yet and that fits on a present node: the node is about to be used. */
import { expect, it } from 'vitest';
import { aGroup, aNode, aPod } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage } from './support.ts';

const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } });

it('the decision is written down with the pod on its node, once', async () => {
  const stage = aStage({
    groups: [aGroup({ id: 'g', target: 1, minSize: 0 })],
    nodes: [aNode({ name: 'g-0' })],
    pods: [aPod({ name: 'waits', cpu: '3' })],
    policy,
  });
  await stage.runOnce();
  const { cluster } = stage.records.find(({ scaleDown }) => scaleDown !== undefined)?.observation ?? {};
  expect(cluster?.podsByNode.get('g-0')?.map(({ name }) => name)).toEqual(['waits']);
  expect(cluster?.pendingPods).toEqual([]);
});

it.each([
  { name: 'nobody waits', cpu: undefined, removed: ['g-1'] },
  { name: 'a pod waits that fits there alone, and fills most of it', cpu: '3', removed: [] },
  { name: 'a pod waits that fits on the other node as well', cpu: '500m', removed: ['g-1'] },
])('an empty node, while $name: $removed go', async ({ cpu, removed }) => {
  const stage = aStage({
    groups: [aGroup({ id: 'g', target: 2, minSize: 0 })],
    nodes: [aNode({ name: 'g-0' }), aNode({ name: 'g-1' })],
    pods: [aPod({ name: 'host', nodeName: 'g-0', cpu: '3' }), ...(cpu === undefined ? [] : [aPod({ name: 'waits', cpu })])],
    policy,
  });
  await stage.runOnce();
  await stage.clock.advance(10_000);
  const { scaleDown, state } = await stage.runOnce();
  expect(scaleDown?.removals.map(({ node }) => node)).toEqual(removed);
  expect(state.unneededSince.has('g-1') || state.deleting.has('g-1')).toBe(removed.length > 0);
  if (removed.length === 0)
    expect(scaleDown?.kept.find(({ node }) => node === 'g-1')).toMatchObject({ reason: 'NotUnderutilized', utilization: 0.75 });
});
