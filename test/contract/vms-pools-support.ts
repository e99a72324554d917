/** The adapter and the emulated AKS around one pool of type VirtualMachines. */
import { getClient } from '@azure-rest/core-client';
import { ClientSecretCredential } from '@azure/identity';
import { connectAzure, type AzureNodeGroups } from '../../src/adapters/azure/azure.ts';
import type { AzureOptions } from '../../src/adapters/azure/options.ts';
import type { InstanceKey } from '../../src/domain/ids.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { CloudEvent, ClusterView } from '../../src/domain/observation.ts';
import { seededRandom } from '../../src/domain/random.ts';
import { startArmEmulator, type ArmEmulator } from '../../src/simulator/arm/emulator.ts';
import type { JournalEntry } from '../../src/simulator/arm/journal.ts';
import { VirtualSimClock } from '../../src/simulator/sim-clock.ts';
import { createServerTls, type ServerTls } from '../../src/simulator/tls.ts';
import { ViolationLog } from '../../src/simulator/violations.ts';
import type { PoolSpec, WorldSpec } from '../../src/simulator/world-spec.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { aCluster, resourceNames, START_MS } from '../support/builders.ts';
import { atRest, clockOf } from '../support/virtual-world.ts';

export const SMALL = 'Standard_D4s_v5';
export const LARGE = 'Standard_D8s_v5';

export function vmsPool(change: Partial<PoolSpec> = {}): PoolSpec {
  return { name: 'mixed', kind: 'vms-pool', vmSize: SMALL, count: 3, min: 1, max: 10, ...change };
}

export function vmsWorld(pools: readonly PoolSpec[], change: Partial<WorldSpec> = {}): WorldSpec {
  return {
    subscriptionId: '11111111-2222-3333-4444-555555555555',
    tenantId: '99999999-2222-3333-4444-555555555555',
    location: 'westeurope',
    clusterName: 'aks',
    clusterResourceGroup: 'rg',
    nodeResourceGroup: 'MC_rg_aks_westeurope',
    pools,
    discoveryTags: { 'cluster-autoscaler-enabled': 'true' },
    stock: {},
    quota: {},
    seed: 5,
    ...change,
  };
}

export interface Stage {
  readonly arm: ArmEmulator;
  readonly azure: AzureNodeGroups;
  readonly clock: VirtualSimClock;
  readonly violations: ViolationLog;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
  readonly events: CloudEvent[];
  groups(cluster?: ClusterView): readonly NodeGroup[];
  group(id: string, cluster?: ClusterView): NodeGroup;
  increase(id: string, by: number): ReturnType<AzureNodeGroups['increase']>;
  /** Names machines of a group by their place in its list. */
  remove(id: string, places: readonly number[], allowBelowMin?: boolean): ReturnType<AzureNodeGroups['deleteInstances']>;
  /** What AKS aims at, size by size. */
  counts(pool?: string): Readonly<Record<string, number>>;
  /** Writes of the adapter, oldest first. */
  writes(): readonly JournalEntry[];
  /** The body of an answer to somebody else. */
  call(method: 'GET' | 'PUT', path: string, body?: unknown): Promise<unknown>;
  pass(ms: number): Promise<void>;
  /** Lets time pass until the call has ended. */
  drive<T>(work: Promise<T>): Promise<T>;
}

const CLIENTS = [
  { clientId: 'autoscaler', clientSecret: 'secret' },
  { clientId: 'person', clientSecret: 'secret', foreign: true },
];

const open: (() => Promise<void>)[] = [];

export async function closeStages(): Promise<void> {
  for (const close of open.splice(0)) await close();
}

let tlsOnce: Promise<ServerTls> | undefined;

export async function stage(spec: WorldSpec, rest: Partial<AzureOptions> = {}): Promise<Stage> {
  const clock = new VirtualSimClock(START_MS);
  tlsOnce ??= createServerTls(Date.now());
  const tls = await tlsOnce;
  const violations = new ViolationLog();
  const arm = await startArmEmulator({ spec, clock, tls, violations, clients: CLIENTS });
  const authority = { authorityHost: arm.url, disableInstanceDiscovery: true, tlsOptions: { ca: tls.caPem } };
  const person = new ClientSecretCredential(spec.tenantId, 'person', 'secret', authority);
  const abort = new AbortController();
  const metrics = createMetrics();
  const azure = connectAzure({
    options: optionsFor(spec, { armEndpoint: arm.url, authorityHost: arm.url, caPem: tls.caPem, ...rest }),
    clock: clockOf(clock),
    random: seededRandom(3),
    log: silentLog(),
    metrics,
    names: resourceNames,
  });
  open.push(async () => {
    abort.abort();
    await azure.close();
    await arm.stop();
  });
  await azure.start(abort.signal);
  const events: CloudEvent[] = [];
  const groups = (cluster = aCluster()): readonly NodeGroup[] => {
    const view = azure.observe(cluster, clock.now());
    events.push(...view.events);
    return view.groups;
  };
  const group = (id: string, cluster?: ClusterView): NodeGroup => {
    const found = groups(cluster).find((each) => each.id === id);
    if (found === undefined) throw new Error(`no group ${id}`);
    return found;
  };
  const settled = (): Promise<void> =>
    atRest(() => (azure.inFlightCalls() > 0 || arm.pendingRequests() > 0 ? 'requests are under way' : undefined));
  const pass = async (ms: number): Promise<void> => {
    for (const end = clock.now() + ms; clock.now() < end;) {
      await settled();
      clock.advance(Math.min(1_000, end - clock.now()));
      groups();
    }
    await settled();
  };
  const self: Stage = {
    arm,
    azure,
    clock,
    violations,
    metrics,
    signal: abort.signal,
    events,
    groups,
    group,
    increase: (id, by) => {
      const { id: name, target } = group(id);
      if (!target.known) throw new Error(target.reason);
      return azure.increase({ group: name, from: target.value, version: target.version, to: target.value + by }, abort.signal);
    },
    remove: (id, places, allowBelowMin = false) => {
      const { id: name, instances = [] } = group(id);
      const meant = places.map((place): InstanceKey => {
        const key = instances[place]?.key;
        if (key === undefined) throw new Error(`no machine ${place} in ${id}`);
        return key;
      });
      return azure.deleteInstances({ group: name, instances: meant, allowBelowMin }, abort.signal);
    },
    counts: (pool = 'mixed') => arm.control.state().agentPools.find(({ name }) => name === pool)?.sizes ?? {},
    writes: () => arm.control.journal().filter(({ principal, method }) => principal === 'autoscaler' && method !== 'GET'),
    call: async (method, path, body) => {
      const client = getClient(arm.url, person, { tlsOptions: { ca: tls.caPem }, credentials: { scopes: [`${arm.url}/.default`] } });
      const target = client.pathUnchecked(path);
      const answer = method === 'GET' ? await target.get() : await target.put({ body, contentType: 'application/json' });
      return answer.body;
    },
    pass,
    drive: async (work) => {
      const ended = new Set<string>();
      const watched = work.finally(() => ended.add('over'));
      watched.catch(() => undefined);
      while (ended.size === 0) await pass(1_000);
      return watched;
    },
  };
  // The list of machines is asked for once the pools are known.
  await pass(2_000);
  return self;
}

function optionsFor(spec: WorldSpec, rest: Partial<AzureOptions>): AzureOptions {
  return {
    subscriptionId: spec.subscriptionId,
    tenantId: spec.tenantId,
    nodeResourceGroup: spec.nodeResourceGroup,
    clusterName: spec.clusterName,
    clusterResourceGroup: spec.clusterResourceGroup,
    location: spec.location,
    armEndpoint: '',
    authorityHost: '',
    scopes: [],
    caPem: undefined,
    credential: { method: 'client-secret', clientId: 'autoscaler', clientSecret: 'secret' },
    vmssCacheTtlMs: 60_000,
    vmssVmsCacheTtlMs: 300_000,
    vmssVmsCacheJitterMs: 30_000,
    skuCacheTtlMs: 86_400_000,
    enableVmssEtag: true,
    enableForceDelete: false,
    nodeGroups: [],
    discovery: [{ selectors: [{ key: 'cluster-autoscaler-enabled', value: 'true' }], min: undefined, max: undefined }],
    requestTimeoutMs: 30_000,
    maxConcurrentCalls: 8,
    userAgentSuffix: '',
    ...rest,
  };
}
