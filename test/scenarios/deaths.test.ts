/**
 * The daemon dies at a call of its own, and a new one takes over: one of some writes to Azure of short lives, with stock and without.
 * All calls are covered by `npm run soak -- --deaths`.
 */
import { describe, expect, it } from 'vitest';
import { deathsOf, die, type Life } from '../soak/every-death.ts';

const TO_AZURE = /^(PUT|POST) .*\/(virtualMachineScaleSets|virtualMachines|agentPools)\/[^/]+(\/(delete(Machines)?|deallocate|start))?$/;

/** Every write has a death before its effect and one after it: an odd step has both moments. */
const LIVES: readonly (readonly [Life, number])[] = [
  ['uniform', 5],
  ['uniform-scarce', 5],
  ['stopping', 5],
  ['stopping-machines', 9],
  ['stopping-counted', 9],
  ['flexible-scarce', 7],
  ['vms-pool', 5],
];

describe('a process whose last call is a write to Azure', () => {
  it.each(LIVES)('is followed by one that goes on, in a life of %s (one of %i deaths)', async (life, step) => {
    const lived = await deathsOf(life);
    expect(lived.whole).toMatchObject({ violations: [], unplannedRemovals: [], unrest: [], crash: undefined });
    const deaths = lived.deaths.filter(({ call }) => TO_AZURE.test(call.what));
    expect(deaths.length).toBeGreaterThanOrEqual(4);
    for (const death of deaths.filter((_, index) => index % step === 0)) {
      const { violations, unplannedRemovals, unrest, crash, convergedAfterMs } = await die(life, death);
      expect({ death, violations, unplannedRemovals, unrest, crash }).toEqual({
        death,
        violations: [],
        unplannedRemovals: [],
        unrest: [],
        crash: undefined,
      });
      expect(convergedAfterMs).toBeDefined();
    }
  });
});
