/**
 * The page as one file: from beside the bundle, or built from the sources when it is first asked for. Must not know what the page shows.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Page {
  readonly html: string;
  /** Its Content-Security-Policy: nothing but its own script and style, and this server. */
  readonly policy: string;
}

const BUNDLED = join(import.meta.dirname, 'page.html');

/** Makes it once. undefined: this build has neither the file nor the sources. */
export function pageReader(build: () => Promise<string | undefined> = buildFromSource): () => Promise<Page | undefined> {
  let page: Promise<Page | undefined> | undefined;
  const read = async (): Promise<Page | undefined> => {
    const html = (await readFile(BUNDLED, 'utf8').catch(() => undefined)) ?? (await build());
    return html === undefined ? undefined : { html, policy: policyFor(html) };
  };
  return () => (page ??= read());
}

/** The bundle does not contain the builder. */
async function buildFromSource(): Promise<string | undefined> {
  try {
    const { buildPage } = await import('../../page/build-page.ts');
    return await buildPage();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw thrown;
  }
}

/** Scripts and styles are allowed by their content alone. */
function policyFor(html: string): string {
  const hashes = (tag: string): string =>
    [...html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))]
      .map(([, content = '']) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`)
      .join(' ');
  return [
    "default-src 'none'",
    `script-src ${hashes('script')}`,
    `style-src ${hashes('style')}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
