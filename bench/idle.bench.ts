/**
 * The program as it ships, in a cluster where nothing happens: CPU time and calls of Azure a minute, and memory. Each daemon has an emulated
 * world of its own, in another process and at Azure's speed. They run at the same time, so that a busy machine is as busy for each.
 * `--beside DIR` measures another bundle, too: that of the commit before. Linux only: figures are read from /proc.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import type { BenchRow } from './row.ts';

const ROOT = resolve(import.meta.dirname, '..');
const MINUTE = 60_000;
/** Everything that a start does is over, the collection of its memory included. */
const SETTLE_MS = 45_000;
/** As long as the shortest interval of lists of instances. */
const MEASURED_MS = 10 * MINUTE;
const POOLS = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 20 }));
const SYSTEM = { name: 'system', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 1, mode: 'System' };

interface Subject {
  readonly name: string;
  /** The folder of the bundle. */
  readonly bundle: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Idle {
  readonly cpuMsAMinute: number;
  readonly callsAMinute: number;
  readonly residentMb: number;
}

export async function idleBench(beside: string | undefined): Promise<BenchRow[]> {
  const dir = await mkdtemp(join(tmpdir(), 'idle-bench-'));
  try {
    const bundle = join(dir, 'bundle');
    makeBundle(bundle);
    const other = beside === undefined ? [] : [{ name: 'other bundle', bundle: resolve(beside), env: {} }];
    const subjects: readonly Subject[] = [
      ...other,
      { name: 'default', bundle, env: {} },
      { name: 'readOnChange', bundle, env: { AZURE_CACHE_READ_ON_CHANGE: 'true' } },
    ];
    const measuring = subjects.map((subject, index) => measure(subject, join(dir, `world-${index}`)));
    await Promise.allSettled(measuring);
    const results = await Promise.all(measuring);
    return subjects.flatMap(({ name }, index) => rowsOf(name, results[index]));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function rowsOf(name: string, idle: Idle | undefined): BenchRow[] {
  if (idle === undefined) return [];
  const note = `six pools at rest for ${MEASURED_MS / MINUTE} min, no one looks`;
  return [
    { name: `idle, ${name}: CPU`, samples: [idle.cpuMsAMinute], unit: 'ms', note: `a minute; ${note}` },
    { name: `idle, ${name}: ARM calls`, samples: [idle.callsAMinute], unit: 'calls/min', note },
    { name: `idle, ${name}: memory`, samples: [idle.residentMb], unit: 'MB', note: 'resident at the end' },
  ];
}

function makeBundle(dir: string): void {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const command = (scripts['bundle'] ?? '').replace('rm -rf dist && ', '').replaceAll('--outdir=dist', `--outdir=${dir}`);
  execFileSync('sh', ['-c', `${command} --log-level=error`], { cwd: ROOT });
}

async function measure({ bundle, env }: Subject, dir: string): Promise<Idle> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'world.json');
  await writeFile(file, JSON.stringify({ pools: [SYSTEM, ...POOLS] }));
  const options = [
    '--disable-warning=ExperimentalWarning',
    'src/cli/main.ts',
    'emulate',
    '--dir',
    dir,
    '--world-file',
    file,
    '--speed',
    '1',
  ];
  const world = spawn(process.execPath, options, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const children: ChildProcess[] = [world];
  try {
    // It says how to use it once all files of its clients are written.
    await once(world.stdout, 'data');
    const variables = parseEnv(readFileSync(join(dir, 'env'), 'utf8').replaceAll('export ', '')) as Record<string, string>;
    const daemon = startDaemon(bundle, dir, { ...variables, ...env });
    children.push(daemon);
    await pause(SETTLE_MS);
    const arm = variables['AZURE_RESOURCE_MANAGER_ENDPOINT'] ?? '';
    const [before, calls] = [cpuMs(daemon), await callsSoFar(arm)];
    await pause(MEASURED_MS);
    const minutes = MEASURED_MS / MINUTE;
    return {
      cpuMsAMinute: (cpuMs(daemon) - before) / minutes,
      callsAMinute: ((await callsSoFar(arm)) - calls) / minutes,
      residentMb: residentMb(daemon),
    };
  } finally {
    for (const child of children) if (child.exitCode === null && child.kill()) await once(child, 'close');
  }
}

function startDaemon(bundle: string, dir: string, env: Readonly<Record<string, string>>): ChildProcess {
  const flags = [`--cloud-config=${join(dir, 'azure.json')}`, '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true'];
  const args = ['run', ...flags, `--kubeconfig=${join(dir, 'kubeconfig')}`, '--leader-elect=false', '--address=127.0.0.1:0'];
  const options = (process.env['IDLE_NODE_OPTIONS'] ?? '').split(' ').filter((option) => option !== '');
  return spawn(process.execPath, [...options, join(bundle, 'main.mjs'), ...args], {
    cwd: dir,
    env: { ...imageEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Requests to resources; sign-in and metadata are free. */
async function callsSoFar(arm: string): Promise<number> {
  // The certificate authority of the world is not one of this process.
  const text = execFileSync('curl', ['-sk', `${arm}/_emu/journal`], { maxBuffer: 2 ** 28, encoding: 'utf8' });
  const { entries } = JSON.parse(text) as { readonly entries: readonly { readonly method: string; readonly path: string }[] };
  return entries.filter(({ method, path }) => method !== 'EVENT' && /^\/subscriptions\//i.test(path)).length;
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
