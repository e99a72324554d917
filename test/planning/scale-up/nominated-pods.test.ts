/** Pods for which kube-scheduler made room on a node that then left. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { aGroup, aNode, aPod, keyOf, START_MS } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

describe('a pod that is nominated', () => {
  const pod = aPod({ cpu: '3', nominatedNodeName: 'a-0' });
  const full = aPod({ nodeName: 'a-0', cpu: '3' });
  const entry = { group: nodeGroupId('a'), instance: keyOf('a-0'), sinceMs: START_MS - 60_000, sentAtMs: undefined };

  it('to a present node waits for it', () => {
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 1 })], nodes: [aNode({ name: 'a-0' })], pods: [pod, full] });
    expect(verdictOf(plan, pod)).toEqual({ kind: 'ignored', reason: 'nominated' });
    expect(growth(plan)).toEqual([]);
  });

  it('to a node that is gone gets a new one', () => {
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0 })], pods: [pod] });
    expect(growth(plan)).toEqual(['a 0->1']);
  });

  it.each([
    ['on its way waits for it, and is nominated where that is on', 60_000, true, { kind: 'fits-upcoming-node', group: 'a', node: 'a-0' }],
    ['on its way waits for it', 60_000, false, { kind: 'fits-upcoming-node', group: 'a' }],
    ['that never became ready gets another one', 3_600_000, true, { kind: 'triggered', group: 'a' }],
  ])('to a node %s', (_what, ageMs, nominateNodes, verdict) => {
    const readiness = { ready: false, sinceMs: START_MS - ageMs, reason: '' };
    const nodes = [aNode({ name: 'a-0', createdAtMs: START_MS - ageMs, readiness })];
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 1 })], nodes, pods: [pod], policy: { nominateNodes } });
    expect(verdictOf(plan, pod)).toEqual(verdict);
  });

  it('to a node that is being removed gets a new one, and the other pod of that node, too', () => {
    const groups = [aGroup({ id: 'a', target: 1 })];
    const plan = planFor({ groups, nodes: [aNode({ name: 'a-0' })], pods: [pod, full], state: { deleting: new Map([['a-0', entry]]) } });
    expect(verdictOf(plan, pod)?.kind).toBe('triggered');
    expect(growth(plan)).toEqual(['a 1->3']);
  });

  it('a pod of a StatefulSet that terminates on a node being removed gets a node before it is created again', () => {
    const controller = { kind: 'StatefulSet', name: 'db', uid: 'sts' };
    const ending = aPod({ nodeName: 'a-0', cpu: '3', controller, deletionAtMs: START_MS + 10_000 });
    const world = {
      groups: [aGroup({ id: 'a', target: 1 })],
      nodes: [aNode({ name: 'a-0' })],
      state: { deleting: new Map([['a-0', entry]]) },
    };
    expect(growth(planFor({ ...world, pods: [ending] }))).toEqual(['a 1->2']);
    expect(growth(planFor({ ...world, pods: [{ ...ending, controller: { ...controller, apiVersion: '', kind: 'ReplicaSet' } }] }))).toEqual(
      [],
    );
  });
});
