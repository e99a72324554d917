/** Which pool grows, as a user asks for it. Each expectation was worked out by hand. */
import { describe, expect, it } from 'vitest';
import { listOf, podJson } from './support.ts';
import { planOutcome } from './plan-outcome.ts';

type Json = Readonly<Record<string, unknown>>;
const pool = (name: string, cpu: number, memory: string, part: Json = {}): Json => ({
  name,
  vmSize: 'Standard_D4s_v5',
  min: 0,
  max: 10,
  allocatable: { cpu, memory },
  ...part,
});
const pods = (count: number, cpu: string) => Array.from({ length: count }, (_, at) => podJson(`w-${at}`, cpu));
const chain = (...expanders: readonly string[]): Json => ({ expanders });
const outcomeOf = (waiting: readonly Json[], pools: readonly Json[], scaleUp: Json) =>
  planOutcome({ c: listOf(...waiting), p: JSON.stringify(pools), k: JSON.stringify({ scaleUp }) }, '--config=k');

describe('the chain that the configuration names', () => {
  it.each<[string, readonly Json[], readonly Json[], Json, readonly string[]]>([
    [
      'price goes by the prices that pools state',
      pods(4, '1'),
      [pool('a', 4, '16Gi', { price: 2 }), pool('b', 4, '16Gi', { price: 1 })],
      chain('price'),
      ['b 0->1'],
    ],
    [
      'two cheap nodes before one dear one',
      pods(8, '1'),
      [pool('a', 8, '32Gi', { price: 5 }), pool('b', 4, '16Gi', { price: 2 })],
      chain('price'),
      ['b 0->2'],
    ],
    [
      'a pool without a price comes last',
      pods(4, '1'),
      [pool('a', 4, '16Gi'), pool('b', 4, '16Gi', { price: 99 })],
      chain('price'),
      ['b 0->1'],
    ],
    [
      'pools that are too different to be balanced',
      pods(8, '2'),
      [pool('a', 4, '14Gi'), pool('b', 4, '12Gi')],
      { balanceSimilarGroups: true },
      ['a 0->4'],
    ],
    [
      'the same pools where more may differ',
      pods(8, '2'),
      [pool('a', 4, '14Gi'), pool('b', 4, '12Gi')],
      { balanceSimilarGroups: true, memoryDifferenceRatio: 0.2, maxAllocatableDifferenceRatio: 0.2, maxFreeDifferenceRatio: 0.2 },
      ['a 0->2', 'b 0->2'],
    ],
    ['least-nodes', pods(8, '2'), [pool('a', 2, '16Gi'), pool('b', 8, '64Gi')], chain('least-nodes'), ['b 0->2']],
    [
      'most-pods takes the pool that holds the large one too',
      [...pods(4, '1'), podJson('big', '6')],
      [pool('a', 4, '16Gi'), pool('b', 12, '64Gi')],
      chain('most-pods'),
      ['b 0->1'],
    ],
    [
      'a pattern may match anywhere in a name',
      pods(1, '1'),
      [pool('aks', 4, '16Gi'), pool('myspotx', 4, '16Gi')],
      { priorities: { 10: ['.*'], 50: ['spot'] } },
      ['myspotx 0->1'],
    ],
    [
      'a pool at several levels stands at its highest',
      pods(1, '1'),
      [pool('a', 4, '16Gi'), pool('b', 4, '16Gi')],
      { priorities: { 1: ['b'], 5: ['a'], 9: ['b'] } },
      ['b 0->1'],
    ],
    [
      'levels below zero never win',
      pods(1, '1'),
      [pool('a', 4, '16Gi', { priority: -5 }), pool('b', 4, '16Gi', { priority: -1 })],
      {},
      ['a 0->1'],
    ],
    [
      'the first pool that may grow, where the better one is full',
      pods(8, '1'),
      [pool('a', 4, '16Gi', { priority: 5, max: 1 }), pool('b', 4, '16Gi', { priority: 1 })],
      {},
      ['a 0->1', 'b 0->1'],
    ],
  ])('%s', async (_what, waiting, pools, scaleUp, expected) => {
    expect(await outcomeOf(waiting, pools, scaleUp)).toEqual(expected);
  });

  it('price without any price anywhere is still a mistake', async () => {
    const [said] = await outcomeOf(pods(1, '1'), [pool('a', 4, '16Gi')], chain('price'));
    expect(said).toMatch(/^key scaleUp\.expanders .*price together with scaleUp\.prices/);
  });
});
