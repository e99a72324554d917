/** The page of a daemon in the emulated world: what it shows is compared with the world. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aPool, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { VirtualRun } from '../support/virtual-world.ts';
import { launchChromium, type OpenedPage, openPage, screenshot } from './chromium.ts';

let browser: Browser;
let run: VirtualRun;
let opened: OpenedPage;

beforeAll(async () => {
  run = await VirtualRun.start({
    spec: worldOf([
      aPool({ name: 'general', count: 1, min: 1, max: 4 }),
      aPool({ name: 'memory', vmSize: 'Standard_E8s_v5', count: 2, min: 2, max: 6 }),
    ]),
  });
  run.world.cluster.apply(deployment({ name: 'web', replicas: 12, cpu: '1500m' }));
  run.world.cluster.apply(deployment({ name: 'huge', replicas: 2, cpu: '64' }));
  await run.advance(15 * MINUTE);
  browser = await launchChromium();
  opened = await openPage(browser, run.daemon.url ?? '');
  await opened.page.locator('#pools tbody tr').first().waitFor();
});
afterAll(async () => {
  await browser.close();
  await run.stop();
});

describe('the page', () => {
  it('says the answer in its largest text, with the counts of the world', async () => {
    const pending = run.world.cluster.store.pendingPods().length;
    const heading = await opened.page.locator('h1').innerText();
    expect(heading).toMatch(new RegExp(`^${pending} pods pending: ${pending} need a change`));
    await screenshot(opened.page, 'world');
    expect(opened.troubles).toEqual([]);
  });
});
