/** Which pool grows, as a user asks for it. Each expectation was worked out by hand. */
import { describe, expect, it } from 'vitest';
import { listOf, planOutcome, podJson } from './support.ts';

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
      'levels below zero never win',
      pods(1, '1'),
      [pool('a', 4, '16Gi', { priority: -5 }), pool('b', 4, '16Gi', { priority: -1 })],
      {},
      ['a 0->1'],
    ],
  ])('%s', async (_what, waiting, pools, scaleUp, expected) => {
    expect(await outcomeOf(waiting, pools, scaleUp)).toEqual(expected);
  });

  it('price without any price anywhere is still a mistake if the price list is off', async () => {
    const [said] = await outcomeOf(pods(1, '1'), [pool('a', 4, '16Gi')], {
      ...chain('price'),
      retailPrices: { enabled: false },
    });
    expect(said).toMatch(/^key scaleUp\.expanders .*price together with scaleUp\.prices/);
  });
});
