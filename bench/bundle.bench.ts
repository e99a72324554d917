/**
 * The program as it ships, at rest: how soon it says its first line, and what it holds in memory once it has looked at a
 * small cluster and has had nothing to do. It runs against a simulated world that lives in this process. Targets: 200 ms,
 * 120 MB. Linux only: memory is read from /proc.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { smallWorld } from '../src/simulator/sample-worlds.ts';
import { realSimClock } from '../src/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../src/simulator/world.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../src/lab/client-files.ts';
import type { BenchRow } from './row.ts';

const ROOT = resolve(import.meta.dirname, '..');
const RUNS = 3;
/** Three loops of the default interval. */
const REST_MS = 35_000;

interface Life {
  readonly firstLineMs: number;
  readonly firstLineCpuMs: number;
  readonly idleMb: number;
}

export async function bundleBench(): Promise<BenchRow[]> {
  const dir = await mkdtemp(join(tmpdir(), 'bundle-bench-'));
  const world = await startWorld({ spec: smallWorld(3), clock: realSimClock(20), client: CLIENT, token: 'a-token' });
  try {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const command = (scripts['bundle'] ?? '').replace('rm -rf dist && ', '').replaceAll('--outdir=dist', `--outdir=${dir}`);
    execFileSync('sh', ['-c', `${command} --log-level=error`], { cwd: ROOT });
    await writeClientFiles(dir, world);
    const lives: Life[] = [];
    for (let run = 0; run < RUNS; run++) lives.push(await live(dir, world));
    return [
      {
        name: 'bundle: first line',
        samples: lives.map(({ firstLineMs }) => firstLineMs),
        unit: 'ms',
        note: 'from the start of the process',
      },
      {
        name: 'bundle: first line, CPU',
        samples: lives.map(({ firstLineCpuMs }) => firstLineCpuMs),
        unit: 'ms',
        note: 'what a busy machine does not change',
      },
      {
        name: 'bundle: memory at rest',
        samples: lives.map(({ idleMb }) => idleMb),
        unit: 'MB',
        note: `resident, after ${REST_MS / 1000} s with nothing to do`,
      },
    ];
  } finally {
    await world.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function live(dir: string, world: World): Promise<Life> {
  const flags = ['--kubeconfig=kubeconfig', '--address=127.0.0.1:0', '--leader-elect=false'];
  const started = performance.now();
  const args = [join(dir, 'main.mjs'), 'run', '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true', ...flags];
  const child = spawn(process.execPath, args, {
    cwd: dir,
    env: { ...imageEnvironment(), ...clientEnvironment(dir, world) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface({ input: child.stdout });
    const [first = ''] = (await Promise.race([once(lines, 'line'), once(child, 'close')])) as readonly unknown[];
    const firstLineMs = performance.now() - started;
    const firstLineCpuMs = cpuMs(child);
    if (!String(first).includes('Effective configuration')) throw new Error(`the first line is ${String(first)}`);
    await new Promise((done) => setTimeout(done, REST_MS));
    return { firstLineMs, firstLineCpuMs, idleMb: residentMb(child) };
  } finally {
    if (child.exitCode === null && child.kill()) await once(child, 'close');
  }
}

function residentMb({ pid }: ChildProcess): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? Number.NaN) / 1024;
}

/** In steps of 10 ms. */
function cpuMs({ pid }: ChildProcess): number {
  const [user, system] = (readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8').split(') ')[1] ?? '').split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

/** What the image sets. */
function imageEnvironment(): Record<string, string> {
  const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^ENV (\w+)=(\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}
