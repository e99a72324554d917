/** `npm run soak -- --properties N`: the properties that see few cases in `npm test`, with N times as many. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PROPERTY_TIMES } from '../support/property-runs.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** @returns the exit code of the tests. */
export function runProperties(times: number): number {
  const files = ['test', join('world', 'test')]
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('support/property-runs.ts'));
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  // A property is one test: the limit of a test would be that of all its cases.
  const args = [vitest, 'run', '--testTimeout=0', ...files];
  const env = { ...process.env, [PROPERTY_TIMES]: String(times) };
  return spawnSync(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' }).status ?? 1;
}
