/** The script and the style of the plots: from beside the bundle, or built from the sources. Must not know what is plotted. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PageAssets } from './html-report.ts';

/** Written by `build-charts.ts` when the package is built. */
const BUNDLED = join(import.meta.dirname, 'charts.json');

/** Throws what esbuild reports. */
export async function pageAssets(): Promise<PageAssets> {
  const text = await readFile(BUNDLED, 'utf8').catch(() => undefined);
  if (text !== undefined) return JSON.parse(text) as PageAssets;
  return (await import('./build-charts.ts')).buildCharts();
}
