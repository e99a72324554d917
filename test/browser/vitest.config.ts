import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: resolve(import.meta.dirname, '..', '..'),
    include: ['test/browser/**/*.browser.ts'],
    pool: 'forks',
    // One browser at a time: the programs of a test share two cores with it.
    maxWorkers: 1,
    // The world's time is virtual, the browser's is real: these only end a test that hangs.
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
