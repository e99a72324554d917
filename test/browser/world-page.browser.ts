/** The page of the simulated world at `/_emu/`: what it shows is compared with the world, and a fault is raised by a click. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type RunningWorld } from '../../world/simulator/entry/world-entry.ts';
import { START_MS } from '../support/builders.ts';
import { launchChromium, type OpenedPage, openPage, screenshot } from './chromium.ts';

const POOLS = [
  { name: 'general', vmSize: 'Standard_D4s_v5', count: 3, min: 1, max: 9 },
  { name: 'spot', vmSize: 'Standard_D4s_v5', count: 2, min: 0, max: 5, priority: 'Spot' as const },
];

let world: RunningWorld;
let browser: Browser;
let opened: OpenedPage;
let page: Page;

beforeAll(async () => {
  world = await startWorld({ pools: POOLS, clock: { virtual: true, startMs: START_MS } });
  browser = await launchChromium();
  // The authority of the world is not the machine's.
  opened = await openPage(browser, `${world.urls.azure}/_emu/`, { ignoreHTTPSErrors: true });
  page = opened.page;
  await page.locator('#pools tr').first().waitFor();
});
afterAll(async () => {
  await browser.close();
  await world.stop();
});

/** Name, capacity and number of instances of each pool, as the page shows them. */
async function shownPools(): Promise<readonly (readonly [string, number, number])[]> {
  const rows = await page.locator('#pools tr').all();
  return Promise.all(
    rows.map(async (row) => {
      const [name = '', capacity = ''] = await row.locator('td').allInnerTexts();
      return [name.trim(), Number.parseInt(capacity, 10), await row.locator('.vm').count()] as const;
    }),
  );
}

const worldPools = () => world.pools().map(({ name, capacity, instances }) => [name, capacity, instances] as const);

describe('the page of the world', () => {
  it('shows every pool with its capacity and its instances', async () => {
    expect(await shownPools()).toEqual(worldPools());
    expect(await page.locator('#nofaults').isVisible()).toBe(true);
    await screenshot(page, 'simulated-world');
  });

  it('follows a change that another writer makes by a click, in the pools and in the journal', async () => {
    await page.locator('#pools tr', { hasText: 'general' }).getByRole('button', { name: 'another writer: +1' }).click();
    await expect.poll(() => world.pool('general').capacity).toBe(4);
    await expect.poll(shownPools).toEqual(worldPools());
    await expect.poll(() => page.locator('#journal .event').first().innerText()).toMatch(/EVENT foreignScale general capacity 3 to 4$/);
  });

  it('raises an incident of the catalogue by a click, shows it, and ends it by another', async () => {
    await page.locator('#incident').selectOption({ label: '15 precondition failed' });
    await page.locator('#pool').selectOption('general');
    await page.getByRole('button', { name: 'Inject' }).click();
    const row = page.locator('#faults tr', { hasText: 'precondition failed' });
    await row.waitFor();
    expect(await page.locator('#nofaults').isVisible()).toBe(false);
    expect(await row.innerText()).toContain('"pool":"general"');
    await row.getByRole('button', { name: 'end' }).click();
    await expect.poll(() => page.locator('#faults tr').count()).toBe(0);
  });

  it('has no error of its own and asks no other server', () => {
    expect(opened.troubles).toEqual([]);
  });
});
