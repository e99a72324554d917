import { defineConfig } from 'vitest/config';

/**
 * Files that need a process of their own: libraries remember for a whole process whether a metadata service was found, and what
 * NO_PROXY says; and to collect garbage takes long in a process that has loaded everything. All other files share two processes, which
 * spares loading the SDKs and the simulator for each of them.
 */
const ALONE = [
  'test/contract/azure-metadata*.test.ts',
  'test/contract/azure-managed-identity.test.ts',
  'test/contract/proxy.test.ts',
  'test/scheduling/snapshot/shape-table.test.ts',
  'test/kubernetes/projection/shared-shapes.test.ts',
];

const shared = {
  pool: 'forks',
  maxWorkers: 2,
  // No test is timed: the limits only end one that hangs, however busy the machine is.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  // Node itself reads the sources, as it does for the daemon.
  experimental: { viteModuleRunner: false },
} as const;

export default defineConfig({
  test: {
    ...shared,
    projects: [
      { test: { ...shared, name: 'house', include: ['test/**/*.test.ts'], exclude: [...ALONE, 'test/e2e/**', 'test/browser/**'], isolate: false } },
      // The simulated cluster has tests of its own: `npm run test:world`.
      { test: { ...shared, name: 'world', include: ['world/test/**/*.test.ts'], isolate: false } },
      { test: { ...shared, name: 'alone', include: ALONE } },
    ],
  },
});
