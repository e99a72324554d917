/** 100 pools, 5,000 nodes and 3,000 pending pods: the answer is there at once, and lists keep few elements. */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../../src/api/served/api.ts';
import type { DocumentInput } from '../../src/api/documents/document-input.ts';
import type { HttpEndpoint } from '../../src/cli/serving/listener.ts';
import { manyPools } from '../api/many-pools.ts';
import { launchChromium, openPage, screenshot, slowDown } from './chromium.ts';
import { TOO_WIDE } from './in-page.ts';
import { serveLoops } from './served.ts';

/** Updates of one measurement. */
const UPDATES = 15;

let browser: Browser;
let endpoint: HttpEndpoint;
let input: DocumentInput;
let api: Api;
/** The world's time passes as the browser's does. */
let startMs = 0;
const nowMs = (): number => startMs + performance.now();

beforeAll(async () => {
  input = await manyPools();
  startMs = input.report.observation.nowMs + 3_000 - performance.now();
  ({ endpoint, api } = await serveLoops({ input: () => input, now: nowMs }));
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await endpoint.close();
});

describe('the page of a large cluster', () => {
  it('shows pools before changes, problems as rows and pools at rest as cells, and filters them', async () => {
    const { page, troubles, close } = await openPage(browser, endpoint.url);
    await page.locator('.cells a').first().waitFor();
    expect(await page.locator('#pools .cells a, #pools tbody tr').count()).toBe(100);
    const order = await page.locator('main .panel').evaluateAll((all) => all.map(({ id }) => id));
    expect(order.indexOf('pools')).toBeLessThan(order.indexOf('changes'));
    expect(await page.locator('#pending .rows > li').count()).toBe(8);
    expect(await page.locator('#pending .more').innerText()).toContain('and 52 more classes, 2\u202f600 pods');
    await screenshot(page, 'large');
    await page.getByLabel('Group pools at rest by').selectOption('by team');
    await expect.poll(() => page.locator('#pools h3').allInnerTexts()).toContainEqual(expect.stringMatching(/^team=render/));
    await screenshot(page, 'large-by-label');
    await page.getByLabel('Filter pools').fill('team=render');
    await expect.poll(() => page.locator('#pools .cells a, #pools tbody tr').count()).toBe(10);
    await page.getByLabel('Filter pools').fill('state:frozen');
    await expect.poll(() => page.locator('#pools tbody tr').count()).toBe(4);
    expect(troubles).toEqual([]);
    await close();
  });

  it('opens long lists page by page, with a few dozen elements at any time', async () => {
    const { page, close } = await openPage(browser, `${endpoint.url}/#pending/impossible`);
    const rows = page.locator('.sheet .winrow');
    await rows.first().waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.goto(`${endpoint.url}/#waste/NotUnderutilized`);
    await page.getByText(/first 100 of 4/).waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.locator('.sheet .win').evaluate((box) => box.scrollTo(0, 100_000));
    await page.getByText(/first 200 of 4/).waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await close();
  });

  it('fits on a phone', async () => {
    const { page, close } = await openPage(browser, endpoint.url, { viewport: { width: 390, height: 844 } });
    await page.locator('.cells a').first().waitFor();
    expect(await page.evaluate(TOO_WIDE)).toEqual([]);
    await close();
  });

  // Reported, not asserted: the machine that runs this may be busy with other things.
  it('measures the first paint and the updates, with the CPU slowed six times', async () => {
    const { page, close } = await openPage(browser, 'about:blank');
    const session = await slowDown(page, 6);
    const startMs = performance.now();
    await page.goto(endpoint.url);
    await page
      .getByText(/pods pending/)
      .first()
      .waitFor();
    const answerMs = Math.round(performance.now() - startMs);
    for (const read of ['#changes .none', '#decisions .dec > li', '#latency .none']) await page.locator(read).first().waitFor();
    const each: Work[] = [];
    for (let at = 1; at <= UPDATES; at++) {
      const before = await workOf(session);
      input = nextLoop(input, at);
      api.loopEnded();
      await shows(page, `live, loop ${input.report.loopId},`);
      await settled(page);
      each.push(difference(await workOf(session), before));
    }
    const heap = (await session.send('Runtime.getHeapUsage')).usedSize;
    const [script, layout] = [median(each.map((work) => work.script)), median(each.map((work) => work.layout))];
    process.stdout.write(
      `first answer ${answerMs} ms; median of an update: script ${script.toFixed(1)} ms, style and layout ${layout.toFixed(1)} ms; ` +
        `heap ${Math.round(heap / 1e6)} MB\n`,
    );
    expect(await page.locator('#pools .cells a, #pools tbody tr').count()).toBe(100);
    await close();
  });
});

/** Two pools and the pods of a class change in each loop. */
function nextLoop(before: DocumentInput, at: number): DocumentInput {
  const { report } = before;
  const { cloud } = report.observation;
  const groups = cloud.groups.map((group, index) =>
    (index === at || index === at + 50) && group.target.known ? { ...group, target: { ...group.target, value: 50 + (at % 3) } } : group,
  );
  const atMs = Math.round(nowMs());
  const observation = { ...report.observation, nowMs: atMs, cloud: { ...cloud, groups } };
  return { ...before, report: { ...report, loopId: report.loopId + 1, startedAtMs: atMs, observation } };
}

/** Time that the page spent, milliseconds. */
interface Work {
  readonly script: number;
  readonly layout: number;
}

async function workOf(session: CDPSession): Promise<Work> {
  // Time of the thread: what else the machine does is not counted. The slowing is, since it keeps the thread busy.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name: string): number => (metrics.find((metric) => metric.name === name)?.value ?? 0) * 1000;
  return { script: of('ScriptDuration'), layout: of('LayoutDuration') + of('RecalcStyleDuration') };
}

function difference(after: Work, before: Work): Work {
  return { script: after.script - before.script, layout: after.layout - before.layout };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

/** Reads one element: a search for a text in the whole page would be the larger part of what is measured. */
async function shows(page: Page, text: string): Promise<void> {
  await expect.poll(() => page.evaluate(`document.querySelector('.sign').textContent`), { interval: 200 }).toContain(text);
}

/** Until what an update causes is drawn, effects included. */
async function settled(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))');
}
