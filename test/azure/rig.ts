/** The adapter against the scripted ARM, on a clock that tests advance. */
import { onTestFinished } from 'vitest';
import { EVERY_AGENT } from '../../src/cache/agents/agent-selection.ts';
import { connectAzure, type AzureNodeGroups } from '../../src/azure/azure.ts';
import type { AzureDeps } from '../../src/azure/wiring.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';
import type { CloudView, ClusterView } from '../../src/domain/observation.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { aCluster, resourceNames, START_MS, withTexts, type ShownGroup } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { untilQuiet } from '../../world/lab/quiet.ts';
import { type AtEnd, NODE_GROUP, ScriptedArm, SUBSCRIPTION } from './scripted-arm.ts';

export interface Rig {
  readonly arm: ScriptedArm;
  readonly azure: AzureNodeGroups;
  readonly clock: FakeClock;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
  readonly logLines: string[];
  readonly wakes: () => number;
  /** Observes and returns the view. */
  view(cluster?: ClusterView): Omit<CloudView, 'groups'> & { readonly groups: readonly ShownGroup[] };
  /** One group of a fresh view. */
  group(id: string, cluster?: ClusterView): ShownGroup;
  increase(id: string, to: number, from?: NodeGroup): ReturnType<AzureNodeGroups['increase']>;
  /** Lets every call under way end. */
  quiet(): Promise<void>;
  /** Moves time on in steps, letting calls end in between. */
  pass(ms: number): Promise<void>;
  /** The value of one counter. */
  count(metric: string, labels?: Readonly<Record<string, string>>): Promise<number>;
}

export const USER_POOL = 'aks-user1-vmss';

export function options(arm: ScriptedArm, rest: Partial<AzureOptions> = {}): AzureOptions {
  return {
    subscriptionId: SUBSCRIPTION,
    tenantId: 'tenant',
    nodeResourceGroup: NODE_GROUP,
    clusterName: undefined,
    clusterResourceGroup: undefined,
    location: 'westeurope',
    armEndpoint: arm.url,
    authorityHost: arm.url,
    scopes: [],
    caPem: arm.caPem,
    credential: { method: 'client-secret', clientId: 'client', clientSecret: 'secret' },
    vmssCacheTtlMs: 60_000,
    vmssVmsCacheTtlMs: 300_000,
    vmssVmsCacheJitterMs: 0,
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
    nodeGroups: [{ name: USER_POOL, min: 1, max: 10 }],
    discovery: [],
    requestTimeoutMs: 30_000,
    maxConcurrentCalls: 8,
    userAgentSuffix: '',
    ...rest,
  };
}

/** Starts nothing: fill the ARM, then call `azure.start(signal)`. Ends with the test. */
export async function rig(
  rest: Partial<AzureOptions> = {},
  more: Pick<AzureDeps, 'sharedTexts' | 'sharedHints' | 'sharedClusters' | 'pauses'> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Rig> {
  const arm = await ScriptedArm.start(atEnd);
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics();
  const logLines: string[] = [];
  const abort = new AbortController();
  const azure = connectAzure({
    options: options(arm, rest),
    clock,
    random: seededRandom(7),
    log: createLog('debug', { write: (line) => void logLines.push(line) }),
    metrics,
    names: resourceNames,
    ...more,
    credential: { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: Date.now() + 3_600_000 }) },
  });
  atEnd(async () => {
    abort.abort();
    await azure.close();
  });
  let wakes = 0;
  azure.onWake(() => {
    wakes += 1;
  });
  const quiet = (): Promise<void> => untilQuiet(() => (azure.inFlightCalls() > 0 ? 'calls to ARM are under way' : undefined));
  const view: Rig['view'] = (cluster = aCluster()) => {
    const seen = azure.observe(cluster, clock.now());
    return { ...seen, groups: seen.groups.map(withTexts) };
  };
  const group: Rig['group'] = (id, cluster = aCluster()) => {
    const found = view(cluster).groups.find((each) => each.id === id);
    if (found === undefined) throw new Error(`no group ${id}`);
    return found;
  };
  return {
    arm,
    azure,
    clock,
    metrics,
    signal: abort.signal,
    logLines,
    wakes: () => wakes,
    view,
    group,
    increase: (id, to, from = group(id)) => {
      if (!from.target.known) throw new Error(`the size of ${id} is not known: ${from.target.reason}`);
      return azure.increase({ group: nodeGroupId(id), from: from.target.value, version: from.target.version, to }, abort.signal);
    },
    quiet,
    pass: async (ms) => {
      const end = clock.now() + ms;
      await quiet();
      while (clock.now() < end) {
        await clock.advance(Math.min(1_000, end - clock.now()));
        await quiet();
      }
    },
    count: async (metric, labels = {}) => {
      const found = await metrics.registry.getSingleMetric(`aks_autoscaler_${metric}`)?.get();
      const matching = found?.values.filter((value) => Object.entries(labels).every(([key, text]) => value.labels[key] === text)) ?? [];
      return matching.reduce((sum, { value }) => sum + value, 0);
    },
  };
}
