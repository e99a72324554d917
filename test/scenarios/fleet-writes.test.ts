/** Four clusters of one subscription while Azure accepts few writes: one removes many nodes, the others need some. */
import { expect, it } from 'vitest';
import { liveWithGreedy } from '../soak/fleet/greedy-story.ts';

it('a cluster that removes many nodes leaves the others the writes that they need, and is done within two and a half minutes', async () => {
  const { greedy, others, violations } = await liveWithGreedy(4, 'memory');
  expect(greedy.postponed).toBeGreaterThan(0);
  expect([greedy.refused, others.refused]).toEqual([0, 0]);
  expect(greedy.deletions).toBe(greedy.idlePools);
  expect(others.waits.longest).toBeLessThan(1);
  expect(violations).toBe(0);
});
