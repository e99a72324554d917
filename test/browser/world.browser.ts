/** The page of a daemon in the emulated world: what it shows is compared with the world, and used by keyboard. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentsDocument } from '../../src/api/documents/agents.ts';
import { deployment, MINUTE } from '../scenarios/support.ts';
import type { VirtualRun } from '../support/virtual-world.ts';
import { busyWorld } from './busy-world.ts';
import { steadyAddress, type SteadyAddress } from './steady-address.ts';
import { LOW_CONTRASTS, SMALL_TARGETS, TOO_WIDE } from './in-page.ts';
import { launchChromium, type OpenedPage, openPage, screenshot } from './chromium.ts';

let browser: Browser;
let run: VirtualRun;
let address: SteadyAddress;
let opened: OpenedPage;
let page: Page;
const url = (): string => address.url;

beforeAll(async () => {
  run = await busyWorld();
  address = await steadyAddress(() => (run.isRunning ? run.daemon.url : undefined));
  browser = await launchChromium();
  opened = await openPage(browser, `${url()}/?range=6h`, { permissions: ['clipboard-read', 'clipboard-write'] });
  page = opened.page;
  await page.locator('.lane .mk').first().waitFor();
});
afterAll(async () => {
  await browser.close();
  address.close();
  await run.stop();
});

/** Ready nodes of the world by agent pool. */
function worldNodes(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { metadata, status } of run.world.cluster.store.nodes()) {
    if (!status?.conditions?.some(({ type, status: now }) => type === 'Ready' && now === 'True')) continue;
    const pool = metadata.labels?.['agentpool'] ?? '';
    counts[pool] = (counts[pool] ?? 0) + 1;
  }
  return counts;
}

/** The pictures of the documentation. */
async function pictures(): Promise<void> {
  const desk = await openPage(browser, url(), { viewport: { width: 1180, height: 860 }, colorScheme: 'light' });
  await desk.page.locator('.lane .mk').first().waitFor();
  await screenshot(desk.page, 'page', false);
  await desk.close();
  const phone = await openPage(browser, url(), { viewport: { width: 390, height: 780 }, colorScheme: 'dark' });
  await phone.page.locator('.lane .mk').first().waitFor();
  await screenshot(phone.page, 'page-phone', false);
  await phone.close();
}

describe('the page shows the world', () => {
  it('in its largest text: how many pods are pending', async () => {
    const pending = run.world.cluster.store.pendingPods().length;
    expect(await page.locator('h1').innerText()).toMatch(
      new RegExp(`^${pending} pods pending: \\d+ need a change, 6 wait for a pool, \\d+ have nodes? coming$`),
    );
    await screenshot(page, 'world-light');
    await pictures();
    expect(opened.troubles).toEqual([]);
  });

  it('a row per class of pods, what needs a change first, with a fix that was simulated', async () => {
    const rows = await page.locator('#pending .rows > li').allInnerTexts();
    expect(rows.map((text) => /default\/(\w+)/.exec(text)?.[1])).toEqual(['web', 'search', 'frames', 'reports']);
    expect(rows[0]).toContain('Fix that works: raise the maximum of');
    expect(rows[0]).toMatch(/Simulated: 7 of 7 pods on \d+ more nodes, \d+\.\d\d USD\/h/);
    expect(rows[2]).toContain('Waits for a pool');
  });

  it('every pool with the nodes that it has', async () => {
    const counts = worldNodes();
    for (const row of await page.locator('#pools tbody tr').all()) {
      const name = (await row.locator('th a').innerText()).trim();
      const cells = await row.locator('td.num').allInnerTexts();
      expect([name, Number(cells[1])], name).toEqual([name, counts[name] ?? 0]);
    }
  });

  it('all nodes: underused ones by blocker, and the others', async () => {
    const title = await page.locator('#waste h2').innerText();
    const rest = await page.locator('#waste .tools').innerText();
    const sum = Number(/(\d+) underused/.exec(title)?.[1] ?? 0) + Number(/^(\d+) other/.exec(rest)?.[1] ?? 0);
    expect(sum).toBe(run.world.cluster.store.nodes().length);
  });

  it('each change on the time axis with its cause and its writer, and the same as a table', async () => {
    const marks = await page.locator('.lane .mk').evaluateAll((all) => all.map((mark) => mark.getAttribute('aria-label') ?? ''));
    expect(marks.some((text) => /^increase at .*: 1 → 6 for 8 pods of default\/shop|^increase at .*default\/shop/.test(text))).toBe(true);
    expect(marks.some((text) => text.startsWith('another writer at') && text.includes('1 → 3'))).toBe(true);
    expect(marks.some((text) => text.startsWith('failed at'))).toBe(true);
    await page.getByRole('button', { name: 'Show as table' }).click();
    await expect.poll(() => page.locator('#changes tbody tr').count()).toBe(marks.length);
    await page.getByRole('button', { name: 'Show as chart' }).click();
  });

  it('decisions, searchable; an opened one with the options that lost', async () => {
    await page.getByLabel('Search decisions').fill('reports');
    await expect.poll(() => page.locator('#decisions .dec > li').count()).toBe(1);
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('reports');
    await page.locator('#decisions .dec a').first().click();
    const sheet = page.locator('.sheet');
    await sheet.getByText('chosen').waitFor();
    expect(await sheet.innerText()).toContain('for 6 pods');
    await page.keyboard.press('Escape');
    await page.getByLabel('Search decisions').fill('');
  });

  it('when each kind of data of Azure was read, and no table of clusters if nothing is shared', async () => {
    const rows = page.locator('#reads tbody tr');
    await rows.first().waitFor();
    expect((await rows.locator('th').allInnerTexts()).map((text) => text.split('\n')[0]?.replace(/ \d+ readers.*/, ''))).toEqual(
      expect.arrayContaining(['Scale sets', 'Instances', 'VM sizes', 'Quota usage']),
    );
    const { agents } = (await (await fetch(`${run.daemon.url ?? ''}/api/v1/agents`)).json()) as AgentsDocument;
    expect(await rows.count()).toBe(new Set(agents.map(({ kind }) => kind)).size);
    expect(await page.locator('#clusters').count()).toBe(0);
  });

  it('a command that can be copied', async () => {
    // The word is shown for a short time: whoever looks for it must be there first.
    const said = page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.locator('#pending .fix .btn').first().click();
    await said;
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^az aks nodepool update .* --tags /);
  });
});

describe('the page by keyboard', () => {
  const focused = (): Promise<string> => page.evaluate(`document.activeElement?.textContent ?? ''`);

  it('answers a question: / asks, Enter opens, Esc closes', async () => {
    await page.locator('body').press('/');
    await page.keyboard.type('memory');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.sheet .say').waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#pool\/aks-memory/);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('.sheet').count()).toBe(0);
    // The focus is in the box again; another Esc leaves it.
    await page.keyboard.press('Escape');
  });

  it('jumps to a panel, walks through its rows, opens one and comes back to it', async () => {
    await page.locator('body').press('o');
    const first = await focused();
    await page.keyboard.press('ArrowDown');
    const second = await focused();
    expect(second).not.toBe(first);
    await page.keyboard.press('Enter');
    await page.locator('.sheet .say').waitFor();
    await screenshot(page, 'sheet-pool', false);
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe(second);
  });

  it.each([
    ['p', '#pending'],
    ['t', '#changes'],
    ['n', '#waste'],
    ['d', '#decisions'],
  ])('%s jumps to %s', async (key, panel) => {
    await page.keyboard.press(key);
    await expect.poll(() => page.evaluate(`document.querySelector('${panel}').contains(document.activeElement)`)).toBe(true);
  });

  it('? lists the keys', async () => {
    await page.keyboard.press('?');
    await expect.poll(() => page.locator('.sheet').innerText()).toContain('Ask why');
    await page.keyboard.press('Escape');
  });

  it('opens what the address names', async () => {
    const pod = run.world.cluster.store.pendingPods().find(({ metadata }) => metadata.name.startsWith('search'))?.metadata.name ?? '';
    const linked = await openPage(browser, `${url()}/#pod/default/${pod}`);
    await linked.page.locator('.sheet .say').waitFor();
    expect(await linked.page.locator('.sheet').innerText()).toContain('needs 64 CPU');
    await screenshot(linked.page, 'sheet-pod', false);
    expect(linked.troubles).toEqual([]);
    await linked.close();
  });
});

describe('the page on every screen', () => {
  it.each([
    ['a phone', 390, 'light'],
    ['a phone', 390, 'dark'],
    ['twice the text size', 720, 'light'],
    ['a desk', 1440, 'dark'],
  ] as const)('%s of %i px, %s: no sideways scrolling, and text that can be read', async (_what, width, colorScheme) => {
    const other = await openPage(browser, url(), { viewport: { width, height: 900 }, colorScheme, hasTouch: width < 500 });
    await other.page.locator('.lane .mk').first().waitFor();
    await screenshot(other.page, `world-${width}-${colorScheme}`);
    expect(await other.page.evaluate(TOO_WIDE)).toEqual([]);
    expect(await other.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    expect(await other.page.evaluate(LOW_CONTRASTS)).toEqual([]);
    if (width < 500) expect(await other.page.evaluate(SMALL_TARGETS)).toEqual([]);
    expect(other.troubles).toEqual([]);
    await other.close();
  });
});

describe('the page follows the world', () => {
  it('without a reload, and stands still while it is paused', async () => {
    const heading = page.locator('h1');
    const before = await heading.innerText();
    run.world.cluster.apply(deployment({ name: 'more', replicas: 3, cpu: '64' }));
    await run.advance(MINUTE);
    await expect.poll(() => heading.innerText()).not.toBe(before);
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await expect.poll(() => page.locator('.live').innerText()).toMatch(/^paused/);
    const paused = await heading.innerText();
    run.world.cluster.apply(deployment({ name: 'later', replicas: 2, cpu: '64' }));
    await run.advance(MINUTE);
    await expect.poll(() => page.locator('.live').innerText()).toMatch(/paused, \d+ newer loops/);
    expect(await heading.innerText()).toBe(paused);
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => heading.innerText()).not.toBe(paused);
    expect(opened.troubles).toEqual([]);
  });

  it('keeps its data when the daemon goes, says so, and comes back with the next process', async () => {
    await run.stopDaemon();
    await expect.poll(() => page.locator('.live').innerText()).toMatch(/^Connection lost \d+ s ago/);
    await expect.poll(() => page.locator('.act').innerText()).toContain('Allowed to act: unknown');
    expect(await page.locator('#pools tbody tr').count()).toBeGreaterThan(3);
    await screenshot(page, 'connection-lost', false);
    await run.startDaemon();
    await run.advance(MINUTE);
    await expect.poll(() => page.locator('.live').innerText()).toMatch(/^live, loop/);
    await expect.poll(() => page.locator('footer').innerText()).toContain('History since');
    await expect.poll(() => page.locator('#changes').innerText()).toMatch(/before|History since|No pool changed/);
    await screenshot(page, 'after-restart');
  });
});
