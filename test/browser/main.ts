/**
 * `npm run test:browser`: runs the tests of the page in Chromium. Where there is none, it says so in one line and passes. Arguments are given
 * to the test runner.
 */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { CHROMIUM_VARIABLE, findChromium } from './chromium.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const RUNNER = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');

function main(argv: readonly string[]): Promise<number> {
  const chromium = findChromium();
  if (chromium === undefined) {
    process.stdout.write(`test:browser: skipped (no Chromium; install the package chromium, or set ${CHROMIUM_VARIABLE})\n`);
    return Promise.resolve(0);
  }
  const args = [RUNNER, 'run', `--config=${join(import.meta.dirname, 'vitest.config.ts')}`, ...argv];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, [CHROMIUM_VARIABLE]: chromium } });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((done) => child.once('close', (code) => done(code ?? 1)));
}

process.exitCode = await main(process.argv.slice(2));
