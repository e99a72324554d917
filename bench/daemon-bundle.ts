/** The program as it ships, as a child process, and what Linux says of it. */
import { execFileSync, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');

/** Writes the bundle into a folder. `readable`: with the names of functions, for a profile. @returns the path of its main file. */
export function bundleInto(dir: string, { readable = false } = {}): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const command = (scripts['bundle'] ?? '').replace('rm -rf dist && ', '').replaceAll('--outdir=dist', `--outdir=${dir}`);
  const written = readable ? command.replace(' --minify', '') : command;
  execFileSync('npx', ['--no-install', '-c', `${written} --log-level=error`], { cwd: ROOT });
  return join(dir, 'main.mjs');
}

/** What the image sets. */
export function imageEnvironment(): Record<string, string> {
  const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^ENV (\w+)=(\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

/** Resident memory now and at most, MB. */
export function memoryMb({ pid }: ChildProcess): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid ?? 0}/status`, 'utf8');
  const megabytes = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** CPU time so far, in steps of 10 ms. */
export function cpuMs({ pid }: ChildProcess): number {
  const [user, system] = (readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8').split(') ')[1] ?? '').split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}
