import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readRivals } from '../../bench/peer.bench.ts';
import { PEER_WORKLOADS, type PeerResult } from '../../bench/peer-worlds.ts';
import type { OperationCounts } from '../../src/scheduling/snapshot/operation-counts.ts';

const FILE = new URL('../../bench/peer-baseline.json', import.meta.url);
const BASELINE = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, PeerResult>>;

describe('the operations that a plan takes', () => {
  it.each(PEER_WORKLOADS.map((workload) => [workload.name, workload] as const))('do not grow: %s', (name, { prepare }) => {
    const { nodes, operations } = prepare()();
    const known = BASELINE[name];
    expect(nodes).toBe(known?.nodes);
    for (const [operation, count] of Object.entries(operations)) {
      const most = known?.operations[operation as keyof OperationCounts] ?? 0;
      expect(count, operation).toBeLessThanOrEqual(most);
      // A baseline that is far above hides the next growth: lower it.
      expect(count, operation).toBeGreaterThanOrEqual(0.8 * most);
    }
  });
});

describe("upstream's results", () => {
  it('are read from the output of go test', () => {
    const text = 'goos: linux\nBenchmarkRunOnceScaleUp-8 \t 3\t 412000000 ns/op\nBenchmarkRunOnceScaleUp-8 \t 3\t 400000000 ns/op\nPASS\n';
    expect([...readRivals(text)]).toEqual([['RunOnceScaleUp', 400]]);
  });
});
