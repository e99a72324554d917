/** The report of `lab run` in Chromium: it runs nothing but its own script, draws every plot, and fits a phone. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCharts } from '../../world/lab/report/build-charts.ts';
import { htmlReport } from '../../world/lab/report/html-report.ts';
import { aReport } from '../../world/test/lab/report/builders.ts';
import { launchChromium, openPage, screenshot } from './chromium.ts';
import { LOW_CONTRASTS } from './in-page.ts';

let browser: Browser;
let server: Server;
let url: string;
beforeAll(async () => {
  browser = await launchChromium();
  const others = [80, 82, 79].map((costPerDay, at) => ({ costPerDay, evictions: 33 + at, armCalls: 2_300 + at * 200 }));
  const html = htmlReport(aReport(others), await buildCharts());
  server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(html));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  await browser.close();
  server.close();
});

/** Runs in the page: canvases on which nothing is drawn. */
const EMPTY_CANVASES = `[...document.querySelectorAll('canvas')].filter((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return !data.some((value) => value !== 0);
}).length`;

describe('the report in a browser', () => {
  it.each([
    { name: 'light', colorScheme: 'light', width: 1200 },
    { name: 'dark', colorScheme: 'dark', width: 1200 },
    { name: 'narrow', colorScheme: 'light', width: 390 },
  ] as const)('is whole and readable: $name', async ({ name, colorScheme, width }) => {
    const { page, troubles, close } = await openPage(browser, url, { colorScheme, viewport: { width, height: 900 } });
    await expect.poll(() => page.locator('canvas').count()).toBe(7);
    await expect.poll(() => page.evaluate(EMPTY_CANVASES)).toBe(0);
    await screenshot(page, `lab-report-${name}`);
    expect(await page.locator('.verdict').innerText()).toBe(
      'proposed compared with current: 19.7 % less cost (sure, 3 of 3 seeds); the same waiting; 4 more evictions a day (sure, 3 of 3 seeds).',
    );
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(await page.evaluate(LOW_CONTRASTS)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  it('draws again when the colours of the system change', async () => {
    const { page, troubles, close } = await openPage(browser, url, { colorScheme: 'light' });
    await expect.poll(() => page.locator('canvas').count()).toBe(7);
    const picture = `document.querySelector('canvas').toDataURL()`;
    const first = await page.evaluate(picture);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(() => page.evaluate(picture)).not.toBe(first);
    expect(await page.locator('canvas').count()).toBe(7);
    expect(troubles).toEqual([]);
    await close();
  });
});
