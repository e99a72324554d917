/**
 * A short soak: random worlds and misfortunes, judged from outside (the long one is `npm run soak`). The seeds are those
 * that once found something, and what they found is said beside them.
 */
import { describe, expect, it } from 'vitest';
import { soak } from '../soak/soak.ts';

const SEEDS = [
  { seed: 13, loops: 60, found: 'a 409 that changed nothing made the loop run hot' },
  { seed: 50, loops: 60, found: 'a lost write and a capacity read as 0 let a PUT lower a set' },
  { seed: 55, loops: 100, found: 'a PUT under the present tag is no lost update, whatever list the tag came from' },
  { seed: 302, loops: 60, found: 'a deletion that was answered as done and never happened left its node marked for an hour' },
  { seed: 3, loops: 60, found: 'machines of a pool that appears later get nodes' },
] as const;

describe('soak', () => {
  it.each(SEEDS)(
    'seed $seed: $found',
    async ({ seed, loops }) => {
      const { violations, unplannedRemovals, unrest, crash, convergedAfterMs } = await soak(seed, loops);
      expect({ violations, unplannedRemovals, unrest, crash }).toEqual({
        violations: [],
        unplannedRemovals: [],
        unrest: [],
        crash: undefined,
      });
      expect(convergedAfterMs).toBeDefined();
    },
    60_000,
  );

  it('the same seed makes the same writes, restarts and kills included', async () => {
    const first = await soak(51, 60);
    expect(first.writes.length).toBeGreaterThan(3);
    expect((await soak(51, 60)).writes).toEqual(first.writes);
  }, 60_000);
});
