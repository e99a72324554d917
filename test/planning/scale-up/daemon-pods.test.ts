import { describe, expect, it } from 'vitest';
import { aGroup, aNode, aPod } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

describe('pending pods of DaemonSets', () => {
  const groups = [aGroup({ id: 'a' })];
  const nodes = [aNode({ name: 'a-0' })];
  const daemon = (cpu: string, priority = 0) => aPod({ cpu, daemonSet: true, shape: { priority } });

  it('take their room on nodes that are there before pods of lower priority do', () => {
    const [agent, web] = [daemon('3500m', 1000), aPod({ cpu: '1' })];
    const plan = planFor({ groups, nodes, pods: [web, agent] });
    expect(growth(plan)).toEqual(['a 1->2']);
    expect([agent, web].map((pod) => verdictOf(plan, pod))).toEqual([
      { kind: 'fits-present-node', node: 'a-0' },
      { kind: 'triggered', group: 'a' },
    ]);
  });

  it('come after pods of higher priority, and never ask for a node', () => {
    const [agent, web] = [daemon('3500m'), aPod({ cpu: '1', shape: { priority: 5 } })];
    const plan = planFor({ groups, nodes, pods: [web, agent] });
    expect(growth(plan)).toEqual([]);
    expect([web, agent].map((pod) => verdictOf(plan, pod))).toEqual([
      { kind: 'fits-present-node', node: 'a-0' },
      { kind: 'ignored', reason: 'daemon-set' },
    ]);
  });

  it('are not counted twice on nodes that are on their way: those have theirs', () => {
    const starting = aNode({ name: 'a-0', readiness: { ready: false, sinceMs: 0, reason: 'starting' } });
    const daemonSets = [{ uid: 'd', namespace: 'kube-system', name: 'd', shape: daemon('2').shape }];
    const [agent, web] = [daemon('2', 1000), aPod({ cpu: '1500m' })];
    const young = { ...starting, createdAtMs: Number.MAX_SAFE_INTEGER };
    const plan = planFor({ groups, nodes: [young], daemonSets, pods: [web, agent] });
    expect(verdictOf(plan, web)).toEqual({ kind: 'fits-upcoming-node', group: 'a' });
    expect(verdictOf(plan, agent)).toEqual({ kind: 'ignored', reason: 'daemon-set' });
  });
});
