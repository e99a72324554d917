/**
 * Our figures for the workloads of the Cluster Autoscaler's own benchmarks. With `--rival-results FILE`, the output of its `go test -bench` on
 * the same machine and in the same hour, ratios stand beside them. The stored results of `peer-baseline.json` stand there, too: the process
 * ends with 1 if a count differs from them so far that `complaintsAbout` names it, and never because of a time.
 */
import { compareWithBaseline, complaintsAbout, readPeerBaseline, writePeerBaseline, type PeerBaseline } from './peer-baseline.ts';
import { PEER_WORKLOADS, type PeerResult, type PeerWorkload } from './peer-worlds.ts';
import { readRivalFile } from './rival-results.ts';
import type { BenchRow } from './row.ts';

const RUNS = 5;

interface PeerBenchOptions {
  /** The output of upstream's `go test -bench`. */
  readonly rivalFile: string | undefined;
  /** Stores the results in place of the present ones. */
  readonly writesBaseline: boolean;
}

/** @throws AutoscalerError `config` if the file of the rival's results cannot be used. */
export function peerBench({ rivalFile, writesBaseline }: PeerBenchOptions): readonly BenchRow[] {
  const baseline = readPeerBaseline();
  const rivals = rivalFile === undefined ? undefined : readRivalFile(rivalFile, rivalNames());
  const measured = PEER_WORKLOADS.map((workload) => ({ workload, ...measure(workload) }));
  if (writesBaseline) writePeerBaseline(Object.fromEntries(measured.map(({ workload, stored }) => [workload.name, stored])));
  else complain(measured.flatMap(({ workload: { name }, stored }) => complaintsAbout(name, stored, baseline[name])));
  return measured.map(({ workload, samples, stored }) => toRow(workload, samples, { stored, rivals, known: baseline[workload.name] }));
}

function rivalNames(): readonly string[] {
  return PEER_WORKLOADS.flatMap(({ rival }) => rival ?? []);
}

function measure({ prepare }: PeerWorkload): { readonly samples: readonly number[]; readonly stored: PeerBaseline } {
  const run = prepare();
  let result = run();
  const samples = Array.from({ length: RUNS }, () => {
    const started = performance.now();
    result = run();
    return performance.now() - started;
  });
  return { samples, stored: { ...result, minMs: Number(Math.min(...samples).toPrecision(3)) } };
}

function complain(complaints: readonly string[]): void {
  for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
  if (complaints.length > 0) process.exitCode = 1;
}

interface Beside {
  readonly stored: PeerBaseline;
  readonly known: PeerBaseline | undefined;
  readonly rivals: ReadonlyMap<string, number> | undefined;
}

function toRow({ name, rival }: PeerWorkload, samples: readonly number[], { stored, known, rivals }: Beside): BenchRow {
  const { minMs, ...result } = stored;
  const rivalMs = rival === undefined ? undefined : rivals?.get(rival);
  const ratio = rivalMs === undefined ? undefined : rivalMs / Math.min(...samples);
  const missing = rivals === undefined || rival === undefined || rivalMs !== undefined ? '' : `; rival: no Benchmark${rival} in the file`;
  const sorted = [...samples].sort((left, right) => left - right);
  return {
    name,
    samples,
    unit: 'ms',
    note: `${describeResult(result, rivalMs, ratio)}${missing}; ${compareWithBaseline(result, known)}`,
    facts: { name, medianMs: sorted[Math.floor(sorted.length / 2)], minMs, ...result, rivalMs, ratio, baseline: known },
  };
}

function describeResult({ nodes, operations }: PeerResult, rivalMs: number | undefined, ratio: number | undefined): string {
  const counts = Object.entries(operations).map(([operation, count]) => `${operation} ${count}`);
  const beside = rivalMs === undefined || ratio === undefined ? '' : `; rival ${rivalMs.toFixed(1)} ms, ${ratio.toFixed(1)} times ours`;
  return `${nodes} nodes; ${counts.join(', ')}${beside}`;
}
