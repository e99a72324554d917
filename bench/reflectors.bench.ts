/**
 * Reflectors filled from a local server of the size this program is meant for. Server and reader are processes of their
 * own: the reader's peak memory and stalls are its alone. Targets: 15 s, 500 MB, no stall above 100 ms.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { BenchRow } from './row.ts';

export interface ReaderReport {
  readonly nodes: number;
  readonly pods: number;
  readonly shapes: number;
  readonly fillMs: number;
  readonly cpuMs: number;
  readonly observeMs: number;
  readonly idleObserveMs: number;
  readonly peakMb: number;
  readonly heapMb: number;
  readonly stallMs: number;
  readonly longestTurnMs: number;
}

interface ObjectBytes {
  readonly node: number;
  readonly pod: number;
  readonly managedOfPod: number;
}

const RUNS = 3;

export async function reflectorsBench(): Promise<BenchRow[]> {
  const server = start('reflector-server.ts', []);
  try {
    const { port, caPem, bytes } = (await firstLine(server)) as { port: number; caPem: string; bytes: ObjectBytes };
    const dir = await mkdtemp(join(tmpdir(), 'reflectors-'));
    await writeFile(join(dir, 'ca.crt'), caPem);
    await writeFile(join(dir, 'token'), 'bench');
    const reports: ReaderReport[] = [];
    for (let run = 0; run < RUNS; run++) {
      reports.push((await firstLine(start('reflector-reader.ts', [`https://127.0.0.1:${port}`, dir]))) as ReaderReport);
    }
    await rm(dir, { recursive: true });
    return rows(reports, bytes);
  } finally {
    server.kill();
  }
}

function rows(reports: readonly ReaderReport[], bytes: ObjectBytes): BenchRow[] {
  const first = reports[0];
  const what = `${first?.nodes} nodes of ${bytes.node} B, ${first?.pods} pods of ${bytes.pod} B (managedFields ${bytes.managedOfPod} B), ${first?.shapes} shapes`;
  const row = (name: string, unit: BenchRow['unit'], pick: (report: ReaderReport) => number, note: string): BenchRow => ({
    name: `reflectors: ${name}`,
    samples: reports.map(pick),
    unit,
    note,
  });
  return [
    row('first picture', 'ms', (report) => report.fillMs, `${what}; target < 15000`),
    row('first picture, CPU', 'ms', (report) => report.cpuMs, 'of the reader, all threads; separates a slow reader from a busy machine'),
    row('peak RSS', 'MB', (report) => report.peakMb, 'whole process; target < 500'),
    row('live heap', 'MB', (report) => report.heapMb, 'after a collection'),
    row('longest stall', 'ms', (report) => report.stallMs, 'of the event loop; target < 100'),
    row(
      'longest turn, CPU',
      'ms',
      (report) => report.longestTurnMs,
      'work of the main thread between two turns; no stall of a busy machine',
    ),
    row('first observe', 'ms', (report) => report.observeMs, ''),
    row('observe, no news', 'ms', (report) => report.idleObserveMs, ''),
  ];
}

function start(file: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--expose-gc', '--disable-warning=ExperimentalWarning', join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The first line that a process prints, as JSON; fails when it ends without one. */
async function firstLine(child: ChildProcess): Promise<unknown> {
  if (child.stdout === null) throw new Error('no output to read');
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as unknown;
  throw new Error('the process ended without a result');
}
