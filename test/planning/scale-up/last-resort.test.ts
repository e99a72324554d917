/** Groups that grow only for pods that no other group can take: another cluster found Azure out of stock there. */
import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { describeSkip } from '../../../src/planning/explain/describe-reasons.ts';
import { aGroup, aPod, aTemplate, type GroupOptions } from '../../support/builders.ts';
import { growth, planFor, skipOf } from './world.ts';

const WHY = 'another cluster of the subscription got no Standard_F8s_v2';

/** Better for every pod of these tests than `big`. */
function doubted(id = 'a', rest: GroupOptions = {}): NodeGroup {
  return aGroup({ id, target: 0, template: aTemplate({ cpu: '2' }), lastResort: WHY, ...rest });
}
function big(rest: GroupOptions = {}): NodeGroup {
  return aGroup({ id: 'big', target: 0, template: aTemplate({ cpu: '64' }), ...rest });
}
function pods(count: number, nodeSelector: Readonly<Record<string, string>> = {}) {
  return Array.from({ length: count }, () => aPod({ cpu: '1', shape: { cpu: '1', nodeSelector } }));
}
const BY_WASTE = { expanders: ['least-waste'] } as const;

describe('a group of last resort', () => {
  it('gets no pod that another group can take, and says why, although it is the better choice', () => {
    const plan = planFor({ groups: [doubted(), big()], pods: pods(1), policy: BY_WASTE });
    expect(growth(plan)).toEqual(['big 0->1']);
    const skip = skipOf(plan, 'a');
    expect(skip).toEqual({ kind: 'last-resort', detail: WHY });
    expect(skip === undefined ? '' : describeSkip(skip)).toBe(WHY);
    expect(
      growth(
        planFor({
          groups: [{ ...aGroup({ id: 'a', target: 0, template: aTemplate({ cpu: '2' }) }) }, big()],
          pods: pods(1),
          policy: BY_WASTE,
        }),
      ),
    ).toEqual(['a 0->1']);
  });

  it.each([
    ['there is no other group', []],
    ['the other group is at its maximum', [big({ maxSize: 0 })]],
    ['the other group does not fit', [big({ template: aTemplate({ cpu: '500m' }) })]],
    ['the other group is frozen', [big({ frozen: 'AKS upgrades it' })]],
  ])('grows in the same plan if %s', (_when, others) => {
    expect(growth(planFor({ groups: [doubted(), ...others], pods: pods(1), policy: BY_WASTE }))).toEqual(['a 0->1']);
  });

  it('gets only the pods that the other group has no room for', () => {
    const small = big({ template: aTemplate({ cpu: '4' }), maxSize: 1 });
    const plan = planFor({ groups: [doubted(), small], pods: pods(5), policy: BY_WASTE });
    expect(growth(plan).map((each) => each.split(' ')[0])).toEqual(['a', 'big']);
  });

  it('is compared with the others of its kind by the expanders', () => {
    const worse = doubted('b', { template: aTemplate({ cpu: '32' }) });
    expect(growth(planFor({ groups: [doubted(), worse], pods: pods(1), policy: BY_WASTE }))).toEqual(['a 0->1']);
  });

  it('grows to its minimum size: nothing else can do that', () => {
    const plan = planFor({ groups: [doubted('a', { minSize: 2 })], pods: [], policy: { enforceMinSize: true } });
    expect(growth(plan)).toEqual(['a 0->2']);
  });
});
