import { describe, expect, it } from 'vitest';
import type { GroupRefusal } from '../../../src/domain/reasons.ts';
import { adviseClass, helplessClasses } from '../../../src/planning/explain/advice/advice.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { aGroup, aNode, aPod, aTemplate } from '../../support/builders.ts';
import { growth, inputFor, planFor, verdictOf } from './world.ts';

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

  it('count on the node of a group at its maximum, too: what a pod lacks there, and what would help', () => {
    const daemonSets = [{ uid: 'd', namespace: 'kube-system', name: 'd', shape: daemon('1').shape }];
    const taints = [{ key: 'team', value: 'x', effect: 'NoSchedule' as const }];
    const pools = [
      aGroup({ id: 'full', target: 5, maxSize: 5, template: aTemplate({ cpu: '8' }), instances: [] }),
      aGroup({ id: 'kept', maxSize: 5, template: aTemplate({ cpu: '16', taints }), instances: [] }),
    ];
    const web = aPod({ cpu: '40' });
    const input = inputFor({ groups: pools, daemonSets, pods: [web] });
    const plan = planScaleUp(input);
    const { byGroup = [] } = verdictOf(plan, web) as { readonly byGroup?: readonly GroupRefusal[] };
    expect(byGroup.find(({ group }) => group === 'full')).toEqual({
      group: 'full',
      skip: { kind: 'max-size', max: 5 },
      fit: [{ kind: 'insufficient-resource', resource: 'cpu', requested: 40_000, free: 7_000 }],
    });
    // The pod needs no toleration for a larger pool like the one that it tolerates already.
    const fixes = helplessClasses(plan).map((each) => adviseClass({ input, plan }, each).fix?.text);
    expect(fixes).toEqual(['add a pool like full whose nodes have at least 41 CPU allocatable']);
  });
});
