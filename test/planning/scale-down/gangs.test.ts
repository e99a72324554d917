import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/domain/pod.ts';
import { TO_BE_DELETED_TAINT } from '../../../src/domain/taints.ts';
import { drainContext, drainRulesOf } from '../../../src/scheduling/drainability/drain-rule.ts';
import { checkPodDrain } from '../../../src/scheduling/drainability/drainability.ts';
import { START_MS, aCluster, aNode, aPod, podWith, somePodGroups } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { names, nodes, plan, pool, removed, sinceMinutes } from './world.ts';

const CONTROLLER = { kind: 'Job', name: 'train', uid: 'train' };

function member(nodeName: string, rest: Partial<Omit<Pod, 'shape'>> = {}): Pod {
  return aPod({ nodeName, cpu: '500m', controller: CONTROLLER, shape: { gang: 'pod group train' }, ...rest });
}

describe('the pods of a running group that must run together', () => {
  const tainted = aNode({ name: 'c', taints: [{ key: TO_BE_DELETED_TAINT, value: '', effect: 'NoSchedule' }] });
  const three = () => [member('a'), member('a'), member('b')];
  it.each([
    {
      name: 'all of them are needed',
      minCount: 3,
      pods: three(),
      verdict: '3 pods of pod group train run, 2 of them here; 3 must run together',
    },
    {
      name: 'the node has more than can be spared',
      minCount: 2,
      pods: three(),
      verdict: '3 pods of pod group train run, 2 of them here; 2 must run together',
    },
    { name: 'the others are enough', minCount: 1, pods: three(), verdict: 'move' },
    { name: 'fewer run than must: it is broken already', minCount: 4, pods: three(), verdict: 'move' },
    {
      name: 'a pod that terminates does not count',
      minCount: 1,
      pods: [member('a'), member('b', { deletionAtMs: START_MS })],
      verdict: '1 pods of pod group train run, 1 of them here; 1 must run together',
    },
    {
      name: 'a node that is about to go does not count',
      minCount: 2,
      pods: [...three(), member('c'), member('c')],
      verdict: '3 pods of pod group train run, 2 of them here; 2 must run together',
    },
    {
      name: 'its owner allows the removal',
      minCount: 3,
      pods: three().map((pod) => podWith(pod, { safeToEvict: 'true' })),
      verdict: 'move',
    },
    {
      name: 'only all of them may be disrupted',
      minCount: 1,
      whole: true,
      pods: three(),
      verdict: '3 pods of pod group train run, 2 of them here; its disruptionMode allows to disrupt all of them only',
    },
    { name: 'the group is not known', minCount: undefined, pods: three(), verdict: 'move' },
  ])('$name: $verdict', ({ minCount, pods, verdict, whole }) => {
    const podGroups =
      minCount === undefined ? somePodGroups({}) : somePodGroups({ train: minCount }, whole === true ? { disruptedAsWhole: true } : {});
    const cluster = aCluster({ nodes: [aNode({ name: 'a' }), aNode({ name: 'b' }), tainted], pods, podGroups });
    const found = checkPodDrain(pods[0]!, drainContext(cluster, drainRulesOf(aPolicy()), START_MS));
    expect(found.kind === 'block' ? found.detail : found.kind).toBe(verdict);
    if (found.kind === 'block') expect(found.reason).toBe('GangMinimum');
  });

  it('are never taken below their minimum by the removals of one plan together', () => {
    const all = names(4);
    const pods = ['p-0', 'p-1', 'p-2'].map((name) => member(name));
    const removedWith = (minCount: number) =>
      plan({
        groups: [pool('p', 4), pool('q', 1, { minSize: 1 })],
        nodes: [...nodes(...all), ...nodes('q-0')],
        pods,
        podGroups: somePodGroups({ train: minCount }),
        state: { unneededSince: sinceMinutes(30, all) },
        policy: aPolicy({ scaleDown: { maxParallelDrains: 9 } }),
      });
    expect(removed(removedWith(3))).toEqual(['p-3']);
    expect(removed(removedWith(2))).toHaveLength(2);
    expect(removed(removedWith(1))).toHaveLength(3);
    expect(removedWith(2).kept.find(({ blocker }) => blocker?.detail.includes('other removals') === true)).toMatchObject({
      reason: 'BlockedByPod',
      blocker: {
        reason: 'GangMinimum',
        detail: '3 pods of pod group train run and 2 must run together; other removals move 1, this node has 1',
      },
    });
  });
});
