/**
 * The composition root: the one place that knows which adapter stands behind which port. Wires; decides nothing. Embedded
 * in tests with a clock of their own.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connectAzure, type AzureNodeGroups } from '../azure/azure.ts';
import { placeOf, type Place } from '../azure/arm/instance-metadata.ts';
import type { AzureOptions } from '../azure/arm/options.ts';
import type { SkuShare } from '../azure/inventory/sku-agent.ts';
import { connectKubernetes, type Kubernetes, type KubernetesOptions } from '../kubernetes/kubernetes.ts';
import type { Config } from '../config/types/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { TaintRules } from '../domain/taints.ts';
import { ResourceNames } from '../domain/resources.ts';
import { Autoscaler } from '../loop/autoscaler.ts';
import { compatibleCounts } from '../observers/cluster-autoscaler-metrics/counters.ts';
import { publishCompatible } from '../observers/cluster-autoscaler-metrics/gauges.ts';
import { WithheldWrites } from '../loop/dry-run/withheld-writes.ts';
import { withholding, withholdingEvents } from '../loop/dry-run/dry-run-ports.ts';
import { groupEvents } from '../observers/events/node-group-events.ts';
import { priorityEvents } from '../observers/events/priority-rule-events.ts';
import { StatusPublisher } from '../observers/status/status-publisher.ts';
import { TemplateKeeper } from '../loop/memory/template-store.ts';
import { createCompatibleMetrics } from '../telemetry/cluster-autoscaler-metrics.ts';
import { Health } from '../telemetry/health.ts';
import type { KeptText } from '../domain/ports/stored-text.ts';
import type { LoopDeps } from '../loop/deps/loop-deps.ts';
import type { DecisionJournal } from '../domain/ports/records.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Daemon, DaemonLifetime } from './daemon.ts';
import { fileJournal, noJournal } from './file-journal.ts';
import { keptFile, skuFolder } from './shared-files.ts';
import { ConfigMapPriorityRules, eventsNaming, statusConfigMap } from './config-map-stores.ts';

export interface ComposeInput {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Gives the first connections up; what is composed lives on without it. */
  readonly signal?: AbortSignal;
  /** Instead of the one that the configuration names; for who embeds a daemon and looks on. */
  readonly journal?: DecisionJournal;
  /** For how long the first reads of Azure go on trying while it is busy or away. Default: the first failure is the last. */
  readonly startPatienceMs?: number;
}

/** Less than a start may take before it counts as stuck. */
const START_PATIENCE_MS = 10 * 60_000;

/**
 * Connects to the cluster and makes everything else. Nothing runs before `start`.
 * @throws AutoscalerError of the first endpoint that does not answer; `cancelled` when the signal fires before it does.
 */
export async function composeDaemon(input: ComposeInput): Promise<Daemon> {
  const { config, clock, log, metrics } = input;
  const { names, kubernetes, cloud, rules } = await connectBoth({ startPatienceMs: START_PATIENCE_MS, ...input });
  const { namespace, statusConfigMap: isWritten, statusConfigMapName } = config.kubernetes;
  const recorder = eventsNaming(kubernetes.events, statusConfigMapName);
  const ports: LoopDeps = {
    clock,
    log,
    metrics,
    names,
    policy: config.policy,
    cloud,
    cluster: kubernetes.reader,
    tainter: kubernetes.tainter,
    evictor: kubernetes.evictor,
    owners: kubernetes.owners,
    events: recorder,
    capacityObjects: kubernetes.capacityObjects,
    journal: input.journal ?? journalOf(config, names, log),
    ...(rules === undefined ? {} : { priorities: rules }),
    ...(cloud.prices === undefined ? {} : { prices: cloud.prices }),
  };
  const withheld = config.dryRun ? new WithheldWrites({ clock, log, metrics }) : undefined;
  const events = withheld === undefined ? recorder : withholdingEvents(withheld);
  metrics.dryRun.active.set(withheld === undefined ? 0 : 1);
  const loop = new Autoscaler(withheld === undefined ? ports : withholding(ports, withheld), {
    ...config.loop,
    namespace,
  });
  let live = config;
  const health = new Health(config.health);
  loop.onLoop((report) => {
    if (report.outcome === 'completed') health.loopCompleted(clock.monotonic());
    else if (report.outcome === 'failed') health.loopFailed(clock.monotonic());
  });
  if (config.metrics.clusterAutoscalerNames) {
    const compatible = createCompatibleMetrics(metrics);
    loop.onLoop((report) => publishCompatible(report, live.policy, compatible));
    for (const listener of compatibleCounts(compatible, () => live.policy)) loop.onLoop(listener);
  }
  const startedAtMs = clock.now();
  loop.onLoop((report) => {
    for (const event of groupEvents(report, { policy: live.policy, namespace, startedAtMs })) events.record(event);
    const told = rules === undefined ? [] : priorityEvents(report, rules.current(), namespace);
    for (const event of told) events.record(event);
  });
  const status = isWritten
    ? new StatusPublisher({
        writer: statusConfigMap(kubernetes, { namespace, name: statusConfigMapName }),
        policy: config.policy,
        clock,
        log,
      })
    : undefined;
  const text = kubernetes.keepText('aks-autoscaler-templates', 'templates.json');
  const kept = withheld === undefined ? text : readOnly(text);
  const templates = new TemplateKeeper({ learner: cloud, kept, clock, log });
  const reconfigure = (next: Config): void => {
    if (next.logLevel !== live.logLevel) log.level = next.logLevel;
    if (next.azure.agents !== live.azure.agents) cloud.selectAgents(next.azure.agents);
    live = next;
    cloud.regroup(next.azure);
    loop.reconfigure(next.policy, { ...next.loop, namespace });
    status?.reconfigure(next.policy);
    health.reconfigure(next.health);
  };
  return new DaemonLifetime({
    config,
    events,
    reconfigure,
    clock,
    log,
    metrics,
    cloud,
    kubernetes,
    loop,
    health,
    status,
    rules,
    templates,
    withheld,
    stalls: monitorEventLoopDelay({ resolution: 10 }),
  });
}

/** A dry run learns from what is kept, and keeps nothing. */
function readOnly(text: KeptText): KeptText {
  return { read: (signal) => text.read(signal), write: () => Promise.resolve() };
}

export interface Connections {
  readonly names: ResourceNames;
  readonly kubernetes: Kubernetes;
  readonly cloud: AzureNodeGroups;
  /** undefined: nobody asks for them. */
  readonly rules: ConfigMapPriorityRules | undefined;
}

/** Both sides, as the daemon knows them; nothing is read before they are started. @throws as {@link composeDaemon}. */
export async function connectBoth(input: ComposeInput): Promise<Connections> {
  const { config, clock, random, log, metrics, signal } = input;
  const names = new ResourceNames();
  const kubernetes = await connectKubernetes({
    clock,
    random,
    log,
    metrics,
    names,
    ...(signal === undefined ? {} : { signal }),
    options: {
      ...config.kubernetes,
      followWorkloads: config.policy.scaleUp.proactive === true,
      ...taintsOf(config),
      ...capacityOf(config),
    },
  });
  const cloud = await connectCloud(input, names, kubernetes);
  const rules = config.policy.scaleUp.expanders.includes('priority') ? new ConfigMapPriorityRules(log) : undefined;
  return { names, kubernetes, cloud, rules };
}

/** Both sides judge nodes by the same taints: what makes one not ready is what a new one will not keep. */
function taintsOf({ policy }: Config): { readonly taints?: TaintRules } {
  return policy.cluster?.taints === undefined ? {} : { taints: policy.cluster.taints };
}

/** Only what somebody turned on is watched. */
function capacityOf({ policy }: Config): Pick<KubernetesOptions, 'capacity'> {
  const { quotas = false, bufferController = false, bufferInjection = false, requests = false } = policy.capacity ?? {};
  const buffers = bufferController || bufferInjection;
  return quotas || buffers || requests ? { capacity: { quotas, buffers, requests } } : {};
}

function journalOf({ dumpDirectory: directory }: Config, names: ResourceNames, log: Log): DecisionJournal {
  return directory === undefined ? noJournal : fileJournal({ directory, names, log });
}

function skuShareOf({ azure, kubernetes }: Config, scope: AzureOptions): SkuShare | undefined {
  const { skuFolder: folder } = azure;
  return folder === undefined ? undefined : skuFolder({ folder, scope, identity: kubernetes.identity });
}

/** An adapter that cannot be made must not leave the other's connections open. */
async function connectCloud(input: ComposeInput, names: ResourceNames, kubernetes: Kubernetes): Promise<AzureNodeGroups> {
  const { config, clock, random, log, metrics } = input;
  try {
    const { scaleFromUnschedulable = false } = config.policy.cluster ?? {};
    const place = await machinesPlace(input);
    const { startPatienceMs = 0 } = input;
    const options = { ...config.azure, ...place, scaleFromUnschedulable, startPatienceMs, ...taintsOf(config) };
    return connectAzure({
      options,
      skuShare: skuShareOf(config, options),
      keptPrices: config.azure.retailPrices?.file === undefined ? undefined : keptFile(config.azure.retailPrices.file),
      clock,
      random,
      log,
      metrics,
      names,
      foreignLock: kubernetes.foreignLock,
      beforeWrite: () => kubernetes.lease.verify(),
    });
  } catch (error) {
    await kubernetes.close();
    throw error;
  }
}

function machinesPlace({ config, clock, signal }: ComposeInput): Promise<Place> {
  const { metadataEndpoint: endpoint } = config.azure;
  return placeOf(config.azure, { endpoint, clock, ...(signal === undefined ? {} : { signal }) });
}
