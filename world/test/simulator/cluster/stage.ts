/** A cluster in virtual time with VMs that the test creates and removes, and a plain HTTPS client for it. */
import { Agent, request } from 'undici';
import { onTestFinished } from 'vitest';
import type { SimulatedVm, VmChange, VmFeed } from '../../../simulator/base/vm-feed.ts';
import { startCluster, type ClusterOptions, type SimCluster } from '../../../simulator/cluster/cluster.ts';
import type { ObjectDraft, PodSpec } from '../../../simulator/cluster/store/objects.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { createServerTls } from '../../../simulator/base/tls.ts';
import { ViolationLog } from '../../../simulator/base/write-safety.ts';
import type { WorldSpec } from '../../../simulator/base/world-spec.ts';
import { START_MS } from '../../../../test/support/builders.ts';

export const TOKEN = 'test-token';

export const SPEC: WorldSpec = {
  subscriptionId: '11111111-2222-3333-4444-555555555555',
  tenantId: '66666666-7777-8888-9999-000000000000',
  location: 'westeurope',
  clusterName: 'test',
  clusterResourceGroup: 'rg-test',
  nodeResourceGroup: 'MC_rg-test_test_westeurope',
  discoveryTags: {},
  stock: {},
  quota: {},
  seed: 7,
  pools: [
    { name: 'system', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3, mode: 'System' },
    { name: 'user', vmSize: 'Standard_D4s_v5', count: 0, min: 0, max: 10, labels: { tier: 'user' } },
  ],
};

export function aMachine(hostName: string, rest: Partial<SimulatedVm> = {}): SimulatedVm {
  return {
    id: `/subscriptions/s/resourceGroups/rg/${hostName}`,
    hostName,
    providerId: `azure:///subscriptions/s/resourceGroups/rg/${hostName}`,
    pool: 'user',
    vmSize: 'Standard_D4s_v5',
    vcpus: 4,
    memoryGiB: 16,
    gpus: 0,
    dataDisks: 8,
    architecture: 'amd64',
    location: 'westeurope',
    zone: undefined,
    kubernetesVersion: '1.33.2',
    labels: {},
    taints: [],
    power: 'running',
    ...rest,
  };
}

/** A VM feed that changes only when the test changes it. */
export class TestVmFeed implements VmFeed {
  readonly #listeners = new Set<(change: VmChange) => void>();
  readonly #machines = new Map<string, SimulatedVm>();

  constructor(machines: readonly SimulatedVm[]) {
    for (const machine of machines) this.#machines.set(machine.hostName, machine);
  }

  list(): readonly SimulatedVm[] {
    return [...this.#machines.values()];
  }

  subscribe(listener: (change: VmChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  boot(machine: SimulatedVm): void {
    this.#machines.set(machine.hostName, machine);
    this.tell({ kind: 'running', machine });
  }

  /** Stops the VM for a while, or removes it. */
  end(hostName: string, kind: 'stopped' | 'gone'): void {
    const machine = this.#machines.get(hostName) ?? aMachine(hostName);
    if (kind === 'gone') this.#machines.delete(hostName);
    else this.#machines.set(hostName, { ...machine, power: 'stopped' });
    this.tell({ kind, machine });
  }

  tell(change: VmChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

export interface Stage {
  readonly clock: VirtualSimClock;
  readonly park: TestVmFeed;
  readonly violations: ViolationLog;
  readonly cluster: SimCluster;
  readonly client: Client;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // Tests read fields of many response types; a wrong path fails the assertion.
  readonly body: Loose;
}

/** JSON as tests read it. */
interface Loose {
  readonly [key: string]: Loose;
}

interface CallOptions {
  readonly token?: string;
  readonly accept?: string;
  readonly contentType?: string;
}

interface WatchEvent {
  readonly type: string;
  readonly object: Loose;
}

/** An open watch, read one event at a time. */
interface OpenWatch {
  readonly status: number;
  /** The next event; undefined if the server ended the stream. Rejects if the stream broke. */
  next(): Promise<WatchEvent | undefined>;
  close(): void;
}

interface Client {
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  watch(path: string, options?: CallOptions): Promise<OpenWatch>;
  close(): Promise<void>;
}

function clientOf(cluster: SimCluster, ca: string): Client {
  const agent = new Agent({ connect: { ca } });
  const headersOf = (options: CallOptions): Record<string, string> => ({
    authorization: `Bearer ${options.token ?? TOKEN}`,
    accept: options.accept ?? 'application/json',
    'content-type': options.contentType ?? 'application/json',
  });
  return {
    async call(method, path, body, options = {}) {
      const answer = await request(cluster.url + path, {
        dispatcher: agent,
        method,
        headers: headersOf(options),
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      const isJson = String(answer.headers['content-type']).startsWith('application/json');
      return { status: answer.statusCode, headers: answer.headers, body: (isJson ? JSON.parse(text) : { text }) as Loose };
    },
    async watch(path, options = {}) {
      const abort = new AbortController();
      const answer = await request(cluster.url + path, { dispatcher: agent, headers: headersOf(options), signal: abort.signal });
      return { status: answer.statusCode, ...readLines(answer.body), close: () => abort.abort() };
    },
    close: () => agent.destroy(),
  };
}

function readLines(body: AsyncIterable<Buffer>): Pick<OpenWatch, 'next'> {
  const chunks = body[Symbol.asyncIterator]();
  let text = '';
  return {
    async next() {
      for (;;) {
        const end = text.indexOf('\n');
        if (end >= 0) {
          const line = text.slice(0, end);
          text = text.slice(end + 1);
          return JSON.parse(line) as WatchEvent;
        }
        const chunk = await chunks.next();
        if (chunk.done === true) return undefined;
        text += chunk.value.toString('utf8');
      }
    },
  };
}

const tls = createServerTls(Date.now());

/** Starts a cluster with the given VMs running. It returns once the objects of AKS are ready. */
export async function startStage(machines: readonly SimulatedVm[] = [], rest: Partial<ClusterOptions> = {}): Promise<Stage> {
  const clock = new VirtualSimClock(START_MS);
  const park = new TestVmFeed(machines);
  const violations = new ViolationLog();
  const cluster = await startCluster({ spec: SPEC, clock, tls: await tls, machines: park, violations, token: TOKEN, ...rest });
  const client = clientOf(cluster, (await tls).caPem);
  clock.advance(5_000);
  const stop = async (): Promise<void> => {
    await client.close();
    await cluster.stop();
  };
  return { clock, park, violations, cluster, client, stop };
}

/** The same, until the test is over. */
export async function setStage(...given: Parameters<typeof startStage>): Promise<Stage> {
  const stage = await startStage(...given);
  onTestFinished(() => stage.stop());
  return stage;
}

export function aPodDraft(
  name: string,
  rest: {
    readonly spec?: Partial<PodSpec>;
    readonly labels?: Record<string, string>;
    readonly cpu?: string;
    readonly memory?: string;
    readonly annotations?: Record<string, string>;
  } = {},
): ObjectDraft {
  const { spec, labels = { app: 'test' }, cpu = '100m', memory = '64Mi', annotations = {} } = rest;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels, annotations },
    spec: { containers: [{ name: 'main', image: 'test:1', resources: { requests: { cpu, memory } } }], ...spec },
  };
}

export function aDeployment(
  name: string,
  replicas: number,
  rest: { readonly cpu?: string; readonly image?: string; readonly spec?: Record<string, unknown> } = {},
): ObjectDraft {
  const { cpu = '100m', image = 'test:1', spec = {} } = rest;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image, resources: { requests: { cpu } } }] } },
      ...spec,
    },
  };
}

export function aBudgetDraft(name: string, spec: Record<string, unknown>): ObjectDraft {
  return { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace: 'default' }, spec };
}

/** Path of ConfigMaps in the namespace `default`. */
export const MAPS = '/api/v1/namespaces/default/configmaps';
export const aMap = (name: string, labels: Record<string, string> = {}): unknown => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels },
  data: {},
});
