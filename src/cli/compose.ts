/**
 * The composition root: the one place that knows which adapter stands behind which port. Wires; decides nothing. Embedded
 * in tests with a clock of their own.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Config } from '../config/types/config.ts';
import type { ResourceNames } from '../domain/resources.ts';
import { Autoscaler } from '../loop/autoscaler.ts';
import { WithheldWrites } from '../loop/dry-run/withheld-writes.ts';
import { withholding } from '../loop/dry-run/dry-run-ports.ts';
import { loopGauges } from '../observers/metrics/loop-metrics.ts';
import { createObservers } from '../observers/observers.ts';
import { StatusPublisher } from '../observers/status/status-publisher.ts';
import { TemplateKeeper } from '../loop/memory/template-store.ts';
import { createCompatibleMetrics } from '../telemetry/cluster-autoscaler-metrics.ts';
import { Health } from '../telemetry/health.ts';
import type { KeptText } from '../domain/ports/stored-text.ts';
import type { LoopDeps } from '../loop/deps/loop-deps.ts';
import type { DecisionJournal } from '../domain/ports/records.ts';
import type { Log } from '../telemetry/log.ts';
import { type Daemon, DaemonLifetime } from './daemon.ts';
import { fileJournal, noJournal } from './file-journal.ts';
import { eventsNaming, statusConfigMap } from './connect/config-map-stores.ts';
import { connectBoth, type ConnectInput } from './connect/connect.ts';
import { defined } from '../lib/defined.ts';

export interface ComposeInput extends ConnectInput {
  /** Replaces the journal that the configuration names; for embedders that record decisions. */
  readonly journal?: DecisionJournal;
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
    gauges: loopGauges(metrics),
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
    ...defined({ priorities: rules, prices: cloud.prices }),
  };
  const withheld = config.dryRun ? new WithheldWrites({ clock, log, metrics }) : undefined;
  metrics.dryRun.active.set(withheld === undefined ? 0 : 1);
  const deps = withheld === undefined ? ports : withholding(ports, withheld);
  const { events } = deps;
  const loop = new Autoscaler(deps, { ...config.loop, namespace });
  let live = config;
  const observers = createObservers({
    log,
    metrics: deps.metrics,
    events,
    namespace,
    policy: () => live.policy,
    startedAtMs: clock.now(),
    priorities: rules,
    compatible: config.metrics.clusterAutoscalerNames ? createCompatibleMetrics(metrics) : undefined,
  });
  for (const { observe } of observers) loop.onLoop(observe);
  const health = new Health(config.health);
  loop.onLoop((report) => {
    if (report.outcome === 'completed') health.loopCompleted(clock.monotonic());
    else if (report.outcome === 'failed') health.loopFailed(clock.monotonic());
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

function journalOf({ dumpDirectory: directory }: Config, names: ResourceNames, log: Log): DecisionJournal {
  return directory === undefined ? noJournal : fileJournal({ directory, names, log });
}
