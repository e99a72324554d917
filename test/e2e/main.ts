/**
 * `npm run test:e2e`: finds or builds the control plane's programs, then runs the scenarios against them. Where they
 * cannot be had it says so in one line and is content, unless E2E_REQUIRED=1. Arguments are given on to the test runner.
 */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { findBinaries } from './binaries.ts';
import { BINARIES_VARIABLE } from './given.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const RUNNER = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');

async function main(argv: readonly string[]): Promise<number> {
  const say = (line: string): void => void process.stdout.write(`test:e2e: ${line}\n`);
  const found = await findBinaries(process.env, say);
  if (found.kind === 'missing') {
    say(`skipped: ${found.reason}`);
    return process.env['E2E_REQUIRED'] === '1' ? 1 : 0;
  }
  if (argv.includes('--build-only')) {
    say(`the control plane is ${found.origin}`);
    return 0;
  }
  const args = [RUNNER, 'run', `--config=${join(import.meta.dirname, 'vitest.config.ts')}`, ...argv];
  const env = { ...process.env, [BINARIES_VARIABLE]: JSON.stringify(found.binaries) };
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

process.exitCode = await main(process.argv.slice(2));
