/** An emulator in virtual time with the real SDK clients around it. */
import { ComputeManagementClient } from '@azure/arm-compute';
import { ContainerServiceClient } from '@azure/arm-containerservice';
import type { TokenCredential } from '@azure/core-auth';
import { ClientSecretCredential } from '@azure/identity';
import { Agent, request } from 'node:https';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { startArmEmulator, type ArmEmulator, type ArmEmulatorOptions } from '../../../simulator/arm/emulator.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { createServerTls, type ServerTls } from '../../../simulator/base/tls.ts';
import { ViolationLog } from '../../../simulator/base/write-safety.ts';
import type { PoolSpec, WorldSpec } from '../../../simulator/base/world-spec.ts';

export const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'right' };
export const RG = 'MC_rg_aks_westeurope';
export const MINUTE = 60_000;
const AZURE_SCOPE = 'https://management.azure.com/.default';
export const VERSION = 'api-version=2025-04-01';

export function aPool(name: string, over: Partial<PoolSpec> = {}): PoolSpec {
  return { name, vmSize: 'Standard_D4s_v5', count: 2, min: 1, max: 10, ...over };
}

export function aWorld(pools: readonly PoolSpec[], over: Partial<WorldSpec> = {}): WorldSpec {
  return {
    subscriptionId: '11111111-2222-3333-4444-555555555555',
    tenantId: '66666666-7777-8888-9999-000000000000',
    location: 'westeurope',
    clusterName: 'aks',
    clusterResourceGroup: 'rg',
    nodeResourceGroup: RG,
    pools,
    discoveryTags: { 'cluster-autoscaler-enabled': 'true' },
    stock: {},
    quota: {},
    seed: 7,
    ...over,
  };
}

export interface Rig {
  readonly spec: WorldSpec;
  readonly arm: ArmEmulator;
  readonly clock: VirtualSimClock;
  readonly violations: ViolationLog;
  readonly tls: ServerTls;
  readonly credential: TokenCredential;
  readonly compute: ComputeManagementClient;
  readonly aks: ContainerServiceClient;
  /** Name of a pool's scale set. */
  set(pool: string): string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  stop(): Promise<void>;
}

interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** false: without a token. */
  readonly token?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // Responses are untyped on purpose: each test reads the fields that it expects.
  readonly json: Record<string, never> & { readonly [key: string]: unknown };
}

/** An answer that takes its time in the world would never come while a test awaits it. */
const PROMPT = { aksAnswerLatency: { p50: 0, p95: 0 } };

const tlsOnce = createServerTls(Date.now());

export type RigOptions = Pick<ArmEmulatorOptions, 'knobs' | 'clients' | 'ambient'> & {
  readonly maxRetries?: number;
  /** Time of the world at its start. Default: now, to the second. */
  readonly startMs?: number;
  /** The host name in raw requests, as behind a proxy. */
  readonly host?: string;
};

/** An emulator until the test is over. A test that starts many may stop each before. */
export async function startRig(spec: WorldSpec, options: RigOptions = {}): Promise<Rig> {
  const rig = await openRig(spec, options);
  onTestFinished(() => rig.stop());
  return rig;
}

async function openRig(spec: WorldSpec, options: RigOptions): Promise<Rig> {
  const tls = await tlsOnce;
  const violations = new ViolationLog();
  const { maxRetries = 0, startMs = Math.floor(Date.now() / 1000) * 1000, host, knobs, ...rest } = options;
  const clock = new VirtualSimClock(startMs);
  const arm = await startArmEmulator({ spec, clock, tls, violations, clients: [CLIENT], ...rest, knobs: { ...PROMPT, ...knobs } });
  const tlsOptions = { ca: tls.caPem };
  const credential = new ClientSecretCredential(spec.tenantId, CLIENT.clientId, CLIENT.clientSecret, {
    authorityHost: arm.url,
    disableInstanceDiscovery: true,
    tlsOptions,
    retryOptions: { maxRetries: 3, retryDelayInMs: 1 },
  });
  const common = { endpoint: arm.url, tlsOptions, retryOptions: { maxRetries, retryDelayInMs: 1 } };
  const agent = new Agent({ keepAlive: true, ca: tls.caPem, servername: 'localhost' });
  let token: Promise<string> | undefined;
  const signIn = async (): Promise<string> => {
    const { clientId: client_id, clientSecret: client_secret } = CLIENT;
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope: AZURE_SCOPE });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await send(`${arm.url}/${spec.tenantId}/oauth2/v2.0/token`, agent, { method: 'POST', headers, body: form.toString() });
    return String(answer.json['access_token']);
  };
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    agent.destroy();
    await arm.stop();
  };
  const set = (pool: string): string => arm.control.state().sets.find((entry) => entry.pool === pool)?.name ?? '';
  return {
    spec,
    arm,
    clock,
    violations,
    tls,
    credential,
    compute: new ComputeManagementClient(credential, spec.subscriptionId, common),
    aks: new ContainerServiceClient(credential, spec.subscriptionId, common),
    set,
    call: async (method, path, call = {}) => {
      const bearer = call.token === false ? undefined : await (token ??= signIn());
      return send(arm.url + path, agent, {
        method,
        headers: {
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
          ...(host === undefined ? {} : { host }),
          ...call.headers,
        },
        ...(call.body === undefined ? {} : { body: call.body }),
      });
    },
    stop: () => (stopping ??= stop()),
  };
}

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

function send(url: string, agent: Agent, { method, headers, body }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
    const type = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
    const outgoing = request(url, { method, headers: { ...type, ...headers }, agent }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const answer = Buffer.concat(chunks).toString('utf8');
        const isJson = answer.startsWith('{') || answer.startsWith('[');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: answer, json: isJson ? JSON.parse(answer) : {} });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

/** Path of a scale set, or of a resource below it. */
export function setPath(rig: Rig, pool: string, rest = ''): string {
  const root = `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/${RG}/providers/Microsoft.Compute/virtualMachineScaleSets`;
  return `${root}/${rig.set(pool)}${rest}`;
}

/** Path of an agent pool, or of a resource below it, with the version. */
export function poolPath(rig: Rig, pool: string, rest = ''): string {
  const cluster = `${rig.spec.clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${rig.spec.clusterName}`;
  return `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/${cluster}/agentPools/${pool}${rest}?api-version=2025-05-01`;
}

export async function scale(rig: Rig, pool: string, capacity: number, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const body = { location: 'westeurope', sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity } };
  return rig.call('PUT', `${setPath(rig, pool)}?${VERSION}`, { body, headers });
}

/** The document of the operation that a response began. */
export async function operationOf(rig: Rig, answer: Answer): Promise<Answer> {
  const url = new URL(String(answer.headers['azure-asyncoperation']));
  return rig.call('GET', url.pathname + url.search);
}

export function stateOf(rig: Rig, pool: string) {
  const found = rig.arm.control.state().sets.find((entry) => entry.pool === pool);
  if (found === undefined) throw new Error(`no set for ${pool}`);
  return found;
}

/** A rig for a whole file of read-mostly tests. */
export function sharedRig(spec: WorldSpec, options: RigOptions = {}): () => Rig {
  let rig: Rig | undefined;
  beforeAll(async () => {
    rig = await openRig(spec, options);
  });
  afterAll(() => rig?.stop());
  return () => {
    if (rig === undefined) throw new Error('the rig has not been started');
    return rig;
  };
}

/** All items of all pages. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
