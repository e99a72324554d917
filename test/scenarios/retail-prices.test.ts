/** List prices in the whole loop: the cheaper pool grows, and a list that fails stops nobody. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFile, temporaryFolder } from '../support/temporary-folder.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

/** By waste alone the small pool would grow; the big Spot pool costs less than half. */
const POOLS = [aPool({ name: 'regular', count: 0 }), aPool({ name: 'spot', count: 0, vmSize: 'Standard_D8s_v5', priority: 'Spot' })];
const spotPods = { tolerations: [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Exists' }] };
const work = (name: string) => deployment({ name, replicas: 1, cpu: '3', memory: '8Gi', spec: spotPods });

describe('list prices', () => {
  it('decide between pools and outlive the process; a failed list is reported and stops no decision', async () => {
    const run = await startedWorld({ spec: worldOf(POOLS) });
    const { arm, cluster } = run.world;
    await run.stopDaemon();
    const kept = join(temporaryFolder(), 'kept', 'prices.json');
    const flags = ['--retail-prices', `--retail-prices-endpoint=${arm.url}/api/retail/prices`, `--retail-prices-file=${kept}`];
    await run.startDaemon(flags);
    await run.advance(MINUTE);
    cluster.apply(work('first'));
    await run.until('bound', () => bound(run, 'first') === 1, 15 * MINUTE);
    expect([capacity(run, 'regular'), capacity(run, 'spot')]).toEqual([0, 1]);

    arm.control.addFault({ id: 'list', match: { pathGlob: '/api/retail/prices' }, effect: { kind: 'answer', status: 503 } });
    // Files are written in real time, beside everything else.
    await expect.poll(() => existsSync(kept)).toBe(true);
    await run.stopDaemon();
    await run.startDaemon(flags);
    cluster.apply(work('second'));
    cluster.apply(work('third'));
    await run.until('bound', () => bound(run, 'second') + bound(run, 'third') === 2, 15 * MINUTE);
    expect([capacity(run, 'regular'), capacity(run, 'spot')]).toEqual([0, 2]);
    expect(run.world.violations()).toEqual([]);
  });

  it('that are read by default are shown, and decide nothing', async () => {
    const run = await startedWorld({ spec: worldOf(POOLS) });
    await run.stopDaemon();
    await run.startDaemon([`--retail-prices-endpoint=${run.world.arm.url}/api/retail/prices`]);
    await run.advance(MINUTE);
    run.world.cluster.apply(work('first'));
    await run.until('bound', () => bound(run, 'first') === 1, 15 * MINUTE);
    expect([capacity(run, 'regular'), capacity(run, 'spot')]).toEqual([1, 0]);
    expect(Object.keys(run.reports.at(-1)?.prices?.listPrices?.table ?? {})).toEqual(['standard_d4s_v5', 'standard_d8s_v5']);
  });

  it('that are read by default and not reachable are one line of the log and a few calls a day', async () => {
    const lines: string[] = [];
    const run = await startedWorld({ spec: worldOf(POOLS), onLog: (line) => void lines.push(line) });
    const { arm, cluster } = run.world;
    arm.control.addFault({ id: 'list', match: { pathGlob: '/api/retail/prices' }, effect: { kind: 'reset', afterEffect: false } });
    await run.stopDaemon();
    await run.startDaemon([`--retail-prices-endpoint=${arm.url}/api/retail/prices`, '--scan-interval=1m']);
    cluster.apply(work('first'));
    await run.until('bound', () => bound(run, 'first') === 1, 15 * MINUTE);
    await run.advance(80 * MINUTE);
    const calls = arm.control.journal().filter(({ path }) => path === '/api/retail/prices').length;
    expect(calls).toBeGreaterThan(1);
    expect(calls).toBeLessThan(5);
    expect([capacity(run, 'regular'), capacity(run, 'spot')]).toEqual([1, 0]);
    expect(lines.filter((line) => /price/i.test(line))).toEqual([expect.stringContaining('Prices are not reachable')]);
    expect(run.reports.flatMap(({ rounds }) => rounds.flatMap(({ plan }) => plan.notes ?? []))).toEqual([]);
    expect(run.reports.at(-1)?.prices?.listPrices?.unreachableSinceMs).toBeDefined();
  });

  it('and paid nodes: the expander price fills the paid size first, then the cheaper one', async () => {
    const pools = [aPool({ name: 'small', count: 0 }), aPool({ name: 'paid', count: 0, vmSize: 'Standard_D8s_v5' })];
    const run = await startedWorld({ spec: worldOf(pools) });
    await run.stopDaemon();
    const file = configFile('scaleUp: {expanders: [price], paidNodes: [{size: Standard_D8s_v5, count: 2}]}\n');
    await run.startDaemon([`--config=${file}`, `--retail-prices-endpoint=${run.world.arm.url}/api/retail/prices`]);
    await run.advance(MINUTE);
    // Two in each node of 8 cores, or one in each node of 4.
    run.world.cluster.apply(deployment({ name: 'first', replicas: 4, cpu: '3', memory: '8Gi' }));
    await run.until('bound', () => bound(run, 'first') === 4, 15 * MINUTE);
    expect([capacity(run, 'small'), capacity(run, 'paid')]).toEqual([0, 2]);
    run.world.cluster.apply(deployment({ name: 'second', replicas: 1, cpu: '3', memory: '8Gi' }));
    await run.until('bound', () => bound(run, 'second') === 1, 15 * MINUTE);
    expect([capacity(run, 'small'), capacity(run, 'paid')]).toEqual([1, 2]);
    expect(run.world.violations()).toEqual([]);
  });

  it('never read: pools grow as without prices', async () => {
    const run = await startedWorld({ spec: worldOf(POOLS) });
    run.world.arm.control.addFault({
      id: 'list',
      match: { pathGlob: '/api/retail/prices' },
      effect: { kind: 'reset', afterEffect: false },
    });
    await run.stopDaemon();
    await run.startDaemon(['--retail-prices', `--retail-prices-endpoint=${run.world.arm.url}/api/retail/prices`]);
    run.world.cluster.apply(work('first'));
    await run.until('bound', () => bound(run, 'first') === 1, 15 * MINUTE);
    expect([capacity(run, 'regular'), capacity(run, 'spot')]).toEqual([1, 0]);
    expect(
      run.reports.some(({ rounds }) =>
        rounds.some(({ plan }) => plan.notes?.some((note) => note.text.startsWith('The price list could not be read'))),
      ),
    ).toBe(true);
  });
});
