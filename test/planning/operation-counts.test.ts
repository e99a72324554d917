import { describe, expect, it } from 'vitest';
import { readRivals } from '../../bench/peer.bench.ts';
import { compareWithBaseline, readPeerBaseline } from '../../bench/peer-baseline.ts';
import { PEER_WORKLOADS } from '../../bench/peer-worlds.ts';
import type { OperationCounts } from '../../src/scheduling/snapshot/operation-counts.ts';

const BASELINE = readPeerBaseline();

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

describe('what stands beside the results', () => {
  const operations = { nodesVisited: 3, predicatesCalled: 0, templatesPacked: 1 };
  const stored = { nodes: 2, operations, minMs: 1.5 };

  it.each([
    { name: 'nothing grew', result: { nodes: 2, operations }, says: 'counts as stored; stored time 1.5 ms' },
    {
      name: 'two counts differ',
      result: { nodes: 1, operations: { ...operations, nodesVisited: 4 } },
      says: 'nodes 1, stored 2, nodesVisited 4, stored 3; stored time 1.5 ms',
    },
  ])('$name', ({ result, says }) => expect(compareWithBaseline(result, stored)).toBe(says));
});

describe("upstream's results", () => {
  it('are read from the output of go test', () => {
    const text = 'goos: linux\nBenchmarkRunOnceScaleUp-8 \t 3\t 412000000 ns/op\nBenchmarkRunOnceScaleUp-8 \t 3\t 400000000 ns/op\nPASS\n';
    expect([...readRivals(text)]).toEqual([['RunOnceScaleUp', 400]]);
  });
});
