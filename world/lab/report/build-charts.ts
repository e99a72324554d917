/**
 * Bundles the script and the style of the plots into two texts, with the plotting library. Run directly, it writes `charts.json` into the folder
 * of `--outdir`.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { PageAssets } from './html-report.ts';

/** Throws what esbuild reports. */
export async function buildCharts(): Promise<PageAssets> {
  const { outputFiles } = await build({
    entryPoints: ['main.ts', 'report.css'].map((file) => join(import.meta.dirname, 'page', file)),
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2022',
    legalComments: 'inline',
    logLevel: 'silent',
    outdir: 'charts',
  });
  const ending = (kind: string): string => outputFiles.find(({ path }) => path.endsWith(kind))?.text.trim() ?? '';
  return { script: ending('.js').replaceAll('</script', '<\\/script'), style: ending('.css') };
}

const outdir = process.argv.find((argument) => argument.startsWith('--outdir='))?.slice('--outdir='.length);
if (process.argv[1] === import.meta.filename && outdir !== undefined)
  await writeFile(join(outdir, 'charts.json'), JSON.stringify(await buildCharts()));
