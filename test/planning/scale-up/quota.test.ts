import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { CloudQuota } from '../../../src/domain/quotas-and-prices.ts';
import { aGroup, aPod } from '../../support/builders.ts';
import { growth, planFor, skipOf, verdictOf } from './world.ts';
import { describeSkip } from '../../../src/planning/explain/describe-reasons.ts';

const FAMILY = 'standarddsv5family';

function quota(used: number, limit: number): CloudQuota {
  return { name: FAMILY, title: 'family standardDSv5Family', used, limit };
}

function drawing(group: NodeGroup, cores = 8): NodeGroup {
  if (group.template === undefined) throw new Error('no template');
  return { ...group, template: { ...group.template, draws: [{ quota: FAMILY, cores }] } };
}

const pods = (count: number) => Array.from({ length: count }, (_, index) => aPod({ name: `p${index}`, cpu: '3' }));

describe('planScaleUp: quotas of the cloud', () => {
  it('a group whose next node would not fit is skipped with the numbers, and its pod gets that reason', () => {
    const [pod] = pods(1);
    if (pod === undefined) throw new Error('no pod');
    const plan = planFor({ groups: [drawing(aGroup({ id: 'a' }))], pods: [pod], cloud: { quotas: [quota(96, 100)] } });
    const skip = { kind: 'quota', quota: 'family standardDSv5Family', used: 96, limit: 100, needs: 8 } as const;
    expect(plan.increases).toEqual([]);
    expect(skipOf(plan, 'a')).toEqual(skip);
    expect(verdictOf(plan, pod)).toEqual({ kind: 'helpless', byGroup: [{ group: 'a', skip }] });
    expect(describeSkip(skip)).toBe('quota reached: family standardDSv5Family has 96 of 100 cores in use, a new node needs 8');
  });

  it('a group grows as far as the quota reaches; what it took of it is gone for its siblings', () => {
    const groups = [drawing(aGroup({ id: 'a', target: 0 })), drawing(aGroup({ id: 'b', target: 0 }))];
    const all = pods(5);
    const plan = planFor({ groups, pods: all, cloud: { quotas: [quota(80, 100)] } });
    expect(growth(plan)).toEqual(['a 0->2']);
    const left = [...plan.verdicts.values()].filter(({ kind }) => kind === 'helpless');
    expect(left).toHaveLength(3);
    expect(left[0]).toMatchObject({ byGroup: [{ skip: { kind: 'quota', used: 96 } }, { skip: { kind: 'quota', used: 96 } }] });
  });

  it('another family serves the pod instead', () => {
    const groups = [drawing(aGroup({ id: 'a', target: 0 })), aGroup({ id: 'b', target: 0 })];
    expect(growth(planFor({ groups, pods: pods(1), cloud: { quotas: [quota(100, 100)] } }))).toEqual(['b 0->1']);
  });

  it.each([
    ['no quota is known', []],
    ['the quota of another family is exhausted', [{ ...quota(100, 100), name: 'other' }]],
  ])('nothing is held back when %s', (_, quotas) => {
    expect(growth(planFor({ groups: [drawing(aGroup({ id: 'a', target: 0 }))], pods: pods(1), cloud: { quotas } }))).toEqual(['a 0->1']);
  });

  it('a minimum size is enforced only as far as the quota reaches', () => {
    const groups = [drawing(aGroup({ id: 'a', target: 0, minSize: 3 }))];
    const world = { groups, policy: { enforceMinSize: true }, cloud: { quotas: [quota(84, 100)] } };
    expect(growth(planFor(world))).toEqual(['a 0->2']);
  });
});
