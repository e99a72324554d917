import { describe, expect, it } from 'vitest';
import { aGroup, aPod, aTemplate } from '../../support/builders.ts';
import { growth, planFor, skipOf } from './world.ts';

const pods = (count: number, cpu = '1') => Array.from({ length: count }, (_, at) => aPod({ name: `p-${at}`, cpu, memory: '1Gi' }));
const group = (id: string, part: Parameters<typeof aGroup>[0] & { readonly cpu?: string } = {}) => {
  const { cpu = '4', ...rest } = part;
  return aGroup({ id, target: 0, template: aTemplate({ cpu, memory: '16Gi' }), ...rest });
};

describe('the choice between groups', () => {
  it('the group on the highest priority grows, and what it cannot hold goes to the next', () => {
    const priorities = [
      { priority: 50, patterns: ['spot'] },
      { priority: 10, patterns: ['regular'] },
    ];
    const groups = [group('regular'), group('spot', { maxSize: 1 }), group('other')];
    const plan = planFor({ groups, pods: pods(6), policy: { expanders: ['priority', 'least-waste'], priorities } });
    expect(growth(plan)).toEqual(['regular 0->1', 'spot 0->1']);
    expect(skipOf(plan, 'other')).toEqual({ kind: 'not-chosen', expander: 'priority,least-waste' });
    expect(plan.notes?.map(({ text }) => text)).toEqual([
      'No priority rule covers the node group other: it grows only if no node group with a rule can help.',
    ]);
  });

  it('random: other pods lead to other groups, while the same pods lead to the same group in every loop, beside pods that nothing helps', () => {
    const groups = ['a', 'b', 'c'].map((id) => group(id));
    const hopeless = aPod({ name: 'hopeless', cpu: '100', createdAtMs: 0 });
    const choose = (pod: ReturnType<typeof aPod>, loopId: number): string | undefined =>
      growth(planFor({ groups, pods: [hopeless, pod], policy: { expanders: ['random'] }, loopId }))[0];
    const some = Array.from({ length: 30 }, (_, at) => aPod({ name: `random-${at}`, cpu: '1' }));
    const chosen = some.map((pod) => choose(pod, 1));
    expect(some.map((pod) => choose(pod, 2))).toEqual(chosen);
    expect(new Set(chosen)).toEqual(new Set(['a 0->1', 'b 0->1', 'c 0->1']));
  });

  it('price: the cheaper size for the pods grows; a size without a price is reported', () => {
    const groups = [group('big', { vmSize: 'Standard_D8s_v5', cpu: '8' }), group('small'), group('odd', { vmSize: 'Standard_X' })];
    const prices = { standard_d4s_v5: 0.2, standard_d8s_v5: 0.5 };
    const plan = planFor({ groups, pods: pods(7), policy: { expanders: ['price'], prices } });
    expect(growth(plan)).toEqual(['small 0->2']);
    expect(plan.notes?.map(({ text }) => text)).toEqual([
      'The VM size Standard_X has no price: its node groups grow only if no node group with a price can help.',
    ]);
    const cheaper = planFor({ groups, pods: pods(7), policy: { expanders: ['price'], prices: { ...prices, standard_d8s_v5: 0.3 } } });
    expect(growth(cheaper)).toEqual(['big 0->1']);
  });

  it('price: spot nodes have their own price or none', () => {
    const groups = [group('regular'), group('spot', { priority: 'Spot' })];
    const without = planFor({ groups, pods: pods(2), policy: { expanders: ['price'], prices: { standard_d4s_v5: 0.2 } } });
    expect(growth(without)).toEqual(['regular 0->1']);
    const prices = { standard_d4s_v5: 0.2, 'standard_d4s_v5/spot': 0.05 };
    expect(growth(planFor({ groups, pods: pods(2), policy: { expanders: ['price'], prices } }))).toEqual(['spot 0->1']);
  });

  it('nodes with devices are not bought for pods without, cheap as they are', () => {
    const gpu = aTemplate({ cpu: '4', memory: '16Gi', resources: { 'nvidia.com/gpu': '1' } });
    const groups = [group('gpu', { vmSize: 'Standard_NC4', template: gpu }), group('plain')];
    const prices = { standard_nc4: 0.01, standard_d4s_v5: 0.2 };
    expect(growth(planFor({ groups, pods: pods(2), policy: { expanders: ['price'], prices } }))).toEqual(['plain 0->1']);
  });
});
