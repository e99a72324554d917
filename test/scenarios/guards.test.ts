/** Short runs that each would fail without one of the daemon's guards. All of them are `npm run soak -- --guards`. */
import { describe, expect, it } from 'vitest';
import { immortal } from '../soak/deaths.ts';
import { undergo } from '../soak/soak.ts';
import { GUARD_RUNS } from '../soak/mutations/guards.ts';
import { themed } from '../soak/themed.ts';

const FAST_ENOUGH = 30;

/** More than one guard stands behind each of these: no single loss is noticed. */
const OTHERS = [
  { guard: 'lost answers', theme: 'lost answers', seed: 1, loops: 24 },
  { guard: 'other writers of agent pools', theme: 'pool racers', seed: 1, loops: 24 },
  { guard: 'other writers of agent pools, through AKS', theme: 'pool racers through AKS', seed: 1, loops: 24 },
] as const;

describe('a run that would notice the loss of the guard', () => {
  it.each([...GUARD_RUNS.filter(({ loops }) => loops <= FAST_ENOUGH), ...OTHERS])(
    '$guard',
    async ({ theme, seed, loops }) => {
      const { violations, unplannedRemovals, unrest, crash, convergedAfterMs } = await undergo(themed(theme, seed, loops), immortal());
      expect({ violations, unplannedRemovals, unrest, crash }).toEqual({
        violations: [],
        unplannedRemovals: [],
        unrest: [],
        crash: undefined,
      });
      expect(convergedAfterMs).toBeDefined();
    },
    240_000,
  );
});
