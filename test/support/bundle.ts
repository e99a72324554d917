/** The program as it ships, from this checkout. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..', '..');

/**
 * Runs the very command of `npm run bundle`, into a folder of its own. `readable`: with the names of functions, for a profile. `metafile`: where
 * esbuild writes what it made. @returns the path of the main file. @throws Error if the command is not the expected one, or fails.
 */
export function bundleInto(
  dir: string,
  { readable = false, metafile }: { readonly readable?: boolean; readonly metafile?: string } = {},
): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const command = (scripts['bundle'] ?? '').replace('rm -rf dist && ', '').replaceAll('--outdir=dist', `--outdir=${dir}`);
  if (!command.includes(dir)) throw new Error(`the bundle would be written elsewhere: ${command}`);
  const options = ['--log-level=error', ...(metafile === undefined ? [] : [`--metafile=${metafile}`])].join(' ');
  const path = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  const written = readable ? command.replace(' --minify', '') : command;
  execFileSync('sh', ['-c', `${written} ${options}`], { cwd: ROOT, env: { ...process.env, PATH: path } });
  return join(dir, 'main.mjs');
}
