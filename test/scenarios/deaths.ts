/**
 * The daemon dies at a call of its own, and a new one takes over: every write to Azure of a short life, with stock and without, or one
 * of `every` writes, where another kind of pool has all of them. All calls are covered by `npm run soak -- --deaths`.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { deathsOf, die, type Death, type Life } from '../soak/every-death.ts';

const TO_AZURE = /^(PUT|POST) .*\/(virtualMachineScaleSets|agentPools)\/[^/]+(\/delete(Machines)?)?$/;
/** The deaths of a life are dealt out to rows, so that no row takes long. */
const SHARES = [0, 1, 2, 3, 4, 5];

/** Rows for one kind of pool. Each kind has a file of its own, since files share the cores. */
export function describeDeaths(lives: readonly Life[], every = 1): void {
  describe.each(lives)('a life of %s', (life) => {
    let deaths: readonly Death[] = [];

    beforeAll(async () => {
      const lived = await deathsOf(life);
      expect(lived.whole).toMatchObject({ violations: [], unplannedRemovals: [], unrest: [], crash: undefined });
      deaths = lived.deaths.filter(({ call }) => TO_AZURE.test(call.what));
    });

    it('writes to Azure several times', () => expect(deaths.length).toBeGreaterThanOrEqual(4));

    it.each(SHARES)('any write to Azure may be the last call of a process (share %i)', async (share) => {
      const chosen = deaths.filter((_, index) => index % every === 0);
      for (const death of chosen.filter((_, index) => index % SHARES.length === share)) {
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
}
