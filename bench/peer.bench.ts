/**
 * Our figures for the workloads of the Cluster Autoscaler's own benchmarks. With `--rival-results FILE`, the output of its `go test -bench` on
 * the same machine and in the same hour, ratios stand beside them. The stored results of `peer-baseline.json` stand there, too.
 */
import { readFileSync } from 'node:fs';
import { compareWithBaseline, readPeerBaseline, writePeerBaseline, type PeerBaseline } from './peer-baseline.ts';
import { PEER_WORKLOADS, type PeerResult } from './peer-worlds.ts';
import type { BenchRow } from './row.ts';

const RUNS = 5;
const NANOSECONDS = 1e6;

interface PeerBenchOptions {
  /** The output of upstream's `go test -bench`. */
  readonly rivalFile: string | undefined;
  /** Stores the results in place of the present ones. */
  readonly writesBaseline: boolean;
}

export function peerBench({ rivalFile, writesBaseline }: PeerBenchOptions): readonly BenchRow[] {
  const baseline = readPeerBaseline();
  const results: Record<string, PeerBaseline> = {};
  const rivals = rivalFile === undefined ? new Map<string, number>() : readRivals(readFileSync(rivalFile, 'utf8'));
  const rows = PEER_WORKLOADS.map(({ name, rival, prepare }): BenchRow => {
    const run = prepare();
    let result = run();
    const samples = Array.from({ length: RUNS }, () => {
      const started = performance.now();
      result = run();
      return performance.now() - started;
    });
    const rivalMs = rival === undefined ? undefined : rivals.get(rival);
    const ratio = rivalMs === undefined ? undefined : rivalMs / Math.min(...samples);
    results[name] = { ...result, minMs: Number(Math.min(...samples).toPrecision(3)) };
    return {
      name,
      samples,
      unit: 'ms',
      note: `${describeResult(result, rivalMs, ratio)}; ${compareWithBaseline(result, baseline[name])}`,
      facts: factsOf(name, samples, result, { rivalMs, ratio, baseline: baseline[name] }),
    };
  });
  if (writesBaseline) writePeerBaseline(results);
  return rows;
}

function describeResult({ nodes, operations }: PeerResult, rivalMs: number | undefined, ratio: number | undefined): string {
  const counts = Object.entries(operations).map(([operation, count]) => `${operation} ${count}`);
  const beside = rivalMs === undefined || ratio === undefined ? '' : `; rival ${rivalMs.toFixed(1)} ms, ${ratio.toFixed(1)} times ours`;
  return `${nodes} nodes; ${counts.join(', ')}${beside}`;
}

function factsOf(name: string, samples: readonly number[], result: PeerResult, beside: object): Readonly<Record<string, unknown>> {
  const sorted = [...samples].sort((left, right) => left - right);
  return { name, medianMs: sorted[Math.floor(sorted.length / 2)], minMs: sorted[0], ...result, ...beside };
}

/** Milliseconds per operation by name, the least if there are several; lines such as `BenchmarkRunOnceScaleUp-8   3   412345678 ns/op`. */
export function readRivals(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [, name = '', nanoseconds] of text.matchAll(/^Benchmark(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns\/op/gm)) {
    found.set(name, Math.min(found.get(name) ?? Number.POSITIVE_INFINITY, Number(nanoseconds) / NANOSECONDS));
  }
  return found;
}
