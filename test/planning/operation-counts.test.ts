import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { hostileObservation, HOSTILE_WORKLOADS } from '../../bench/hostile-worlds.ts';
import { compareWithBaseline, complaintsAbout, readPeerBaseline } from '../../bench/peer-baseline.ts';
import { PEER_WORKLOADS } from '../../bench/peer-worlds.ts';
import { readRivalFile, readRivals } from '../../bench/rival-results.ts';
import type { Observation } from '../../src/domain/observation.ts';
import { planScaleUp } from '../../src/planning/scale-up/plan.ts';
import { ClusterSnapshot } from '../../src/scheduling/snapshot/cluster-snapshot.ts';
import type { OperationCounts } from '../../src/scheduling/snapshot/operation-counts.ts';
import { aCluster, aGroup, anObservation, aPod, aShape, aTemplate, resourceNames, type ShapeOptions } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { FIRST_PLAN } from '../../src/planning/scale-up/plan-input.ts';
import { aState } from '../support/state.ts';

const BASELINE = readPeerBaseline();

const APART = {
  topologyKey: 'kubernetes.io/hostname',
  selector: { requirements: [{ key: 'app', operator: 'Exists', values: [] }] },
  namespaces: [],
  namespaceSelector: undefined,
} as const;

const SPREAD = {
  topologyKey: 'kubernetes.io/hostname',
  maxSkew: 1,
  minDomains: 1,
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Honor',
} as const;

function operationsOf(observation: Observation): OperationCounts {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(observation.cluster);
  const policy = aPolicy({ scaleUp: { maxNodesPerScaleUp: 10_000 } });
  planScaleUp({ ...FIRST_PLAN, observation, state: aState(), policy, names: resourceNames, snapshot });
  return snapshot.operations;
}

describe('the operations that a plan takes', () => {
  it.each(PEER_WORKLOADS.map((workload) => [workload.name, workload] as const))('are those of the baseline: %s', (name, { prepare }) => {
    expect(complaintsAbout(name, prepare()(), BASELINE[name])).toEqual([]);
  });

  it('grow with the number of pods of a StatefulSet that keep off each other, and not with its square', () => {
    const shapeOf = HOSTILE_WORKLOADS['a StatefulSet whose pods keep off each other'];
    const visited = (pods: number) => {
      const observation = hostileObservation({ pods, nodes: 20, pools: 8 }, shapeOf ?? (() => ({})));
      return operationsOf(observation).nodesVisited / pods;
    };
    expect(visited(800)).toBeLessThan(1.5 * visited(200));
  });

  it('grow with the number of spread rules that each include other nodes, and not with their number times that of new nodes', () => {
    const shapeOf = (at: number): ShapeOptions => ({
      cpu: '500m',
      tolerations: [{ key: `taint-${at}`, operator: 'Exists', value: '', effect: undefined }],
      topologySpread: [{ ...SPREAD, selector: { requirements: [{ key: 'app', operator: 'In', values: [`job-${at}`] }] } }],
    });
    const read = (pods: number) => operationsOf(hostileObservation({ pods, nodes: 20, pools: 8 }, shapeOf)).scopesRead / pods;
    const few = read(100);
    expect(few).toBeGreaterThan(0);
    expect(read(400)).toBeLessThan(1.5 * few);
  });

  it('are about those groups of pods alone that fit a pool', () => {
    const groups = Array.from({ length: 12 }, (_, at) =>
      aGroup({ id: `pool${at}`, target: 0, template: aTemplate({ labels: { team: `${at}` } }) }),
    );
    const shapeOf = (at: number) =>
      aShape({ cpu: `${100 + at}m`, labels: { app: `${at}` }, nodeSelector: { team: `${at % 12}` }, podAntiAffinity: [APART] });
    const cluster = aCluster({ pods: Array.from({ length: 36 }, (_, at) => aPod({ shape: shapeOf(at) })) });
    const { templatesPacked, groupsPacked } = operationsOf(anObservation(groups, cluster));
    expect(groupsPacked).toBeLessThanOrEqual(3 * templatesPacked);
  });

  const operations = { nodesVisited: 100, predicatesCalled: 0, templatesPacked: 1, groupsPacked: 0, scopesRead: 0 };
  const stored = { nodes: 2, operations };
  const REWRITE = 'If that is meant, `npm run bench -- peer --write-baseline` stores the present results.';

  it.each([
    {
      change: 'grow by one',
      result: { nodes: 2, operations: { ...operations, nodesVisited: 101 } },
      says: 'nodesVisited 101, stored 100: the plan takes more operations',
    },
    {
      change: 'begin',
      result: { nodes: 2, operations: { ...operations, predicatesCalled: 1 } },
      says: 'predicatesCalled 1, stored 0: the plan takes more operations',
    },
    {
      change: 'fall by more than a fifth',
      result: { nodes: 2, operations: { ...operations, nodesVisited: 79 } },
      says: 'nodesVisited 79, stored 100: the plan takes far fewer operations, so the stored number is to be lowered',
    },
    { change: 'stay, but the plan is another', result: { nodes: 3, operations }, says: 'nodes 3, stored 2: the plan is another' },
  ])('fail the gate, with what to do, if they $change', ({ result, says }) => {
    expect(complaintsAbout('plan', result, stored)).toEqual([`plan: ${says}. ${REWRITE}`]);
  });

  it('may fall a little without a new baseline', () => {
    expect(complaintsAbout('plan', { nodes: 2, operations: { ...operations, nodesVisited: 80 } }, stored)).toEqual([]);
  });

  it('fail the gate if nothing is stored for them', () => {
    expect(complaintsAbout('plan', stored, undefined)).toEqual([`plan: nothing is stored for it. ${REWRITE}`]);
  });
});

describe('what stands beside the results', () => {
  const operations = { nodesVisited: 3, predicatesCalled: 0, templatesPacked: 1, groupsPacked: 0, scopesRead: 0 };
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
  const directory = mkdtempSync(join(tmpdir(), 'rival-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const OUTPUT = `goos: linux
goarch: amd64
pkg: k8s.io/autoscaler/cluster-autoscaler/core/bench
cpu: Intel(R) Xeon(R) Processor
BenchmarkRunOnceScaleUp-2         \t       3\t 412345678 ns/op\t118234567 B/op\t 1234567 allocs/op
BenchmarkRunOnceScaleUp-2         \t       3\t 400000000.5 ns/op\t118234567 B/op\t 1234567 allocs/op
BenchmarkRunOnceScaleUp1000-2     \t       1\t9123456789 ns/op
--- FAIL: BenchmarkRunOnceScaleDown
    benchmark_runonce_test.go:200: verify failed: invalid number of deleted nodes, got: 0, expected: 240
BenchmarkRunOnceScaleDown2000     \t       1\t2000000000 ns/op\t 12.00 nodes/op
BenchmarkFuzzy/10_nodes-2         \t     100\t     10001 ns/op
PASS
ok  \tk8s.io/autoscaler/cluster-autoscaler/core/bench\t33.141s
pkg: k8s.io/autoscaler/cluster-autoscaler/estimator
BenchmarkBinpackingEstimate-2     \t      10\t 109000000 ns/op
`;

  it('are read from what go test prints, the least of several runs', () => {
    expect([...readRivals(OUTPUT)]).toEqual([
      ['RunOnceScaleUp', 400.0000005],
      ['RunOnceScaleUp1000', 9_123.456789],
      ['RunOnceScaleDown2000', 2_000],
      ['BinpackingEstimate', 109],
    ]);
  });

  it.each([
    { file: 'an empty file', text: '', says: /results\.txt has no result of any benchmark\. It must be the output of `go test -bench`/ },
    { file: 'a file of something else', text: '{"name":"x"}\n', says: /has no result of any benchmark/ },
    {
      file: 'results of others alone',
      text: 'BenchmarkOther-2  3  4 ns/op\n',
      says: /has results of Other only.* of at least one of RunOnceScaleUp\./,
    },
    { file: 'a run that failed', text: '--- FAIL: BenchmarkRunOnceScaleUp\nFAIL\n', says: /has no result of any benchmark/ },
  ])('are refused with a sentence: $file', ({ text, says }) => {
    const path = join(directory, 'results.txt');
    writeFileSync(path, text);
    expect(() => readRivalFile(path, ['RunOnceScaleUp'])).toThrow(says);
  });

  it('are refused with a sentence: a file that does not exist', () => {
    expect(() => readRivalFile('/nowhere/results.txt', ['RunOnceScaleUp'])).toThrow(
      'The results in /nowhere/results.txt cannot be read: ENOENT',
    );
  });
});
