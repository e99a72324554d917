import { defineConfig } from 'vitest/config';

/** Folders whose code keeps nothing for itself: their files share a process, which spares loading everything for each of them. */
const ROOMS = 'test/{azure,cache,config,domain,kubernetes,lib,loop,observers,planning,scheduling,simulator,telemetry}/**/*.test.ts';

// No test is timed: the limits only end one that hangs, however busy the machine is.
const shared = { pool: 'forks', maxWorkers: 2, testTimeout: 300_000, hookTimeout: 300_000 } as const;

export default defineConfig({
  test: {
    ...shared,
    projects: [
      { test: { ...shared, name: 'rooms', include: [ROOMS], isolate: false } },
      { test: { ...shared, name: 'whole', include: ['test/**/*.test.ts'], exclude: [ROOMS, 'test/e2e/**'] } },
    ],
  },
});
