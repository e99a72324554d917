/**
 * The daemon dies at a call of its own, and a new one takes over: every write to Azure of a short life, for every kind of pool,
 * with stock and without. All calls are gone through by `npm run soak -- --deaths`.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { deathsOf, die, LIVES, type Death } from '../soak/every-death.ts';

const TO_AZURE = /^(PUT|POST) .*\/(virtualMachineScaleSets|agentPools)\/[^/]+(\/delete(Machines)?)?$/;

describe.each(LIVES)('a life of %s', (life) => {
  let deaths: readonly Death[] = [];

  beforeAll(async () => {
    const lived = await deathsOf(life);
    expect(lived.whole).toMatchObject({ violations: [], unplannedRemovals: [], unrest: [], crash: undefined });
    deaths = lived.deaths.filter(({ call }) => TO_AZURE.test(call.what));
  }, 120_000);

  it('any write to Azure may be the last thing that a process does', async () => {
    expect(deaths.length).toBeGreaterThanOrEqual(4);
    for (const death of deaths) {
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
  }, 240_000);
});
