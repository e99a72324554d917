/**
 * An Azure Resource Manager on a laptop: scale sets, VMs, agent pools, tokens, rate limits and faults over HTTPS, close enough that
 * unmodified Azure clients work against it. Must not know Kubernetes: the cluster side follows VMs through the feed.
 */
import { ALLOW_ALL, type RequestFilter } from '../base/request-filter.ts';
import type { DiskDriver } from '../base/disk-driver.ts';
import type { VmFeed } from '../base/vm-feed.ts';
import type { SimClock } from '../base/sim-clock.ts';
import type { ServerTls } from '../base/tls.ts';
import type { ViolationLog } from '../base/write-safety.ts';
import type { WorldSpec } from '../base/world-spec.ts';
import type { BackgroundActorOptions } from './faults/background-actors.ts';
import { createControl, type ArmControl } from './control/control.ts';
import { handleControl, isControlPath } from './control/control-routes.ts';
import { seededRandomOf, RequestCounts } from './state/seeded-random.ts';
import { FaultTable, type FaultEffect } from './state/fault-rules.ts';
import { createGateway, parseBody } from './gateway.ts';
import { Journal } from './http/journal.ts';
import { DEFAULT_LATENCIES, type ArmLatencies } from './state/latencies.ts';
import { createListHistory, createFrozenLists } from './compute/stale-lists.ts';
import type { ArmReply, ArmRequest } from './http/messages.ts';
import { createVmFeedPublisher } from './state/vm-feed-publisher.ts';
import { maintenanceAtStart } from './other/maintenance-configurations.ts';
import { PUBLISHED_PROFILE } from './aks/autoscaler-profile.ts';
import { seedPool } from './aks/create-agent-pool.ts';
import { seedKubeletIdentity } from './identity/managed-identities.ts';
import { listenPlainly, type Listening } from './identity/metadata-server.ts';
import { createDiskDriver } from './other/disk-driver.ts';
import { listen, type RawRequest, type ResponseOptions } from './http/server.ts';
import { Throttle } from './http/throttling.ts';
import { createIdentity, type ArmClient } from './identity/tokens.ts';
import { allVms, later, type ApiServerAccess, type ArmWorld, type NodeMaintenance, type Subscription } from './state/arm-state.ts';
import { FIRST_KUBERNETES_VERSION } from './state/node-versions.ts';
import type { Vm } from './state/vm.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';

export interface ArmEmulatorOptions {
  readonly spec: WorldSpec;
  readonly clock: SimClock;
  readonly tls: ServerTls;
  readonly violations: ViolationLog;
  /** Default: any free port. */
  readonly port?: number;
  readonly knobs?: Partial<ArmLatencies>;
  /** Background actors. Default: none. */
  readonly ambient?: BackgroundActorOptions;
  /** Applications that may sign in. Default: any, with any secret. */
  readonly clients?: readonly ArmClient[];
  /** Default: every request passes. */
  readonly requestFilter?: RequestFilter;
  /** The subscription that the cluster shares with others. Its stock counts, not that of the description. Default: one of its own. */
  readonly subscription?: Subscription;
}

export interface ArmEmulator {
  /** `https://localhost:<port>`: ARM endpoint and authority host in one. */
  readonly url: string;
  readonly machines: VmFeed;
  /** The disk driver of the cluster. */
  readonly disks: DiskDriver;
  readonly control: ArmControl;
  /** Requests accepted and without a response yet. Excludes responses delayed by the clock, which only time completes. */
  pendingRequests(): number;
  /** Requests whose response is delayed by the clock and whose client still listens. */
  delayedRequests(): number;
  /** Drops the responses that are delayed now, because the process that sent the requests died. */
  dropDelayedResponses(): void;
  /**
   * Also listens on plain HTTP on loopback, for requests to a VM's metadata endpoint: `http://127.0.0.1:PORT`. Stops with the
   * emulator. AZURE_POD_IDENTITY_AUTHORITY_HOST points clients to it.
   */
  startMetadata(): Promise<string>;
  /** The API server of the managed cluster, for its credentials. */
  publishApiServer(access: ApiServerAccess): void;
  /** What AKS may do with the nodes of its VMs. */
  publishNodes(nodes: NodeMaintenance): void;
  stop(): Promise<void>;
}

/** Starts the emulator with all VMs of every pool running. Rejects if a pool is invalid or the port is taken. */
export async function startArmEmulator(options: ArmEmulatorOptions): Promise<ArmEmulator> {
  const world = createWorld(options);
  for (const pool of options.spec.pools) {
    const wrong = seedPool(world, pool);
    if (wrong !== undefined) throw new AutoscalerError({ kind: 'config' }, `The world is invalid: ${wrong}.`);
  }
  world.lists = createListHistory(world);
  const { faults } = world;
  const frozen = createFrozenLists(world);
  const identity = createIdentity(world, options.clients);
  const control = createControl({ world, faults, frozen });
  control.setAmbient(options.ambient ?? {});
  const gateway = createGateway({ world, identity, faults, frozen });
  let controlSeq = 0;
  const occasions = new RequestCounts(world.clock.now());
  const answer = (raw: RawRequest): ResponseOptions => {
    // The body of a control request is JSON with any content type, since curl sends a form type.
    const body = parseBody(raw.text, isControlPath(raw.path) ? '' : (raw.headers['content-type'] ?? ''));
    const request: ArmRequest = { ...raw, seq: 0, occasion: '', params: {}, body, principal: identity.principalOf(raw.headers) };
    if (isControlPath(raw.path)) return { reply: handleControl(control, { ...request, seq: ++controlSeq }), afterMs: 0, manner: 'whole' };
    const seq = world.journal.nextSeq();
    const occasion = occasions.next(raw, world.clock.now());
    const { reply, fault } = gateway.answer({ ...request, seq, occasion });
    return { reply: withRetryAfter(world, reply, fault), afterMs: delayOf(world, request, { occasion, fault }), manner: mannerOf(fault) };
  };
  const server = await listen({
    tls: options.tls,
    port: options.port ?? 0,
    answer,
    after: (ms, action) => later(world, ms, action),
    requestFilter: options.requestFilter ?? ALLOW_ALL,
  });
  let metadata: Listening | undefined;
  return {
    url: server.url,
    machines: world.vmFeed,
    disks: createDiskDriver(world),
    control,
    pendingRequests: () => server.pendingRequests(),
    delayedRequests: () => server.delayedRequests(),
    dropDelayedResponses: () => server.dropDelayedResponses(),
    startMetadata: async () => {
      metadata ??= await listenPlainly((raw) => answer(raw).reply);
      return metadata.url;
    },
    publishApiServer: (access) => {
      world.apiServer = access;
    },
    publishNodes: (nodes) => {
      world.nodes = nodes;
    },
    stop: async () => {
      await metadata?.stop();
      for (const forget of world.timers) forget();
      world.timers.clear();
      world.subscription.clusters.delete(world);
      await server.stop();
    },
  };
}

/** A subscription without a cluster. */
export function createSubscription(clock: SimClock, stock: Readonly<Record<string, number>>, olderBudgetNames = false): Subscription {
  return { throttle: new Throttle(clock, olderBudgetNames), stock: lowerCased(stock), clusters: new Set() };
}

function createWorld({ spec, clock, violations, knobs, subscription: shared }: ArmEmulatorOptions): ArmWorld {
  const settings: ArmLatencies = { ...DEFAULT_LATENCIES, ...knobs };
  const subscription = shared ?? createSubscription(clock, spec.stock, settings.olderBudgetNames);
  let vms: () => readonly Vm[] = () => [];
  const world: ArmWorld = {
    subscription,
    spec,
    clock,
    knobs: settings,
    draws: seededRandomOf(spec.seed),
    violations,
    journal: new Journal(settings.journalLimit),
    throttle: subscription.throttle,
    faults: new FaultTable(),
    restricted: new Map(),
    vmFeed: createVmFeedPublisher(spec, () => vms()),
    sets: new Map(),
    agentPools: new Map(),
    disks: new Map(),
    operations: new Map(),
    documents: new Map(),
    stock: subscription.stock,
    quota: lowerCased(spec.quota),
    scheduledEvents: new Map(),
    eventIncarnation: 1,
    apiServer: undefined,
    nodes: undefined,
    autoScalerProfile: PUBLISHED_PROFILE,
    clusterTags: {},
    clusterSettings: {},
    maintenance: maintenanceAtStart(spec.maintenance),
    clusterStopped: false,
    kubernetesVersion: spec.kubernetesVersion ?? FIRST_KUBERNETES_VERSION,
    clusterWork: 'Updating',
    timers: new Set(),
    lists: { sets: () => undefined, vms: () => undefined },
    operationCounts: new Map(),
  };
  vms = () => allVms(world);
  seedKubeletIdentity(world);
  subscription.clusters.add(world);
  return world;
}

function lowerCased(record: Readonly<Record<string, number>>): Map<string, number> {
  return new Map(Object.entries(record).map(([key, value]) => [key.toLowerCase(), value]));
}

function withRetryAfter(world: ArmWorld, reply: ArmReply, fault: FaultEffect | undefined): ArmReply {
  if (fault?.kind !== 'answer' || fault.retryAfterSeconds === undefined) return reply;
  return { ...reply, headers: { ...reply.headers, 'retry-after': world.throttle.retryAfter(fault.retryAfterSeconds) } };
}

function delayOf(
  { draws, knobs }: ArmWorld,
  { method, path }: Pick<ArmRequest, 'method' | 'path'>,
  { occasion, fault }: { readonly occasion: string; readonly fault: FaultEffect | undefined },
): number {
  const isAksWrite = method === 'PUT' && /\/microsoft\.containerservice\//i.test(path);
  const usual = draws.latency(`answer|${occasion}`, isAksWrite ? knobs.aksAnswerLatency : knobs.answerLatency);
  return usual + (fault?.kind === 'delay' ? fault.ms : 0);
}

function mannerOf(fault: FaultEffect | undefined): ResponseOptions['manner'] {
  if (fault?.kind === 'reset') return 'none';
  return fault?.kind === 'truncated-body' ? 'half' : 'whole';
}
