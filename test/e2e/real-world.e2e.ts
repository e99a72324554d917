/** `emulate --control-plane real`: the daemon in a world whose Kubernetes is real, and what is left of that world afterwards. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiClient, MERGE } from '../../world/simulator/real-control-plane/api-client.ts';
import { PARTS } from '../../world/simulator/real-control-plane/find-programs.ts';
import { Program } from '../../world/simulator/real-control-plane/program.ts';
import { isThere } from '../support/process-group.ts';
import { Daemon } from './daemon.ts';
import { COMPILE_CACHE, givenBinaries } from './given.ts';
import type { Node, Pod } from './seen-objects.ts';
import { until } from './until.ts';
import { deployment } from './workloads.ts';

const MAIN = resolve(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
const soon = (seconds: number) => ({ p50: seconds * 1000, p95: seconds * 1000 });
/** Azure in a hurry: time is real here. */
const WORLD = {
  pools: [
    { name: 'system', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3, mode: 'System', taints: ['CriticalAddonsOnly=true:NoSchedule'] },
    { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 4 },
  ],
  knobs: {
    instanceVisible: soon(1),
    allocated: soon(2),
    osUp: soon(4),
    provisioned: soon(5),
    deleteGraceful: soon(3),
    modelUpdate: soon(1),
    aksModelUpdate: soon(1),
    aksGrowthEnd: soon(1),
    retryAfterSeconds: { write: 1, remove: 1, deallocate: 1 },
  },
};
const FLAGS = [
  '--address=127.0.0.1:0',
  '--leader-elect=false',
  '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
  '--scan-interval=2s',
  '--scale-down-unneeded-time=4s',
  '--scale-down-delay-after-add=3s',
  '--unremovable-node-recheck-timeout=2s',
  '--node-delete-delay-after-taint=1s',
];

let dir: string;
let programs: Program[];
let clients: ApiClient[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'real-world-'));
  programs = [];
  clients = [];
  await mkdir(join(dir, 'assets'));
  await writeFile(join(dir, 'world.json'), JSON.stringify(WORLD));
  const binaries = givenBinaries();
  for (const part of PARTS) {
    const file = join(dir, 'assets', part);
    await writeFile(file, `#!/bin/sh\nexec ${binaries[part].join(' ')} "$@"\n`);
    await chmod(file, 0o755);
  }
});

afterEach(async () => {
  for (const program of programs.toReversed()) await program.stop();
  for (const client of clients) client.close();
  await rm(dir, { recursive: true });
});

function start(name: string, args: readonly string[], env: Readonly<Record<string, string>>, onLine?: (line: string) => void): Program {
  const program = new Program({
    name,
    command: [process.execPath, '--disable-warning=ExperimentalWarning', MAIN],
    args,
    env: { PATH: process.env['PATH'], HOME: dir, ...COMPILE_CACHE, ...env },
    logFile: join(dir, `${name}.log`),
    ...(onLine === undefined ? {} : { onLine }),
  });
  programs.push(program);
  return program;
}

function client(server: string, caPem: string, token: string): ApiClient {
  const made = new ApiClient({ server, caPem, token });
  clients.push(made);
  return made;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

interface ArmState {
  readonly sets: readonly {
    readonly pool: string;
    readonly name: string;
    readonly capacity: number;
    readonly instances: readonly { readonly id: string; readonly hostName: string }[];
  }[];
  readonly violations: readonly unknown[];
}

/** Starts the world in a process of its own and waits until it says that it runs. */
async function emulate() {
  const files = join(dir, 'world');
  const args = ['emulate', '--control-plane', 'real', '--dir', files, '--world-file', join(dir, 'world.json')];
  const lines: string[] = [];
  const program = start('emulate', args, { KUBEBUILDER_ASSETS: join(dir, 'assets') }, (line) => lines.push(line));
  const mustRun = (): boolean => {
    if (program.end !== undefined) throw new Error(`emulate ended with ${program.end}`);
    return lines.includes('SIGTERM or Ctrl-C stops it.');
  };
  await until('the world runs', mustRun, 120_000, () => program.tail());
  const env = Object.fromEntries(
    [...readFileSync(join(files, 'env'), 'utf8').matchAll(/^export (\w+)='(.*)'$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const kubeconfig = JSON.parse(readFileSync(join(files, 'kubeconfig'), 'utf8')) as Kubeconfig;
  const caPem = readFileSync(join(files, 'ca.pem'), 'utf8');
  return {
    program,
    lines,
    files,
    env,
    api: client(kubeconfig.clusters[0]!.cluster.server, caPem, kubeconfig.users[0]!.user.token),
    azure: client(env['AZURE_RESOURCE_MANAGER_ENDPOINT'] ?? '', caPem, ''),
  };
}

type EmulatedWorld = Awaited<ReturnType<typeof emulate>>;

/** The daemon as the introduction says, with shorter intervals. */
async function startDaemon({ files, env }: EmulatedWorld): Promise<Daemon> {
  const lines: string[] = [];
  const args = ['run', `--cloud-config=${join(files, 'azure.json')}`, `--kubeconfig=${join(files, 'kubeconfig')}`, ...FLAGS];
  const program = start('daemon', args, env, (line) => lines.push(line));
  const daemon = new Daemon({ name: 'daemon', program, lines, principal: '' });
  await daemon.serving();
  await daemon.ready();
  return daemon;
}

/** What `ps` shows of the processes that this one started. */
function childrenOf({ program }: EmulatedWorld): readonly { readonly pid: number; readonly call: string }[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return rows.flatMap((row) => {
    const [, pid, parent, call = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row) ?? [];
    return Number(parent) === program.pid ? [{ pid: Number(pid), call }] : [];
  });
}

/** What exists outside of the process: its children, and the folder of the control plane. */
function leftovers(world: EmulatedWorld) {
  const children = childrenOf(world);
  const folder = /--data-dir=(\S+)\/etcd/.exec(children.map(({ call }) => call).join('\n'))?.[1] ?? '';
  expect(existsSync(folder)).toBe(true);
  for (const part of PARTS) expect(children.filter(({ call }) => call.includes(` ${part} `))).toHaveLength(1);
  return () => ({ children: children.filter(({ pid }) => isThere(pid)), folder: existsSync(folder) });
}

async function state({ azure }: EmulatedWorld): Promise<ArmState> {
  return (await azure.must('GET', '/_emu/state')) as object as ArmState;
}

async function generalSet(world: EmulatedWorld) {
  return (await state(world)).sets.find(({ pool }) => pool === 'general')!;
}

async function generalNodes({ api }: EmulatedWorld): Promise<readonly Node[]> {
  return (await api.list('/api/v1/nodes?labelSelector=agentpool%3Dgeneral')) as readonly Node[];
}

/** Deletes the VM of this node with the identity that the world offers, without a drain. */
async function deleteVmOf(node: string | undefined, world: EmulatedWorld): Promise<void> {
  const { name, instances } = await generalSet(world);
  const { subscriptionId, resourceGroup } = JSON.parse(readFileSync(join(world.files, 'azure.json'), 'utf8')) as Readonly<
    Record<string, string>
  >;
  const headers = { 'X-IDENTITY-HEADER': world.env['IDENTITY_HEADER'] ?? '' };
  const answer = await fetch(`${world.env['IDENTITY_ENDPOINT']}?api-version=2019-08-01&resource=https://management.azure.com/`, {
    headers,
  });
  const { access_token: token } = (await answer.json()) as { readonly access_token: string };
  const group = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Compute`;
  const azure = client(world.azure.server, readFileSync(join(world.files, 'ca.pem'), 'utf8'), token);
  const instanceIds = instances.filter(({ hostName }) => hostName === node).map(({ id }) => id.split('/').at(-1) ?? '');
  await azure.must('POST', `${group}/virtualMachineScaleSets/${name}/delete?api-version=2024-07-01`, { instanceIds });
}

async function runningPods({ api }: EmulatedWorld): Promise<readonly Pod[]> {
  const pods = (await api.list('/api/v1/namespaces/default/pods?labelSelector=app%3Dweb')) as readonly Pod[];
  return pods.filter(({ status }) => status.phase === 'Running');
}

describe('emulate with a real control plane', () => {
  it('has nodes that join and leave with their VMs while the daemon scales, and ends without a trace', async () => {
    const world = await emulate();
    const left = leftovers(world);
    const daemon = await startDaemon(world);
    const picture = (): string => `${world.program.tail(5)}\n${daemon.program.tail(25)}`;

    // Two of them fit on a node of four cores.
    await world.api.apply(deployment({ name: 'web', replicas: 6, cpu: '1500m' }));
    const pods = await until('six pods run', async () => found(await runningPods(world), 6), 120_000, picture);
    expect((await generalSet(world)).capacity).toBe(3);
    const nodes = await generalNodes(world);
    expect(nodes.map(({ status }) => JSON.stringify(status).includes('"reason":"KubeletReady"'))).toEqual([true, true, true]);
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(nodes.map(({ metadata }) => metadata.name)));
    // Only the real scheduler writes this event.
    const bound = await world.api.list('/api/v1/namespaces/default/events?fieldSelector=reason%3DScheduled');
    expect(bound.length).toBeGreaterThanOrEqual(6);

    await world.api.must('PATCH', '/apis/apps/v1/namespaces/default/deployments/web', { spec: { replicas: 1 } }, MERGE);
    const [last] = await until('one node is left', async () => found(await generalNodes(world), 1), 120_000, picture);
    expect((await generalSet(world)).capacity).toBe(1);
    expect(await state(world)).toMatchObject({ violations: [] });

    const refused = await world.azure.call('POST', '/_emu/clock', { scale: 10 });
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining('a real control plane') } });

    await daemon.program.stop();
    // A client that is less careful is noticed.
    await deleteVmOf(last?.metadata.name, world);
    await until('its node is gone', async () => found(await generalNodes(world), 0), 120_000, picture);
    const { violations } = await state(world);
    const detail = expect.stringMatching(/ran default\/web-\S+$/);
    expect(violations).toContainEqual(expect.objectContaining({ rule: 'node-deleted-with-pods', detail }));

    await world.program.stop();
    expect(world.program.end).toBe(0);
    expect(left()).toEqual({ children: [], folder: false });
  });

  it('ends with the end of the log of a program that ended, and without a trace', async () => {
    const world = await emulate();
    const left = leftovers(world);
    const scheduler = childrenOf(world).find(({ call }) => call.includes(' kube-scheduler '));
    process.kill(scheduler!.pid, 'SIGKILL');
    expect(await world.program.ended).toBe(1);
    expect(world.program.tail(30)).toContain('kube-scheduler ended with SIGKILL. The end of its log:\n');
    expect(left()).toEqual({ children: [], folder: false });
  });
});

function found<Item>(items: readonly Item[], count: number): readonly Item[] | undefined {
  return items.length === count ? items : undefined;
}
