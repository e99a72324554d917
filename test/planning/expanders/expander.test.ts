import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { OptionCost, ScoredOption } from '../../../src/domain/plan.ts';
import type { ExpanderName } from '../../../src/domain/policy.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { chooseOption, createExpanders } from '../../../src/planning/expanders/expander.ts';

const option = (group: string, part: Partial<ScoredOption> = {}): ScoredOption => ({
  group: nodeGroupId(group),
  nodes: 1,
  pods: 1,
  waste: 0.5,
  priority: undefined,
  cost: undefined,
  placementScore: undefined,
  preference: undefined,
  ...part,
});
const costing = (perHour: number, part: Partial<OptionCost> = {}): Partial<ScoredOption> => ({
  cost: { perHour, nodeWeight: 4, podWeight: 1, hasDevices: false, misfit: 1, ...part },
});
const choose = (names: readonly ExpanderName[], options: readonly ScoredOption[], seed = 1) =>
  chooseOption(createExpanders(names, seededRandom(seed)), options)?.group;

describe('expanders', () => {
  it.each<[string, readonly ExpanderName[], readonly ScoredOption[], string | undefined]>([
    ['most pods, the tie by id', ['most-pods'], [option('a', { pods: 3 }), option('c', { pods: 5 }), option('b', { pods: 5 })], 'b'],
    ['least waste', ['least-waste'], [option('a', { waste: 0.2 }), option('b', { waste: 0.1 })], 'b'],
    [
      'equal waste is left to the next',
      ['least-waste', 'most-pods'],
      [option('a'), option('b', { pods: 2 }), option('c', { waste: 1, pods: 9 })],
      'b',
    ],
    ['least nodes', ['least-nodes'], [option('a', { nodes: 4 }), option('b', { nodes: 2 }), option('c', { nodes: 0 })], 'b'],
    ['the highest priority', ['priority'], [option('a', { priority: 10 }), option('b', { priority: 50 })], 'b'],
    [
      'all on the highest priority are left to the next',
      ['priority', 'most-pods'],
      [option('a', { priority: 9, pods: 9 }), option('b', { priority: 50 }), option('c', { priority: 50, pods: 2 })],
      'c',
    ],
    ['what no rule covers is not used', ['priority', 'most-pods'], [option('a', { pods: 9 }), option('b', { priority: 0 })], 'b'],
    ['no rule covers any: all pass', ['priority', 'most-pods'], [option('a'), option('b', { pods: 9 })], 'b'],
    ['price: the cheaper for the same pods', ['price'], [option('a', costing(2)), option('b', costing(1))], 'b'],
    [
      'price: twice the pods for less than twice the price',
      ['price'],
      [option('a', costing(2)), option('b', costing(3, { podWeight: 2 }))],
      'b',
    ],
    ['same price, the better fitting nodes', ['price'], [option('a', costing(1, { misfit: 2 })), option('b', costing(1))], 'b'],
    ['price: money goes before fit', ['price'], [option('a', costing(1, { misfit: 2 })), option('b', costing(1.1))], 'a'],
    ['price: what has none is not used', ['price', 'most-pods'], [option('a', { pods: 9 }), option('b', costing(9))], 'b'],
    ['price: none has one, all pass', ['price', 'most-pods'], [option('a'), option('b', { pods: 2 })], 'b'],
    [
      'price: equal value is left to the next',
      ['price', 'most-pods'],
      [option('a', costing(1)), option('b', { ...costing(1), pods: 2 })],
      'b',
    ],
    [
      'placement: what Azure has more of',
      ['placement'],
      [option('a', { placementScore: 'Low' }), option('b', { placementScore: 'Medium' }), option('c', { placementScore: 'High' })],
      'c',
    ],
    [
      'placement: what is restricted is last',
      ['placement'],
      [option('a', { placementScore: 'Restricted' }), option('b', { placementScore: 'Low' })],
      'b',
    ],
    [
      'placement: what has no score stays beside the best',
      ['placement', 'least-waste'],
      [option('a', { placementScore: 'Low', waste: 0 }), option('b', { waste: 0.1 }), option('c', { placementScore: 'High', waste: 0.2 })],
      'b',
    ],
    ['placement: no score at all, all pass', ['placement', 'most-pods'], [option('a'), option('b', { pods: 2 })], 'b'],
    ['no option', ['least-waste'], [], undefined],
    ['no expander: by id', [], [option('b'), option('a')], 'a'],
  ])('%s', (_, names, options, expected) => {
    expect(choose(names, options)).toBe(expected);
    expect(choose(names, [...options].reverse())).toBe(expected);
  });

  it('random follows its seed, not the order of the options, and reaches every option', () => {
    const options = ['a', 'b', 'c'].map((group) => option(group));
    const picks = Array.from({ length: 40 }, (_, seed) => choose(['random'], options, seed));
    expect(Array.from({ length: 40 }, (_, seed) => choose(['random'], [...options].reverse(), seed))).toEqual(picks);
    expect(new Set(picks)).toEqual(new Set(['a', 'b', 'c']));
  });

  it.each<[string, readonly ExpanderName[], string]>([
    ['a name twice', ['most-pods', 'most-pods'], '"most-pods" is listed twice'],
    ['a name after random', ['random', 'least-waste'], '"random" must come last'],
  ])('%s is a configuration error', (_, names, message) => {
    const make = () => createExpanders(names, seededRandom(1));
    expect(make).toThrow(AutoscalerError);
    expect(make).toThrow(message);
  });
});
