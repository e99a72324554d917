/** The page as it is served: one file, allowed by the hash of its parts, and small. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { pageReader } from '../../src/cli/serving/page-file.ts';

const MOST_BYTES = 60_000;

it('is built from the sources, small, and contains everything that it needs', async () => {
  const page = await pageReader()();
  const html = page?.html ?? '';
  expect(html).toContain('<div id="page">');
  expect(html).not.toContain('/* script */');
  expect(gzipSync(html).length).toBeLessThan(MOST_BYTES);
  expect(html).not.toMatch(/<(link|img|iframe|object)\b|\bsrc="|url\(|@import|https?:\/\/(?!www\.w3\.org)/);
});

it('is allowed by the hash of its script and its style, and nothing else is', async () => {
  const page = await pageReader(() => Promise.resolve('<style>p{}</style><script>go()</script>'))();
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  expect(page?.policy).toBe(
    `default-src 'none'; script-src ${hash('go()')}; style-src ${hash('p{}')}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});

it('is made once, and is absent from a build without it', async () => {
  let made = 0;
  const read = pageReader(() => Promise.resolve(String(++made)));
  expect([(await read())?.html, (await read())?.html, made]).toEqual(['1', '1', 1]);
  expect(await pageReader(() => Promise.resolve(undefined))()).toBeUndefined();
});
