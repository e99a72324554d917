/**
 * Connects to the API server and to Azure as the configuration says, for the daemon and for commands that read as it does.
 * Must not know the loop, nor what the connections are used for.
 */
import { connectAzure, type AzureNodeGroups } from '../../azure/azure.ts';
import { findSubscriptionAndRegion, type SubscriptionRegion } from '../../azure/instance-metadata.ts';
import { connectKubernetes, type Kubernetes, type KubernetesOptions } from '../../kubernetes/kubernetes.ts';
import type { Config } from '../../config/types/config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import { keptConditions } from '../../domain/repack.ts';
import { workloadKey } from '../../domain/capacity-objects.ts';
import { ResourceNames } from '../../domain/resources.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { BoundedPlace, boundedFile } from './bounded-place.ts';
import { keptFile } from './shared-files.ts';
import type { ConnectedStore } from './shared-texts.ts';
import { connectSharedTexts } from './connect-shared-texts.ts';
import { ConfigMapPauses, ConfigMapPriorityRules } from './config-map-stores.ts';
import { defined } from '../../lib/defined.ts';

export interface ConnectInput {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Cancels connecting. It has no effect on connections that are made. */
  readonly signal?: AbortSignal;
  /** How long the first reads of Azure are retried while it throttles or is unavailable. Default 0: one attempt. */
  readonly startPatienceMs?: number;
  /** Tokens for Azure age on `clock`, for processes in virtual time. Default: on the clock of the machine. */
  readonly tokensFollowClock?: boolean;
  /** Replaces the store that the configuration names, for processes that share one in memory. */
  readonly sharedStore?: ConnectedStore;
}

export interface Connections {
  readonly names: ResourceNames;
  readonly kubernetes: Kubernetes;
  readonly cloud: AzureNodeGroups;
  /** What the cloud shares with other clusters. */
  readonly store: ConnectedStore;
  /** undefined: the priority expander is not configured. */
  readonly rules: ConfigMapPriorityRules | undefined;
  readonly pauses: ConfigMapPauses;
  /** The conditions of nodes that are kept, as `type=status`: those of the rules about sick nodes. */
  readonly conditions: Set<string>;
}

/** Connects both sides. Nothing is read before they are started. @throws AutoscalerError of the first endpoint that does not respond. */
export async function connectBoth(input: ConnectInput): Promise<Connections> {
  const { config, clock, random, log, metrics, signal } = input;
  const names = new ResourceNames();
  const conditions = new Set(keptConditions(config.azure.nodeGroupOptions));
  const kubernetes = await connectKubernetes({
    clock,
    random,
    log,
    metrics,
    names,
    ...defined({ signal }),
    options: {
      ...config.kubernetes,
      followWorkloads: config.policy.scaleUp.proactive,
      readsPreferences: config.policy.scaleUp.expanders.includes('preferences'),
      readsAutoscalers: config.policy.cluster.verticalPodAutoscalers,
      taints: config.policy.cluster.taints,
      conditions,
      ...capacityOf(config),
    },
  });
  const pauses = new ConfigMapPauses(log);
  const { cloud, store } = await connectCloud(input, { names, kubernetes, pauses });
  const rules = config.policy.scaleUp.expanders.includes('priority') ? new ConfigMapPriorityRules(log) : undefined;
  return { names, kubernetes, cloud, store, rules, pauses, conditions };
}

/** Only kinds of enabled features are watched. */
function capacityOf({ policy, azure }: Config): Pick<KubernetesOptions, 'capacity'> {
  const { quotas, bufferController, bufferInjection, requests, headroom, podDryRun } = policy.capacity;
  const buffers = bufferController || bufferInjection;
  const ofPools = [...azure.nodeGroupOptions.map(({ options }) => options), ...(azure.schedules?.rules ?? []).map(({ says }) => says)];
  const amounts = [...headroom, ...ofPools.flatMap((each) => each.headroom ?? [])];
  const copied = amounts.flatMap((amount) => (amount.kind === 'copies' ? [amount.of] : []));
  const [workloads, copies] = [copied.map(({ kind }) => kind), copied.map(workloadKey)];
  return quotas || buffers || requests || workloads.length > 0
    ? { capacity: { quotas, buffers, requests, workloads, copies, podDryRun } }
    : {};
}

/** Closes the connections to Kubernetes if Azure cannot be connected. */
async function connectCloud(
  input: ConnectInput,
  { names, kubernetes, pauses }: Pick<Connections, 'names' | 'kubernetes' | 'pauses'>,
): Promise<Pick<Connections, 'cloud' | 'store'>> {
  const { config, clock, random, log, metrics } = input;
  try {
    const { scaleFromUnschedulable } = config.policy.cluster;
    const location = await subscriptionAndRegion(input);
    const { startPatienceMs = 0 } = input;
    const options = { ...config.azure, ...location, scaleFromUnschedulable, startPatienceMs, taints: config.policy.cluster.taints };
    const store = input.sharedStore ?? (await connectSharedTexts({ config, scope: options, clock, log, metrics }));
    const cloud = connectAzure({
      options,
      sharedTexts: store.texts,
      sharedHints: store.hints,
      sharedClusters: store.clusters,
      onClosed: () => store.close(),
      keptPrices: keptPrices(config, clock),
      clock,
      random,
      log,
      metrics,
      names,
      foreignLock: kubernetes.foreignLock,
      pauses,
      beforeWrite: () => kubernetes.lease.verify(),
      ...defined({ tokensFollowClock: input.tokensFollowClock }),
    });
    return { cloud, store };
  } catch (error) {
    await kubernetes.close();
    throw error;
  }
}

/** A file system that hangs must not keep the start waiting. */
const FILE_MS = 1_000;

function keptPrices({ azure: { retailPrices } }: Config, clock: Clock): StoredText | undefined {
  const path = retailPrices?.file;
  return path === undefined ? undefined : boundedFile(keptFile(path), new BoundedPlace({ clock, limitMs: FILE_MS }));
}

function subscriptionAndRegion({ config, clock, signal }: ConnectInput): Promise<SubscriptionRegion> {
  const { metadataEndpoint: endpoint } = config.azure;
  return findSubscriptionAndRegion(config.azure, { endpoint, clock, ...defined({ signal }) });
}
