/** The browser of the tests: Debian's Chromium, or the one that a variable names. */
import { accessSync, constants } from 'node:fs';
import { type Browser, type BrowserContextOptions, type CDPSession, chromium, type Page } from 'playwright-core';

export const CHROMIUM_VARIABLE = 'CHROMIUM';

/** How many times slower each page is, to find rows that depend on speed. */
const SLOW_VARIABLE = 'SLOW';

/** Only ends a test that hangs: how fast a browser is depends on what else its machine does. */
export const PATIENCE_MS = 60_000;

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function findChromium(): string | undefined {
  const named = process.env[CHROMIUM_VARIABLE];
  return [...(named === undefined ? [] : [named]), ...PATHS].find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Chromium refuses its sandbox to root. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium() ?? '', args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

export interface OpenedPage {
  readonly page: Page;
  /** Errors of scripts and the console, violations of the policy included; and requests to other servers. */
  readonly troubles: string[];
  readonly close: () => Promise<void>;
}

/** @returns what measures this page. */
export async function slowDown(page: Page, times: number): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: times });
  return session;
}

/** Opens the address and collects everything that goes wrong. Failed requests to the daemon count only if `strict`. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await slowDown(page, Number(process.env[SLOW_VARIABLE] ?? 1));
  const troubles: string[] = [];
  const origin = new URL(url).origin;
  page.on('pageerror', (error) => troubles.push(`page: ${error.message}`));
  page.on('console', (message) => {
    // Chromium reports each response above 399 as an error; the page shows those in words.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) troubles.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) troubles.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, troubles, close: () => context.close() };
}

/** Writes a picture if the variable SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string, fullPage = true): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage, animations: 'disabled' });
}
