/** A plan that ran out of time keeps the nodes that pods without a search could use, and no others. */
import { describe, expect, it } from 'vitest';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import { waitedGroups } from '../../../src/planning/scale-down/full-groups.ts';
import { aNode, aPod, aTemplate, resourceNames, type ShapeOptions } from '../../support/builders.ts';
import { keptReasons, observe, plan, pool, removed, sinceMinutes } from './world.ts';

const LEFT_OUT: PodVerdict = { kind: 'waiting', detail: 'the time was up', leftOut: 'search' };
const GPU = [{ key: 'gpu', value: '', effect: 'NoSchedule' }] as const;
const TEAM = { team: 'a' };
const pools = [
  pool('plain', 1, { template: aTemplate({ cpu: '4', memory: '16Gi' }) }),
  pool('team', 1, { template: aTemplate({ cpu: '4', memory: '16Gi', labels: TEAM }) }),
  pool('tainted', 1, { template: aTemplate({ cpu: '16', memory: '64Gi', taints: GPU }) }),
];
const nodes = [
  aNode({ name: 'plain-0', cpu: '4', memory: '16Gi' }),
  aNode({ name: 'team-0', cpu: '4', memory: '16Gi', labels: TEAM }),
  aNode({ name: 'tainted-0', cpu: '16', memory: '64Gi', taints: GPU }),
];
const world = {
  groups: pools,
  nodes,
  state: {
    unneededSince: sinceMinutes(
      30,
      nodes.map(({ name }) => name),
    ),
  },
};
const waiting = (shape: ShapeOptions) => new Map([[aPod({ name: 'web', shape }), LEFT_OUT]]);
const groupsFor = (verdicts: ReadonlyMap<ReturnType<typeof aPod>, PodVerdict>, some = world) => [
  ...waitedGroups({ verdicts }, { observation: observe(some), names: resourceNames }).keys(),
];

describe('the groups that a pod without a search could use', () => {
  const expression = (key: string, value: string) => ({ expressions: [{ key, operator: 'In' as const, values: [value] }], fields: [] });
  it.each<{ readonly name: string; readonly shape: ShapeOptions; readonly groups: readonly string[] }>([
    { name: 'whose taints it tolerates', shape: {}, groups: ['plain', 'team'] },
    { name: 'that have the label of its node selector', shape: { nodeSelector: TEAM }, groups: ['team'] },
    { name: 'that have a label of its node affinity', shape: { nodeAffinity: [expression('team', 'a')] }, groups: ['team'] },
    { name: 'none, if no node and no template has its label', shape: { nodeSelector: { team: 'b' } }, groups: [] },
    { name: 'none, if no node and no template has its affinity', shape: { nodeAffinity: [expression('x', 'y')] }, groups: [] },
    { name: 'none, if it is larger than any node', shape: { cpu: '100' }, groups: [] },
    {
      name: 'whose nodes are large enough',
      shape: { cpu: '8', tolerations: [{ key: 'gpu', operator: 'Exists', value: '', effect: undefined }] },
      groups: ['tainted'],
    },
  ])('are those $name', ({ shape, groups }) => expect(groupsFor(waiting(shape))).toEqual(groups));

  it('include one whose nodes differ from its template', () => {
    const labelled = { ...world, nodes: [aNode({ name: 'plain-0', cpu: '4', labels: { team: 'b' } }), ...nodes.slice(1)] };
    expect(groupsFor(waiting({ nodeSelector: { team: 'b' } }), labelled)).toEqual(['plain']);
  });

  it('include one whose new node is unknown', () => {
    const unknown = { ...world, groups: [...pools.slice(0, 2), pool('tainted', 1, { template: undefined })] };
    expect(groupsFor(waiting({ cpu: '100' }), unknown)).toEqual(['tainted']);
  });

  it('are found for pods that differ in their requests alone by the least of these', () => {
    const pods = ['100', '2', '50'].map((cpu) => aPod({ name: `web-${cpu}`, shape: { cpu, nodeSelector: TEAM } }));
    expect(groupsFor(new Map(pods.map((pod) => [pod, LEFT_OUT])))).toEqual(['team']);
  });
});

describe('an unneeded node, after a plan that ran out of time', () => {
  const planWith = (shape: ShapeOptions) => {
    const observation = observe(world);
    return plan({ ...world, fullGroups: waitedGroups({ verdicts: waiting(shape) }, { observation, names: resourceNames }) });
  };

  it('is removed if no pod without a search could use its group', () => {
    expect(removed(planWith({ nodeSelector: TEAM })).toSorted()).toEqual(['plain-0', 'tainted-0']);
    expect(removed(planWith({ nodeSelector: { nowhere: 'x' } })).toSorted()).toEqual(['plain-0', 'tainted-0', 'team-0']);
  });

  it('stays if such a pod could use its group, and its reason says which pod', () => {
    const result = planWith({ nodeSelector: TEAM });
    expect(keptReasons(result)).toEqual({ 'team-0': 'RemovalBudgetSpent' });
    expect(result.kept[0]?.detail).toBe('pod default/web, whose place was not searched in time, could use its node group');
    expect(result.unneeded.get('team-0')).toBe(world.state.unneededSince.get('team-0'));
  });
});
