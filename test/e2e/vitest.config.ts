import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: resolve(import.meta.dirname, '..', '..'),
    include: ['test/e2e/**/*.e2e.ts'],
    pool: 'forks',
    // Each file has a control plane of its own, and waits for much of its time. With twelve beside each other all took a third more processor time:
    // what a daemon, a server or a kubelet does again and again, it does for as long as the test is late.
    maxWorkers: Number(process.env['E2E_WORKERS'] ?? 5),
    // Time is real here. What a busy machine made late once is told as tried again, not as failed.
    retry: 1,
    // Each wait inside a test has a patience that follows the machine's speed; these only end a test that hangs.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
