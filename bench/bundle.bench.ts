/**
 * The program as it ships, at rest: how soon it says its first line, and what it holds in memory once it has looked at a
 * small cluster and has had nothing to do. It runs against a simulated world that lives in this process. Targets: 100 ms,
 * 120 MB. Linux only: memory is read from /proc.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { smallWorld } from '../world/simulator/sample-worlds.ts';
import { realSimClock } from '../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../world/simulator/world.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../world/lab/client-files.ts';
import { bundleInto } from '../test/support/bundle.ts';
import { cpuMs, imageEnvironment, memoryMb } from './daemon-bundle.ts';
import type { BenchRow } from './row.ts';

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
    const main = bundleInto(dir);
    await writeClientFiles(dir, world);
    const lives: Life[] = [];
    for (let run = 0; run < RUNS; run++) lives.push(await live(main, dir, world));
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

async function live(main: string, dir: string, world: World): Promise<Life> {
  const flags = ['--kubeconfig=kubeconfig', '--address=127.0.0.1:0', '--leader-elect=false'];
  const started = performance.now();
  const args = [main, 'run', '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true', ...flags];
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
    return { firstLineMs, firstLineCpuMs, idleMb: memoryMb(child).now };
  } finally {
    if (child.exitCode === null && child.kill()) await once(child, 'close');
  }
}
