/**
 * Starts the program of an image against a simulated cluster, as Kubernetes would: user 65532, a read-only root, nothing but its own files.
 * In a chroot, and in a container if `crun` can make one here.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { USER } from './base-images.ts';
import { run } from './commands.ts';

/** Only ends a trial that hangs: beside other work, a program that is ready after a second of its own time may wait for minutes. */
const READY_WITHIN_MS = 600_000;
const READY_POLL_MS = 20;
const STOP_WITHIN_MS = 20_000;
const CONFIG_FOLDER = '/etc/aks-autoscaler';
const CLIENT_FILES = ['kubeconfig', 'azure.json', 'ca.pem'];

export interface TrialResult {
  readonly firstLine: string;
  readonly readyMs: number;
  /** CPU time of the process until then, which a busy machine changes little. In steps of 10 ms. */
  readonly readyCpuMs: number;
  /** Of the process at the end, in MiB. */
  readonly residentMiB: number;
}

interface World {
  /** Holds the files of a client. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<number>;
}

/** Runs the simulated cluster from the source tree. */
export async function startEmulator(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-trial-'));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/cli/main.ts', 'emulate', '--dir', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await untilRunning(child);
  chmodSync(folder, 0o755);
  for (const file of CLIENT_FILES) chmodSync(join(folder, file), 0o644);
  return { folder, env: endpointsIn(readFileSync(join(folder, 'env'), 'utf8')), stop: () => stop(child) };
}

/** It says how to stop it when all of its files are written. @returns what it said. @throws Error if it ends before. */
export function untilRunning(child: ChildProcess): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    // It is read on, so that what the cluster says later does not fill its pipe.
    child.stdout?.on('data', (part: Buffer) => {
      said += part.toString();
      if (said.includes('stops it.')) resolve(said);
    });
    child.once('close', (code) => reject(new Error(`the simulated cluster ended with ${code}`)));
  });
}

/** The addresses that the daemon must know; paths are those inside of the trial's root. */
function endpointsIn(text: string): Readonly<Record<string, string>> {
  const value = (name: string): string => new RegExp(`^export ${name}='(.*)'$`, 'm').exec(text)?.[1] ?? '';
  return {
    AZURE_RESOURCE_MANAGER_ENDPOINT: value('AZURE_RESOURCE_MANAGER_ENDPOINT'),
    AZURE_AUTHORITY_HOST: value('AZURE_AUTHORITY_HOST'),
    AZURE_CA_FILE: `${CONFIG_FOLDER}/ca.pem`,
    NODE_EXTRA_CA_CERTS: `${CONFIG_FOLDER}/ca.pem`,
  };
}

/** The entry point of the image, with its own command. */
const OWN_COMMAND = ['/nodejs/bin/node', '/app/main.mjs', 'run'];
/** What a Deployment of the Cluster Autoscaler has, whose image alone was changed: a path relative to the root, and flags of that program. */
export const OTHER_COMMAND = ['./cluster-autoscaler', '--v=4', '--logtostderr=true', '--stderrthreshold=info', '--cloud-provider=azure'];

function daemonArgs(port: number, command: readonly string[] = OWN_COMMAND): readonly string[] {
  return [
    ...command,
    `--cloud-config=${CONFIG_FOLDER}/azure.json`,
    `--kubeconfig=${CONFIG_FOLDER}/kubeconfig`,
    '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
    '--leader-elect=false',
    `--address=127.0.0.1:${port}`,
  ];
}

/** Makes the folder ready: client files and `/etc/hosts`, which a container runtime adds. */
function addClientFiles(root: string, { folder }: World): void {
  mkdirSync(join(root, CONFIG_FOLDER), { recursive: true });
  for (const file of CLIENT_FILES) copyFileSync(join(folder, file), join(root, CONFIG_FOLDER, file));
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  mkdirSync(join(root, 'proc'), { recursive: true });
}

/** Needs root. `root`: the unpacked image; the files of the trial are added to it. @throws Error if anything is not as it should be. */
export async function runInChroot(root: string, world: World, port: number, command?: readonly string[]): Promise<TrialResult> {
  addClientFiles(root, world);
  const script =
    'set -e; mount --bind "$1" "$1"; mount -t proc proc "$1/proc"; mount -o remount,ro,bind "$1"; root=$1; shift; ' +
    `exec chroot --userspec=${USER}:${USER} "$root" "$@"`;
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', root, ...daemonArgs(port, command)], {
    env: world.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return inspect(child, port, () => child.pid ?? 0);
}

/** @returns a sentence if a container cannot be made here. @throws Error if the program misbehaves in it. */
export async function runInContainer(root: string, world: World, port: number): Promise<TrialResult | string> {
  const bundle = mkdtempSync(join(tmpdir(), 'aks-autoscaler-bundle-'));
  const name = `aks-autoscaler-trial-${process.pid}`;
  try {
    run('crun', ['spec', '--bundle', bundle]);
  } catch (error) {
    return `no container: ${error instanceof Error ? error.message : String(error)}`;
  }
  const file = join(bundle, 'config.json');
  writeFileSync(file, JSON.stringify(containerSpec(JSON.parse(readFileSync(file, 'utf8')) as ContainerSpec, root, world, port)));
  const child = spawn('crun', ['--cgroup-manager=disabled', 'run', '--bundle', bundle, name], { stdio: ['ignore', 'pipe', 'pipe'] });
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  const began = await Promise.race([once(child.stdout, 'data').then(() => true), once(child, 'close').then(() => false)]);
  if (!began) return `no container: ${Buffer.concat(errors).toString('utf8').trim()}`;
  return inspect(child, port, () => (JSON.parse(run('crun', ['state', name])) as { readonly pid: number }).pid);
}

interface ContainerSpec {
  readonly process: object;
  readonly linux: { readonly namespaces: readonly { readonly type: string }[] };
}

/** The container has the network of the machine, since the simulated cluster listens on its loopback address. */
function containerSpec(given: ContainerSpec, root: string, { env }: World, port: number): object {
  return {
    ...given,
    root: { path: root, readonly: true },
    process: {
      ...given.process,
      terminal: false,
      user: { uid: USER, gid: USER },
      args: daemonArgs(port),
      env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      cwd: '/',
      capabilities: {},
      noNewPrivileges: true,
    },
    linux: {
      ...given.linux,
      resources: undefined,
      namespaces: given.linux.namespaces.filter(({ type }) => type !== 'network' && type !== 'cgroup'),
    },
  };
}

async function inspect(child: ChildProcess, port: number, pidOf: () => number): Promise<TrialResult> {
  const startedMs = performance.now();
  const lines: string[] = [];
  child.stdout?.on('data', (chunk: Buffer) => lines.push(...chunk.toString('utf8').split('\n')));
  try {
    await untilReady(child, port);
    const readyMs = Math.round(performance.now() - startedMs);
    const pid = nodeProcess(pidOf());
    const readyCpuMs = cpuMs(pid);
    const { uid, residentMiB } = statusOf(pid);
    if (uid !== USER) throw new Error(`the process has the user ${uid} and not ${USER}`);
    if (!hasReadOnlyRoot(pid)) throw new Error('the root of the process can be written');
    const code = await stop(child);
    if (code !== 0) throw new Error(`the program ended with ${code} after SIGTERM`);
    return { firstLine: messageOf(lines.find((line) => line !== '') ?? ''), readyMs, readyCpuMs, residentMiB };
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${lines.slice(-10).join('\n')}`, { cause: error });
  } finally {
    await stop(child);
  }
}

/** @throws Error if the line is not one of our log. */
function messageOf(line: string): string {
  const { msg } = JSON.parse(line) as { readonly msg?: string };
  if (msg === undefined) throw new Error(`the first line is no log line: ${line.slice(0, 200)}`);
  return msg;
}

/** `unshare` and the shell replace themselves by the program, so that this is the process itself or its only child. */
function nodeProcess(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '),
  );
  const [first = ''] = children.filter((child) => child !== '');
  return first === '' ? pid : Number(first);
}

/** The fields after the name of the program, which may contain spaces; the 12th and 13th are user and system time in hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function statusOf(pid: number): { readonly uid: number; readonly residentMiB: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const number = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? NaN);
  return { uid: number('Uid'), residentMiB: Math.round(number('VmRSS') / 1024) };
}

/** A line of mountinfo: id, parent, device, root, mount point, options. */
function hasReadOnlyRoot(pid: number): boolean {
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  return (
    mounts
      .findLast((fields) => fields[4] === '/')?.[5]
      ?.split(',')
      .includes('ro') === true
  );
}

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  const untilMs = performance.now() + READY_WITHIN_MS;
  while (performance.now() < untilMs) {
    if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(READY_POLL_MS);
  }
  throw new Error(`not ready within ${READY_WITHIN_MS / 1000} s`);
}

/** @returns its exit code. */
export async function stop(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await ended;
  clearTimeout(timer);
  return child.exitCode ?? -1;
}
