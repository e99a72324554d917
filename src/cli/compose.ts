/**
 * The composition root: builds a daemon from its configuration and connects each port to its adapter.
 * Must not know any decision: it only wires. Tests and the lab call it with clocks of their own.
 */
import type { Config } from '../config/types/config.ts';
import { Autoscaler } from '../loop/autoscaler.ts';
import { WithheldWrites } from '../loop/dry-run/withheld-writes.ts';
import { dryRunDeps } from '../loop/dry-run/dry-run-ports.ts';
import { loopGauges } from '../observers/metrics/loop-metrics.ts';
import { changedVerdictsOnly } from '../observers/events/changed-verdicts.ts';
import { NodeAnnotations } from '../observers/events/node-annotations.ts';
import { History } from '../observers/history/history.ts';
import { createObservers } from '../observers/observers.ts';
import { StatusPublisher } from '../observers/status/status-publisher.ts';
import { MemoryStore } from '../loop/memory/memory-store.ts';
import { TemplateStore } from '../loop/memory/template-store.ts';
import { createCompatibleMetrics } from '../telemetry/cluster-autoscaler-metrics.ts';
import { Health } from '../telemetry/health.ts';
import type { LoopDeps } from '../loop/deps/loop-deps.ts';
import { keptConditions } from '../domain/repack.ts';
import type { DecisionJournal, LoopRecord } from '../domain/ports/records.ts';
import type { StoredText } from '../domain/ports/stored-text.ts';
import type { Daemon } from './daemon.ts';
import { DaemonLifetime } from './daemon-lifetime.ts';
import { RememberedAdvice } from '../planning/explain/advice/remembered-advice.ts';
import { HistoryFiles } from './journal/history-files.ts';
import { ShadowRecord } from './journal/shadow-record.ts';
import { fileJournal, noJournal } from './journal/file-journal.ts';
import { LastDecision } from './last-decision.ts';
import { learnedTemplates, loopMemory, statusEventsNamed, statusConfigMap } from './connect/config-map-stores.ts';
import { connectBoth, type ConnectInput, type Connections } from './connect/connect.ts';
import { stallsOf } from './process/stalls.ts';
import { turnsOf } from './process/turns.ts';
import { asAutoscalerError } from '../lib/errors.ts';

interface ComposeInput extends ConnectInput {
  /** Replaces the journal of the configuration, for embedders that record decisions. */
  readonly journal?: DecisionJournal;
}

/** Less than the time after which a start counts as stuck. */
const START_PATIENCE_MS = 10 * 60_000;

/**
 * Connects to the cluster and to Azure and builds all parts. Nothing runs before `start`.
 * @throws AutoscalerError of the first endpoint that does not respond; `cancelled` when the signal fires first.
 */
export async function composeDaemon(input: ComposeInput): Promise<Daemon> {
  const { config, clock, log, metrics } = input;
  const connections = await connectBoth({ startPatienceMs: START_PATIENCE_MS, ...input });
  const { kubernetes, cloud, store, rules, pauses } = connections;
  const withheld = config.dryRun ? new WithheldWrites({ clock, log, metrics }) : undefined;
  metrics.dryRun.active.set(withheld === undefined ? 0 : 1);
  metrics.deferred.reportFailures((gauges, thrown) =>
    log.warn({ gauges, error: asAutoscalerError(thrown).message }, 'Gauges could not be published'),
  );
  const live: LiveConfig = { config };
  const dumps = new WeakMap<object, string>();
  const historyFiles = composeHistoryFiles(input);
  const history = new History({
    startedAtMs: clock.now(),
    policy: () => live.config.policy,
    dumpOf: (plan) => dumps.get(plan),
    write: historyFiles && ((entries) => historyFiles.append(entries)),
  });
  const decisions = new LastDecision({
    journal: composeJournal(input, connections, dumps),
    names: connections.names,
    history,
    remainingWrites: (group) => cloud.remainingWrites(group),
    nodeWriters: (name) => kubernetes.nodeWriters(name, new AbortController().signal),
    currency: config.azure.retailPrices?.currency,
    turns: turnsOf(clock),
  });
  const advice = new RememberedAdvice(clock);
  const deps = composeLoopDeps(input, connections, { withheld, decisions, advice });
  const loop = new Autoscaler(deps, { ...config.loop, namespace: config.kubernetes.namespace });
  const shadow = withheld === undefined ? undefined : composeShadow(input, connections, loop);
  loop.onLoop(({ state }) => cloud.noteStartTimes(state.readyTimes));
  attachObservers(input, { loop, deps, connections, live, history });
  const health = attachHealth(input, loop);
  const status = composeStatus(input, connections, advice);
  return new DaemonLifetime({
    config,
    events: deps.events,
    reconfigure: composeReload(input, { loop, connections, live, status, health }),
    clock,
    log,
    metrics,
    cloud,
    store,
    kubernetes,
    loop,
    health,
    status,
    annotations: config.kubernetes.annotateNodes ? new NodeAnnotations({ annotator: kubernetes.annotator, clock, log }) : undefined,
    rules,
    pauses,
    policy: () => live.config.policy,
    templates: composeTemplates(input, connections),
    memory: composeMemory(input, connections, { loop, live }),
    withheld,
    decisions,
    advice,
    history,
    historyFiles,
    shadow,
    stalls: stallsOf(),
  });
}

/** What the loop writes down for people. */
interface Records {
  readonly withheld: WithheldWrites | undefined;
  readonly decisions: LastDecision;
  readonly advice: RememberedAdvice;
}

/** The ports of the loop. In a dry run, ports that record writes instead of making them. */
function composeLoopDeps(
  { config, clock, log, metrics }: ComposeInput,
  { names, kubernetes, cloud, rules }: Connections,
  { withheld, decisions, advice }: Records,
): LoopDeps {
  const deps: LoopDeps = {
    clock,
    log,
    metrics,
    gauges: loopGauges(metrics),
    names,
    policy: config.policy,
    cloud,
    cluster: kubernetes.reader,
    tainter: kubernetes.tainter,
    deletionOwner: () => kubernetes.lease.owner(),
    evictor: kubernetes.evictor,
    owners: kubernetes.owners,
    events: statusEventsNamed(changedVerdictsOnly(kubernetes.events, clock), config.kubernetes.statusConfigMapName),
    nominator: kubernetes.nominator,
    capacityObjects: kubernetes.capacityObjects,
    journal: decisions,
    advice,
    turns: turnsOf(clock),
    priorities: rules,
    prices: cloud.prices,
  };
  return withheld === undefined ? deps : dryRunDeps(deps, withheld);
}

/** undefined: the configuration names no directory. */
function composeHistoryFiles({ config: { historyDirectory: directory }, clock, log }: ComposeInput): HistoryFiles | undefined {
  return directory === undefined ? undefined : new HistoryFiles({ directory, clock, log });
}

/** What a dry run would have done is compared with what others did. */
function composeShadow(
  { config: { historyDirectory: directory, azure }, clock, log }: ComposeInput,
  { kubernetes }: Connections,
  loop: Autoscaler,
): ShadowRecord {
  const shadow = new ShadowRecord({
    clock,
    log,
    directory,
    currency: azure.retailPrices?.currency,
    statements: (...asked) => kubernetes.foreignEvents(...asked),
  });
  loop.onLoop((report) => shadow.observe(report));
  return shadow;
}

/** `dumps`: receives the file of each plan. */
function composeJournal(
  { config: { dumpDirectory: directory }, log, journal }: ComposeInput,
  { names }: Connections,
  dumps: WeakMap<object, string>,
): DecisionJournal {
  if (journal !== undefined || directory === undefined) return journal ?? noJournal;
  const written = ({ scaleUp, scaleDown }: LoopRecord, file: string): void => {
    for (const plan of [...scaleUp, ...(scaleDown === undefined ? [] : [scaleDown])]) dumps.set(plan, file);
  };
  return fileJournal({ directory, names, log, written });
}

/** The configuration that runs now. A reload replaces it. */
interface LiveConfig {
  config: Config;
}

interface ObservedInput {
  readonly loop: Autoscaler;
  readonly deps: LoopDeps;
  readonly connections: Connections;
  readonly live: LiveConfig;
  readonly history: History;
}

/** Metrics, events, logs and the history that are made from loop reports. */
function attachObservers({ config, clock, log, metrics }: ComposeInput, { loop, deps, connections, live, history }: ObservedInput): void {
  const observers = createObservers({
    log,
    metrics: deps.metrics,
    events: deps.events,
    namespace: config.kubernetes.namespace,
    names: connections.names,
    history,
    policy: () => live.config.policy,
    startedAtMs: clock.now(),
    priorities: connections.rules,
    pauses: connections.pauses,
    compatible: config.metrics.clusterAutoscalerNames ? createCompatibleMetrics(metrics) : undefined,
  });
  for (const { observe } of observers) loop.onLoop(observe);
}

function attachHealth({ config, clock }: ComposeInput, loop: Autoscaler): Health {
  const health = new Health(config.health);
  loop.onLoop((report) => {
    if (report.outcome === 'completed') health.loopCompleted(clock.monotonic());
    else if (report.outcome === 'failed') health.loopFailed(clock.monotonic());
  });
  return health;
}

/** undefined: the configuration asks for no status ConfigMap. */
function composeStatus(
  { config, clock, log }: ComposeInput,
  { kubernetes }: Connections,
  advice: RememberedAdvice,
): StatusPublisher | undefined {
  const { namespace, statusConfigMap: isWritten, statusConfigMapName: name } = config.kubernetes;
  if (!isWritten) return undefined;
  return new StatusPublisher({
    writer: statusConfigMap(kubernetes, { namespace, name }),
    policy: config.policy,
    clock,
    log,
    fixOf: (verdict) => advice.found(verdict)?.fix?.text,
  });
}

function composeTemplates({ config, clock, log }: ComposeInput, { kubernetes, cloud }: Connections): TemplateStore {
  const { configMap, key } = learnedTemplates(config.kubernetes);
  return new TemplateStore({ learner: cloud, kept: storedUnlessDry(kubernetes.storedText(configMap, key), config), clock, log });
}

function composeMemory(
  { config, clock, log }: ComposeInput,
  { kubernetes }: Connections,
  { loop, live }: { readonly loop: Autoscaler; readonly live: LiveConfig },
): MemoryStore {
  const { configMap, key } = loopMemory(config.kubernetes);
  const kept = storedUnlessDry(kubernetes.storedText(configMap, key), config);
  return new MemoryStore({ kept, clock, log, recall: (memory) => loop.recall(memory), policy: () => live.config.policy.scaleDown });
}

/** A dry run reads what is stored and stores nothing. */
function storedUnlessDry(text: StoredText, { dryRun }: Config): StoredText {
  return dryRun ? { read: (signal) => text.read(signal), write: () => Promise.resolve() } : text;
}

interface ReloadDeps {
  readonly loop: Autoscaler;
  readonly connections: Connections;
  readonly live: LiveConfig;
  readonly status: StatusPublisher | undefined;
  readonly health: Health;
}

/** Applies a changed configuration to the parts that accept one at run time. */
function composeReload(
  { config, log }: ComposeInput,
  { loop, connections: { cloud, conditions }, live, status, health }: ReloadDeps,
): (next: Config) => void {
  return (next) => {
    const before = live.config;
    if (next.logLevel !== before.logLevel) log.level = next.logLevel;
    if (next.azure.agents !== before.azure.agents) cloud.selectAgents(next.azure.agents);
    live.config = next;
    conditions.clear();
    for (const condition of keptConditions(next.azure.nodeGroupOptions)) conditions.add(condition);
    cloud.regroup(next.azure);
    loop.reconfigure(next.policy, { ...next.loop, namespace: config.kubernetes.namespace });
    status?.reconfigure(next.policy);
    health.reconfigure(next.health);
  };
}
