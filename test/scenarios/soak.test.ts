/**
 * A short soak: random worlds and misfortunes, judged from outside (the long one is `npm run soak`). What a seed found is
 * said beside it.
 */
import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../world/simulator/arm/http/journal.ts';
import { ratesExceeded } from '../soak/judge.ts';
import { soak } from '../soak/soak.ts';

const SEEDS = [
  { seed: 1020, loops: 120, deadly: false, found: 'a clock that is set back made rests last for hours' },
  { seed: 10098, loops: 120, deadly: false, found: 'what others took while a removal ran was counted as there' },
] as const;

describe('soak', () => {
  it.each(SEEDS)(
    'seed $seed: $found',
    async ({ seed, loops, deadly }) => {
      const { violations, unplannedRemovals, unrest, crash, convergedAfterMs } = await soak(seed, loops, deadly);
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

  it('the same seed makes the same writes, restarts and kills included', async () => {
    const first = await soak(51, 40);
    expect(first.writes.length).toBeGreaterThan(3);
    expect((await soak(51, 40)).writes).toEqual(first.writes);
  }, 240_000);
});

describe('the judge of the rate of writes', () => {
  const at = (seconds: number, path = '/a/virtualMachineScaleSets/one'): JournalEntry => ({
    seq: seconds,
    at: seconds * 1_000,
    method: 'PUT',
    route: 'PUT virtualMachineScaleSets/{name}',
    path,
    status: 200,
    principal: 'x',
  });
  const burst = (length: number, path?: string): readonly JournalEntry[] => Array.from({ length }, (_, index) => at(index / 100, path));

  it.each([
    { what: 'twelve at once', writes: burst(12), starts: [], exceeded: 0 },
    { what: 'thirteen at once', writes: burst(13), starts: [], exceeded: 1 },
    { what: 'thirteen of two sets', writes: [...burst(7), ...burst(6, '/a/virtualMachineScaleSets/TWO/delete')], starts: [], exceeded: 0 },
    {
      what: 'raises and removals together',
      writes: [...burst(7), ...burst(6, '/a/virtualMachineScaleSets/ONE/delete')],
      starts: [],
      exceeded: 1,
    },
    { what: 'the thirteenth 16 s later', writes: [...burst(12), at(16)], starts: [], exceeded: 0 },
    { what: 'the thirteenth by another process', writes: [...burst(12), at(2)], starts: [1_000], exceeded: 0 },
  ])('$what: $exceeded', ({ writes, starts, exceeded }) => expect(ratesExceeded(writes, starts)).toHaveLength(exceeded));
});
