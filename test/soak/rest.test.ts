/** "Did not come to rest" is judged in the time of the world: a slow machine neither finds unrest nor hides it. */
import { expect, it } from 'vitest';
import { immortal } from './deaths.ts';
import { undergo } from './soak.ts';
import { themed } from './themed.ts';

const MINUTE = 60_000;

it('a run in which pods wait although their pool could grow never comes to rest, after as many loops as that time has', async () => {
  const { flags, ...scenario } = themed('racers', 1, 1);
  const steps = [{ atMs: 0, step: { kind: 'scale', workload: 'a', replicas: 5 } }] as const;
  // The daemon may not add a node, which the judge does not know.
  const still = { ...scenario, steps, flags: [...flags, '--max-nodes-total=1'], restWithinMs: 4 * MINUTE };
  const { loops, convergedAfterMs, unrest, violations } = await undergo(still, immortal());
  expect([convergedAfterMs, violations]).toEqual([undefined, []]);
  expect(unrest.join()).toMatch(/waits although \S+ could grow/);
  // One loop in ten seconds, and one more for each wake.
  expect(loops).toBeGreaterThanOrEqual(24);
  expect(loops).toBeLessThanOrEqual(60);
});
