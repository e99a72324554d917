/** What the daemon needs by the size of the cluster. `npm run bench -- sizing` also writes bench/sizing.json, from which the docs' table is made. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { imageEnvironment } from './daemon-bundle.ts';
import type { BenchRow } from './row.ts';
import type { SizingReport } from './sizing-reader.ts';

const SIZES = [
  { nodes: 50, pods: 1_500 },
  { nodes: 200, pods: 6_000 },
  { nodes: 1_000, pods: 30_000 },
  { nodes: 5_000, pods: 150_000 },
];
const HERE = import.meta.dirname;

export async function sizingBench(): Promise<BenchRow[]> {
  const reports: SizingReport[] = [];
  for (const size of SIZES) reports.push(await measure(size));
  const model = cpus()[0]?.model ?? 'unknown';
  const facts = { measuredOn: new Date().toISOString().slice(0, 10), processor: model, node: process.version, sizes: reports };
  await writeFile(join(HERE, 'sizing.json'), `${JSON.stringify(facts, undefined, 2)}\n`);
  return reports.flatMap(rowsOf);
}

function rowsOf({ nodes, pods, startCpuMs, quietLoopCpuMs, busyLoopCpuMs, peakMb }: SizingReport): readonly BenchRow[] {
  const name = `sizing: ${nodes} nodes, ${pods} pods`;
  return [
    { name: `${name}: start, CPU`, samples: [startCpuMs], unit: 'ms' },
    { name: `${name}: loop without news, CPU`, samples: [quietLoopCpuMs], unit: 'ms' },
    { name: `${name}: loop with 500 pending pods, CPU`, samples: [busyLoopCpuMs], unit: 'ms' },
    { name: `${name}: peak RSS`, samples: [peakMb], unit: 'MB' },
  ];
}

async function measure({ nodes, pods }: (typeof SIZES)[number]): Promise<SizingReport> {
  const server = start('reflector-server.ts', [], { BENCH_NODES: String(nodes), BENCH_PODS: String(pods) });
  const dir = await mkdtemp(join(tmpdir(), 'sizing-'));
  try {
    const { port, caPem } = (await firstLine(server)) as { readonly port: number; readonly caPem: string };
    await writeFile(join(dir, 'ca.crt'), caPem);
    await writeFile(join(dir, 'token'), 'bench');
    return (await firstLine(start('sizing-reader.ts', [`https://127.0.0.1:${port}`, dir], {}))) as SizingReport;
  } finally {
    server.kill();
    await rm(dir, { recursive: true });
  }
}

function start(file: string, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(HERE, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...imageEnvironment(), ...env },
  });
}

/** The first line that a process prints, as JSON. @throws Error if it ends without one. */
async function firstLine(child: ChildProcess): Promise<unknown> {
  if (child.stdout === null) throw new Error('no output to read');
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as unknown;
  throw new Error('the process ended without a result');
}
