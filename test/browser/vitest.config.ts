import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from './chromium.ts';

export default defineConfig({
  test: {
    root: resolve(import.meta.dirname, '..', '..'),
    include: ['test/browser/**/*.browser.ts'],
    pool: 'forks',
    // One browser at a time: the programs of a test share two cores with it.
    maxWorkers: 1,
    // The world's time is virtual, the browser's is real: these only end a test that hangs.
    expect: { poll: { timeout: PATIENCE_MS } },
    testTimeout: 4 * PATIENCE_MS,
    hookTimeout: 10 * PATIENCE_MS,
  },
});
