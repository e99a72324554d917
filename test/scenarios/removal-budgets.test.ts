/** Budgets of removals hold in the running daemon: for each pool, over time, and over a restart. */
import { expect, it } from 'vitest';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, capacity, MINUTE, worldOf } from './support.ts';

it('a share of each pool is removed within the window, also by two processes', async () => {
  const pools = [aPool({ name: 'wide', count: 8, min: 0, max: 10 }), aPool({ name: 'small', count: 3, min: 0 })];
  const run = await startedWorld({ spec: worldOf(pools) });
  await run.stopDaemon();
  const file = configFile('scaleDown: {unneededTime: 1m, delayAfterAdd: 0s, removalWindow: 20m, budgets: [{percent: 25, per: pool}]}\n');
  const flags = [`--config=${file}`];
  await run.startDaemon(flags);
  const sizes = () => [capacity(run, 'wide'), capacity(run, 'small')];
  await run.until('the budgets are used', () => sizes().join() === '6,2', 5 * MINUTE);
  await run.advance(MINUTE);
  await run.stopDaemon();
  await run.startDaemon(flags);
  await run.advance(10 * MINUTE);
  expect(sizes()).toEqual([6, 2]);
  const details = run.reports.at(-1)?.scaleDown?.kept.map(({ detail = '' }) => detail) ?? [];
  expect(details).toContain('a removal budget allows 2 nodes, 25 % of the 6 nodes of its node group, within 20 min; used: 2, needed: 1');
  await run.until('the window has passed', () => sizes().join() === '4,1', 15 * MINUTE);
  expect(run.world.violations()).toEqual([]);
});
