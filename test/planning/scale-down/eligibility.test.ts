import { describe, expect, it } from 'vitest';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { aNode, aPod, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { nodes, pod, keptReasons, MINUTE, plan, pool, sinceMinutes } from './world.ts';

describe('eligibility', () => {
  it.each([
    { name: 'exactly at the threshold', cpu: '2', kept: undefined },
    { name: 'just above', cpu: '2001m', kept: 'NotUnderutilized' },
  ])('$name', ({ cpu, kept }) => {
    const groups = [pool('p', 1), pool('q', 1, { minSize: 1 })];
    const result = plan({ groups, nodes: nodes('p-0', 'q-0'), pods: [pod('p-0', cpu)] });

    expect(keptReasons(result)['p-0']).toBe(kept ?? 'NotUnneededLongEnough');
  });

  const base = { groups: [pool('p', 2)], nodes: nodes('p-0', 'p-1') };
  const remembered = (untilMs: number) =>
    new Map([['p-0', { reason: 'BlockedByPod' as const, untilMs, blocker: undefined, detail: undefined }]]);
  it.each([
    { name: 'of nobody', world: { ...base, nodes: nodes('x', 'p-0') }, node: 'x', reason: 'NotAutoscaled' },
    {
      name: 'annotated',
      world: { ...base, nodes: [aNode({ name: 'p-0', scaleDownDisabled: true })] },
      node: 'p-0',
      reason: 'ScaleDownDisabledAnnotation',
    },
    { name: 'frozen group', world: { ...base, groups: [pool('p', 2, { frozen: 'upgrading' })] }, node: 'p-0', reason: 'GroupFrozen' },
    {
      name: 'group at its minimum',
      world: { ...base, groups: [pool('p', 2, { minSize: 2 })] },
      node: 'p-0',
      reason: 'NodeGroupMinSizeReached',
    },
    { name: 'no instance', world: { ...base, cloud: { instanceOfNode: new Map() } }, node: 'p-0', reason: 'InstanceUnknown' },
    {
      name: 'blocked three minutes ago',
      world: { ...base, state: { unremovable: remembered(START_MS + 2 * MINUTE) } },
      node: 'p-0',
      reason: 'RecentlyUnremovable',
    },
    {
      name: 'tainted for deletion',
      world: {
        ...base,
        nodes: [
          aNode({ name: 'p-0', taints: [{ key: TO_BE_DELETED_TAINT, value: String(START_MS / 1000), effect: 'NoSchedule' as const }] }),
        ],
      },
      node: 'p-0',
      reason: 'CurrentlyBeingDeleted',
    },
    {
      name: 'unready while those may not go',
      world: {
        ...base,
        nodes: [aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } })],
        policy: aPolicy({ scaleDown: { unreadyEnabled: false } }),
      },
      node: 'p-0',
      reason: 'ScaleDownUnreadyDisabled',
    },
    { name: 'without a size', world: { ...base, nodes: [aNode({ name: 'p-0', cpu: '0' })] }, node: 'p-0', reason: 'UnexpectedError' },
  ])('$name: $reason', ({ world, node, reason }) => {
    expect(keptReasons(plan(world))[node]).toBe(reason);
  });

  it.each([
    { name: 'cores in use, GPUs idle', gpus: '4', asked: '0', reason: 'NotUnneededLongEnough' },
    { name: 'GPUs in use', gpus: '4', asked: '3', reason: 'NotUnderutilized' },
    { name: 'more than the own threshold', gpus: '4', asked: '1', threshold: 0.2, reason: 'NotUnderutilized' },
    { name: 'no GPU is offered', gpus: '0', asked: '0', reason: 'NotUnneededLongEnough' },
  ])('$name', ({ gpus, asked, threshold, reason }) => {
    const gpuNode = aNode({ name: 'p-0', labels: { accelerator: 'nvidia' }, resources: { 'nvidia.com/gpu': gpus } });
    const job = aPod({ nodeName: 'p-0', cpu: '3600m', shape: { cpu: '3600m', resources: { 'nvidia.com/gpu': asked } } });
    const spare = aNode({ name: 'q-0', cpu: '8', resources: { 'nvidia.com/gpu': '8' } });
    const result = plan({
      groups: [pool('p', 1), pool('q', 1, { minSize: 1 })],
      nodes: [gpuNode, spare],
      pods: [job],
      policy: aPolicy({ scaleDown: threshold === undefined ? {} : { gpuUtilizationThreshold: threshold } }),
    });
    expect(keptReasons(result)['p-0']).toBe(reason);
  });

  it.each([
    { whose: 'a workload', daemonSet: false },
    { whose: 'a DaemonSet', daemonSet: true },
  ])('a node whose devices a pod of $whose claims is never guessed to be idle, and stays with the claim as the reason', ({ daemonSet }) => {
    const unsupported = [{ feature: 'dynamic-resource-allocation', detail: 'resource claim gpus' }];
    const job = aPod({ name: 'train', nodeName: 'p-0', daemonSet, safeToEvict: 'true', shape: { cpu: '10m', unsupported } });
    const result = plan({ ...base, pods: [job], state: { unneededSince: sinceMinutes(30, ['p-0']) } });
    expect(result.removals.filter(({ node }) => node === 'p-0')).toEqual([]);
    expect(result.kept.find(({ node }) => node === 'p-0')).toMatchObject({
      reason: 'UnexpectedError',
      blocker: { pod: 'default/train', detail: 'resource claim gpus: the device utilization of the node is unknown' },
    });
  });

  it('a node with nothing but expendable pods is empty, however much they ask for', () => {
    const worthless = aPod({ nodeName: 'p-0', controller: undefined, shape: { cpu: '3900m', priority: -11 } });
    const result = plan({ ...base, pods: [worthless], state: { unneededSince: sinceMinutes(30, ['p-0']) } });
    expect(result.removals).toMatchObject([{ node: 'p-0', cause: 'empty', pods: [] }]);
  });

  it('an expired verdict is checked again', () => {
    expect(keptReasons(plan({ ...base, state: { unremovable: remembered(START_MS) } }))['p-0']).toBe('NotUnneededLongEnough');
  });

  it('a pod that is protected for a time blocks until then, and is looked at again at its end', () => {
    const untilMs = START_MS + 2 * MINUTE;
    const held = aPod({ name: 'run', nodeName: 'p-0', protection: { protectedBy: '4h', protectedUntilMs: untilMs } });
    const result = plan({ ...base, pods: [held] });
    expect(result.kept[0]).toMatchObject({ reason: 'BlockedByPod', blocker: { reason: 'DoNotDisruptAnnotation' }, recheckAtMs: untilMs });
    expect(result.kept[0]?.blocker?.detail).toMatch(/^karpenter\.sh\/do-not-disrupt: "4h", until \d{4}-/);
    const ended = aPod({ name: 'run', nodeName: 'p-0', protection: { protectedBy: '4h', protectedUntilMs: START_MS } });
    expect(keptReasons(plan({ ...base, pods: [ended, pod('p-1', '3')] }))['p-0']).toBe('NotUnneededLongEnough');
  });

  it('a node that is protected for a time is unremovable until then', () => {
    const node = (untilMs: number) =>
      aNode({ name: 'p-0', scaleDownDisabled: true, disabledBecause: 'a', protectedBy: '4h', protectedUntilMs: untilMs });
    const kept = (untilMs: number) => plan({ ...base, nodes: [node(untilMs), ...nodes('p-1')] }).kept.find((each) => each.node === 'p-0');
    expect(kept(START_MS + 1)).toMatchObject({ reason: 'ScaleDownDisabledAnnotation', detail: 'a', recheckAtMs: START_MS + 1 });
    expect(kept(START_MS)?.reason).toBe('NotUnneededLongEnough');
  });

  it('names the pod and the reason that block, and when to look again', () => {
    const result = plan({ ...base, pods: [aPod({ name: 'pet', nodeName: 'p-0', controller: undefined })] });
    expect(result.kept[0]).toMatchObject({
      node: 'p-0',
      reason: 'BlockedByPod',
      blocker: { pod: 'default/pet', reason: 'NotReplicated' },
      recheckAtMs: START_MS + 5 * MINUTE,
    });
  });
});
