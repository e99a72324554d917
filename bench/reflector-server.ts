/**
 * A stand-in for an API server of a large cluster: 5,000 nodes of 16 KB, 150,000 pods of 8 KB from 3,000 workloads, as
 * watch-lists over TLS. Run as a process of its own, so that its work is not measured as the reader's; lines are serialised
 * before it listens, so that the reader waits for nothing but copying and encryption. Prints one JSON line with its port
 * when it listens.
 */
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServerTls } from '../world/simulator/base/tls.ts';

const NODES = Number(process.env['BENCH_NODES'] ?? 5_000);
const PODS = Number(process.env['BENCH_PODS'] ?? 150_000);
const WORKLOADS = 3_000;
const NODE_BYTES = 16 * 1024;
const POD_BYTES = 8 * 1024;
const BATCH = 64;
const CREATED = '2026-11-20T10:00:00Z';

/** managedFields as the API server keeps them: the larger part of most objects. */
function managedFields(bytes: number): readonly unknown[] {
  const fields: Record<string, unknown> = {};
  for (let index = 0; JSON.stringify(fields).length < bytes; index++) {
    fields[`f:field-${index}`] = { '.': {}, 'f:name': {}, 'f:value': {}, 'f:lastTransitionTime': {}, 'f:type': {} };
  }
  return [
    { manager: 'kubelet', operation: 'Update', apiVersion: 'v1', time: CREATED, fieldsType: 'FieldsV1', fieldsV1: { 'f:status': fields } },
  ];
}

/** Fills an object up to a size with managedFields, and returns its JSON. */
function padded(make: (managed: readonly unknown[]) => unknown, bytes: number): string {
  const bare = JSON.stringify(make([])).length;
  return JSON.stringify(make(managedFields(Math.max(0, bytes - bare - 150))));
}

function nodeJson(index: number, managed: readonly unknown[]): unknown {
  const name = nodeName(index);
  return {
    metadata: {
      name,
      uid: `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`,
      resourceVersion: String(index + 1),
      creationTimestamp: CREATED,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.azure.com/agentpool': `pool${index % 20}`,
        'node.kubernetes.io/instance-type': 'Standard_D16s_v5',
        'topology.kubernetes.io/zone': `westeurope-${(index % 3) + 1}`,
        ...Object.fromEntries(Array.from({ length: 20 }, (_, label) => [`kubernetes.azure.com/label-${label}`, `value-${label}`])),
      },
      managedFields: managed,
    },
    spec: {
      providerID: `azure:///subscriptions/0/resourceGroups/mc/providers/Microsoft.Compute/virtualMachineScaleSets/aks-pool${index % 20}/virtualMachines/${index}`,
    },
    status: {
      capacity: { cpu: '16', memory: '65851340Ki', pods: '110', 'ephemeral-storage': '129886128Ki' },
      allocatable: { cpu: '15740m', memory: '60621772Ki', pods: '110', 'ephemeral-storage': '119703055367' },
      conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        lastHeartbeatTime: CREATED,
        lastTransitionTime: CREATED,
        reason: 'KubeletHas',
        message: 'kubelet has sufficient resources available',
      })),
      images: Array.from({ length: 40 }, (_, image) => ({
        names: [`registry.example.com/team/image-${image}@sha256:${'ab'.repeat(32)}`],
        sizeBytes: 123_456_789,
      })),
    },
  };
}

function nodeName(index: number): string {
  return `aks-pool${String(index % 20).padStart(2, '0')}-12345678-vmss${index.toString(36).padStart(6, '0')}`;
}

/** What differs between the pods of a workload, each of a fixed width so that it can be written over the template. */
const SLOTS = {
  suffix: '@'.repeat(5),
  uid: '#'.repeat(36),
  version: '~'.repeat(7),
  node: '%'.repeat(nodeName(0).length),
} as const;

/** Two containers with environment, a projected token. */
function podJson(workload: number, pending: boolean, managed: readonly unknown[]): unknown {
  const app = `app-${workload}`;
  const env = Array.from({ length: 15 }, (_, index) => ({ name: `SETTING_${index}`, value: `value of setting ${index}` }));
  const container = (name: string, cpu: string) => ({
    name,
    image: `registry.example.com/team/${app}:1.2.3`,
    env,
    resources: { requests: { cpu, memory: '256Mi' }, limits: { memory: '512Mi' } },
    ports: [{ containerPort: 8080, protocol: 'TCP' }],
    volumeMounts: [{ name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }],
  });
  return {
    metadata: {
      name: `${app}-5d8f9c7b6-${SLOTS.suffix}`,
      namespace: `team-${workload % 100}`,
      uid: SLOTS.uid,
      resourceVersion: SLOTS.version,
      creationTimestamp: CREATED,
      labels: { app, 'pod-template-hash': '5d8f9c7b6', team: `team-${workload % 100}` },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-5d8f9c7b6`,
          uid: `rs-${workload}`,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: managed,
    },
    spec: {
      ...(pending ? {} : { nodeName: SLOTS.node }),
      containers: [container('app', `${50 + (workload % 40) * 5}m`), container('proxy', '25m')],
      volumes: [
        {
          name: `kube-api-access-${SLOTS.suffix}`,
          projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }] },
        },
      ],
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      terminationGracePeriodSeconds: 30,
      priority: 0,
    },
    status: {
      phase: 'Running',
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: CREATED,
      })),
      podIP: '10.244.0.7',
    },
  };
}

/** One line with its newline, and where its slots are. */
interface Template {
  readonly bytes: Buffer;
  readonly slots: Readonly<Record<keyof typeof SLOTS, readonly number[]>>;
}

const lineOf = (json: string): Buffer => Buffer.from(`{"type":"ADDED","object":${json}}\n`);

function templateOf(workload: number, pending: boolean): Template {
  const bytes = lineOf(padded((managed) => podJson(workload, pending, managed), POD_BYTES));
  const places = (slot: string): readonly number[] => {
    const found: number[] = [];
    for (let at = bytes.indexOf(slot); at !== -1; at = bytes.indexOf(slot, at + slot.length)) found.push(at);
    return found;
  };
  return {
    bytes,
    slots: { suffix: places(SLOTS.suffix), uid: places(SLOTS.uid), version: places(SLOTS.version), node: places(SLOTS.node) },
  };
}

const nodeLines = Array.from({ length: NODES }, (_, index) => lineOf(padded((managed) => nodeJson(index, managed), NODE_BYTES)));
const bound = Array.from({ length: WORKLOADS }, (_, workload) => templateOf(workload, false));
/** One pod in a hundred is pending. */
const pending = Array.from({ length: WORKLOADS }, (_, workload) => templateOf(workload, true));

function podLine(index: number): Buffer {
  const template = (index % 100 === 99 ? pending : bound)[index % WORKLOADS];
  if (template === undefined) throw new Error(`no template for pod ${index}`);
  const line = Buffer.from(template.bytes);
  const fill = (slot: keyof typeof SLOTS, text: string): void => {
    for (const at of template.slots[slot]) line.write(text, at, 'latin1');
  };
  fill('suffix', index.toString(36).padStart(5, '0'));
  fill('uid', `10000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`);
  fill('version', String(1_000_000 + index));
  fill('node', nodeName(index % NODES));
  return line;
}

interface Collection {
  readonly count: number;
  readonly line: (index: number) => Buffer;
}

const COLLECTIONS: Readonly<Record<string, Collection>> = {
  '/api/v1/nodes': { count: NODES, line: (index) => nodeLines[index] ?? Buffer.alloc(0) },
  '/api/v1/pods': { count: PODS, line: podLine },
};
const END = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2000000","annotations":{"k8s.io/initial-events-end":"true"}}}}\n';

async function sendAll(response: ServerResponse, { count, line }: Collection): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  for (let from = 0; from < count; from += BATCH) {
    const lines = Array.from({ length: Math.min(BATCH, count - from) }, (_, offset) => line(from + offset));
    if (!response.write(Buffer.concat(lines))) await new Promise<void>((resolve) => response.once('drain', () => resolve()));
  }
  response.write(END);
}

const tls = await createServerTls(Date.now());
const server = createServer({ key: tls.keyPem, cert: tls.certPem }, (request, response) => {
  const url = new URL(request.url ?? '/', 'https://localhost');
  if (url.searchParams.get('watch') !== 'true') {
    response.end('{}');
    return;
  }
  sendAll(response, COLLECTIONS[url.pathname] ?? { count: 0, line: () => Buffer.alloc(0) }).catch((error: unknown) =>
    response.destroy(error as Error),
  );
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const managed = (line: Buffer): number => {
    const object = (JSON.parse(line.toString()) as { readonly object: { readonly metadata: { readonly managedFields: unknown } } }).object;
    return JSON.stringify(object.metadata.managedFields).length;
  };
  const bytes = { node: nodeLines[0]?.length ?? 0, pod: podLine(0).length, managedOfPod: managed(podLine(0)) };
  process.stdout.write(`${JSON.stringify({ port, caPem: tls.caPem, bytes })}\n`);
});
