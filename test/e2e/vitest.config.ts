import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: resolve(import.meta.dirname, '..', '..'),
    include: ['test/e2e/**/*.e2e.ts'],
    pool: 'forks',
    // One control plane at a time: two would be slower than one after the other on a small machine.
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
