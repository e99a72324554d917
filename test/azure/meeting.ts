/** The adapter meets the emulated Azure over HTTPS, with real credentials and clients, on one clock. */
import { onTestFinished } from 'vitest';
import { withTexts, type ShownGroup } from '../support/builders.ts';
import { EVERY_AGENT } from '../../src/cache/agents/agent-selection.ts';
import { connectAzure, type AzureNodeGroups } from '../../src/azure/azure.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { AnsweredIncrease } from '../../src/domain/outcome.ts';
import type { CloudEvent, ClusterView } from '../../src/domain/observation.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { startArmEmulator, type ArmEmulator, type ArmEmulatorOptions } from '../../world/simulator/arm/emulator.ts';
import { VirtualSimClock } from '../../world/simulator/base/sim-clock.ts';
import { serverTlsAt } from '../../world/simulator/base/tls.ts';
import { ViolationLog } from '../../world/simulator/base/write-safety.ts';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { aCluster, resourceNames, START_MS } from '../support/builders.ts';
import { clockOf } from '../../world/lab/process-clock.ts';
import { untilQuiet } from '../../world/lab/quiet.ts';

export const SPEC: WorldSpec = {
  subscriptionId: '11111111-2222-3333-4444-555555555555',
  tenantId: '99999999-2222-3333-4444-555555555555',
  location: 'westeurope',
  clusterName: 'aks',
  clusterResourceGroup: 'rg',
  nodeResourceGroup: 'MC_rg_aks_westeurope',
  pools: [
    { name: 'system', vmSize: 'Standard_D4s_v5', count: 2, min: 2, max: 2, mode: 'System' },
    { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 10, zones: ['1', '2', '3'] },
    { name: 'empty', vmSize: 'Standard_E8s_v5', count: 0, min: 0, max: 5, labels: { team: 'a' }, taints: ['team=a:NoSchedule'] },
  ],
  discoveryTags: { 'cluster-autoscaler-enabled': 'true' },
  stock: { 'Standard_E8s_v5/0': 0 },
  quota: {},
  seed: 5,
};

export interface Meeting {
  readonly arm: ArmEmulator;
  /** Ends it before the test is over, where a test has many. */
  end(): Promise<void>;
  readonly caPem: string;
  readonly azure: AzureNodeGroups;
  readonly clock: VirtualSimClock;
  readonly violations: ViolationLog;
  readonly signal: AbortSignal;
  readonly events: CloudEvent[];
  readonly metrics: Metrics;
  readonly logLines: readonly string[];
  groups(cluster?: ClusterView): readonly ShownGroup[];
  group(pool: string, cluster?: ClusterView): ShownGroup;
  /** Resolves with Azure's answer, however long it takes. */
  increase(group: NodeGroup, by: number): Promise<AnsweredIncrease>;
  /** Lets time pass. `lookEveryMs`: how often the groups are observed meanwhile. */
  pass(ms: number, lookEveryMs?: number): Promise<void>;
  /** Lets time pass until the call has ended. */
  drive<T>(work: Promise<T>): Promise<T>;
}

/** Of the emulator: what of its behaviour the meeting is about, and who else may sign in. */
export type MeetingPlace = Pick<ArmEmulatorOptions, 'knobs' | 'clients'>;

/** A pass in which nothing is expected within seconds, and one of which only the end counts. */
const LONG_PASS_MS = 2 * 60_000;
const VERY_LONG_PASS_MS = 20 * 60_000;
/** How seldom is looked in the latter. */
const SELDOM_MS = 60_000;
/** How often a daemon observes. */
export const LOOP_MS = 10_000;
const DAEMON = { clientId: 'autoscaler', clientSecret: 'secret' };

/** An answer that takes its time in the world would never come while a test awaits it. */
const PROMPT = { aksAnswerLatency: { p50: 0, p95: 0 } };

/** Ends with the test. The daemon's credential is known to the emulator by its secret. */
export async function meet(rest: Partial<AzureOptions> = {}, spec: WorldSpec = SPEC, place: MeetingPlace = {}): Promise<Meeting> {
  const clock = new VirtualSimClock(START_MS);
  const tls = await serverTlsAt(Date.now());
  const violations = new ViolationLog();
  const { clients = [], knobs } = place;
  const rule = { knobs: { ...PROMPT, ...knobs }, clients: [DAEMON, ...clients] };
  const arm = await startArmEmulator({ spec, clock, tls, violations, ...rule });
  const abort = new AbortController();
  const logLines: string[] = [];
  const metrics = createMetrics();
  const azure = connectAzure({
    options: {
      subscriptionId: spec.subscriptionId,
      tenantId: spec.tenantId,
      nodeResourceGroup: spec.nodeResourceGroup,
      clusterName: spec.clusterName,
      clusterResourceGroup: spec.clusterResourceGroup,
      location: spec.location,
      armEndpoint: arm.url,
      authorityHost: arm.url,
      scopes: [],
      caPem: tls.caPem,
      credential: { method: 'client-secret', ...DAEMON },
      vmssCacheTtlMs: 60_000,
      vmssVmsCacheTtlMs: 300_000,
      vmssVmsCacheJitterMs: 30_000,
      skuCacheTtlMs: 86_400_000,
      spotSizeTtlMs: 0,
      readOnChange: false,
      agents: EVERY_AGENT,
      enableVmssEtag: true,
      enableForceDelete: false,
      writePath: 'vmss',
      syncAgentPoolCount: false,
      deallocate: false,
      maxStoppedInstances: 10,
      activityLog: false,
      placementScores: false,
      nodeGroups: [],
      discovery: [{ selectors: [{ key: 'cluster-autoscaler-enabled', value: 'true' }], min: undefined, max: undefined }],
      requestTimeoutMs: 30_000,
      // The library waits by the machine's clock, not by the world's.
      signInRetryDelayMs: 1,
      maxConcurrentCalls: 8,
      userAgentSuffix: '',
      ...rest,
    },
    clock: clockOf(clock),
    random: seededRandom(3),
    log: createLog('info', { write: (line) => void logLines.push(line) }),
    metrics,
    names: resourceNames,
  });
  const end = async (): Promise<void> => {
    abort.abort();
    await azure.close();
    await arm.stop();
  };
  onTestFinished(end);
  await azure.start(abort.signal);
  const events: CloudEvent[] = [];
  const groups = (cluster = aCluster()): readonly ShownGroup[] => {
    const view = azure.observe(cluster, clock.now());
    events.push(...view.events);
    return view.groups.map(withTexts);
  };
  // A daemon observes every ten seconds; short passes look more often, since something is expected within them.
  const usually = (ms: number): number => (ms >= VERY_LONG_PASS_MS ? SELDOM_MS : ms >= LONG_PASS_MS ? LOOP_MS : 1_000);
  const pass = async (ms: number, lookEveryMs = usually(ms)): Promise<void> => {
    // Only time completes a call whose response is delayed by the clock.
    const busy = (): string | undefined =>
      azure.inFlightCalls() > arm.delayedRequests() || arm.pendingRequests() > 0 ? 'requests are under way' : undefined;
    let lookAt = clock.now() + lookEveryMs;
    for (const end = clock.now() + ms; clock.now() < end;) {
      await untilQuiet(busy);
      const next = Math.min(end, lookAt, clock.nextDueAt() ?? end);
      clock.advance(Math.max(0, next - clock.now()));
      if (clock.now() < Math.min(lookAt, end)) continue;
      lookAt = clock.now() + lookEveryMs;
      groups();
    }
    await untilQuiet(busy);
  };
  return {
    arm,
    end,
    caPem: tls.caPem,
    azure,
    clock,
    violations,
    signal: abort.signal,
    events,
    metrics,
    logLines,
    groups,
    group: (pool, cluster) => {
      const found = groups(cluster).find(({ id }) => id.includes(pool));
      if (found === undefined) throw new Error(`no group for ${pool}`);
      return found;
    },
    increase: async (group, by) => {
      if (!group.target.known) throw new Error(group.target.reason);
      const { value, version } = group.target;
      const first = await azure.increase({ group: group.id, from: value, version, to: value + by }, abort.signal);
      return first.kind === 'sent' ? first.answer : first;
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
}
