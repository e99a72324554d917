/**
 * `plan` for a cluster in one file: 5,000 nodes and 150,000 pods of 6 kB as kubectl lists them, 900 MB, written to the command's standard
 * input as it is made. Target: 600 MB of memory.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { BenchRow } from './row.ts';

const MAIN = resolve(import.meta.dirname, '../src/cli/main.ts');
const PODS = 150_000;
const NODES = 5000;
const POOLS = 100;
const POD_BYTES = 6000;
const SEEN = '2026-11-21T08:00:00Z';
/** Prints the largest resident set of the process, in kB. */
const REPORT_MEMORY = `data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.resourceUsage().maxRSS)))`;

export async function planFileBench(): Promise<BenchRow[]> {
  const dir = await mkdtemp(join(tmpdir(), 'plan-bench-'));
  try {
    const pools = join(dir, 'pools.json');
    await writeFile(
      pools,
      JSON.stringify(Array.from({ length: POOLS }, (_, at) => ({ name: `p${at}`, vmSize: 'Standard_D8s_v5', min: 0, max: 100 }))),
    );
    const { seconds, memoryMb, bytes } = await planOnce(pools);
    const note = `${NODES} nodes, ${PODS} pods, a List of ${Math.round(bytes / 1e6)} MB on standard input`;
    return [
      { name: 'plan: memory for a large file', samples: [memoryMb], unit: 'MB', note: `largest resident set; ${note}` },
      { name: 'plan: time for a large file', samples: [seconds * 1000], unit: 'ms', note },
    ];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function planOnce(pools: string): Promise<{ readonly seconds: number; readonly memoryMb: number; readonly bytes: number }> {
  const args = ['--disable-warning=ExperimentalWarning', `--import=${REPORT_MEMORY}`, MAIN, 'plan', '--cluster=-', `--pools=${pools}`];
  const started = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (part: Buffer) => void (said += part.toString()));
  const ended = once(child, 'close');
  const bytes = await writeList(child.stdin);
  const [code] = (await ended) as readonly unknown[];
  if (code !== 0) throw new Error(`plan failed: ${said}`);
  return { seconds: (performance.now() - started) / 1000, memoryMb: Number(said) / 1024, bytes };
}

async function writeList(out: Writable): Promise<number> {
  let bytes = 0;
  const write = async (text: string): Promise<void> => {
    bytes += text.length;
    if (!out.write(text)) await once(out, 'drain');
  };
  await write('{"apiVersion":"v1","items":[');
  for (let at = 0; at < NODES; at++) await write(`${JSON.stringify(node(at))},`);
  for (let at = 0; at < PODS; at++) await write(`${at === 0 ? '' : ','}${JSON.stringify(padded(pod(at)))}`);
  await write('],"kind":"List"}');
  out.end();
  return bytes;
}

const nodeName = (at: number): string => `aks-p${at % POOLS}-12345678-vmss${at.toString(36).padStart(6, '0')}`;

function node(at: number): object {
  const size = { cpu: '7820m', memory: '28Gi', pods: '110' };
  const labels = {
    'kubernetes.azure.com/agentpool': `p${at % POOLS}`,
    'kubernetes.io/hostname': nodeName(at),
    'topology.kubernetes.io/region': 'westeurope',
  };
  const images = Array.from({ length: 40 }, (_, image) => ({
    names: [`registry.example.com/image-${image}:v1.2.3`],
    sizeBytes: 123_456_789,
  }));
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: SEEN, lastTransitionTime: SEEN }];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName(at), uid: nodeName(at), labels, creationTimestamp: SEEN },
    spec: {},
    status: { capacity: size, allocatable: size, conditions, images },
  };
}

/** One pod in fifty is pending. */
function pod(at: number) {
  const app = `web-${at % 2000}`;
  const isPending = at % 50 === 0;
  const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', lastProbeTime: null, lastTransitionTime: SEEN };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${app}-6d4cf56db6-${at.toString(36).padStart(5, '0')}`,
      namespace: `team-${at % 100}`,
      uid: `00000000-0000-4000-9000-${String(at).padStart(12, '0')}`,
      creationTimestamp: SEEN,
      labels: { app },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: app, controller: true }],
      annotations: { config: '' },
    },
    spec: {
      containers: [{ name: 'app', image: `registry.example.com/${app}:1.2.3`, resources: { requests: { cpu: '150m', memory: '512Mi' } } }],
      priority: 0,
      schedulerName: 'default-scheduler',
      tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
      ...(isPending ? {} : { nodeName: nodeName(at % NODES) }),
    },
    status: isPending
      ? { phase: 'Pending', conditions: [refused] }
      : { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null }] },
  };
}

/** Environment variables, volumes, probes and container statuses make up most of a real pod. */
type PodJson = ReturnType<typeof pod>;

function padded(pod: PodJson): object {
  const missing = Math.max(0, POD_BYTES - JSON.stringify(pod).length);
  const env = Array.from({ length: Math.floor(missing / 60) }, (_, at) => ({
    name: `SETTING_${at}`,
    value: 'a value with "quotes" and a \\',
  }));
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => ({ ...container, env })) } };
}
