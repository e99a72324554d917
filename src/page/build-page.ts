/** Builds the page into one file: its script and its style inside. Run directly, it writes `page.html` into the folder of `--outdir`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const HERE = import.meta.dirname;

/** @returns the HTML. Throws what esbuild reports. */
export async function buildPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(HERE, 'main.tsx'), join(HERE, 'style.css')],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    outdir: 'page',
  });
  const frame = await readFile(join(HERE, 'page.html'), 'utf8');
  const ending = (kind: string): string => outputFiles.find(({ path }) => path.endsWith(kind))?.text.trim() ?? '';
  // A function, since a replacement text would be searched for `$`.
  return frame
    .replace('/* style */', () => ending('.css'))
    .replace('/* script */', () => ending('.js').replaceAll('</script', '<\\/script'));
}

const outdir = process.argv.find((argument) => argument.startsWith('--outdir='))?.slice('--outdir='.length);
if (process.argv[1] === import.meta.filename && outdir !== undefined) {
  await mkdir(outdir, { recursive: true });
  await writeFile(join(outdir, 'page.html'), await buildPage());
}
