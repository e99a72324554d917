/**
 * Starts and stops the parts of a daemon in order, and serves what they report over HTTP.
 * Must not know how the parts are built, nor what they decide.
 */
import { describeDuty, type Duty } from './serving/duty.ts';
import { VERSION } from '../lib/version.ts';
import type { AzureNodeGroups } from '../azure/azure.ts';
import type { Config } from '../config/types/config.ts';
import { nodeGroupId } from '../domain/ids.ts';
import type { HistoryEntry, HistoryReader } from '../domain/history.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../domain/loop-report.ts';
import type { EventRecorder } from '../domain/ports/records.ts';
import type { LastDecision } from './last-decision.ts';
import type { Kubernetes } from '../kubernetes/kubernetes.ts';
import type { Clock } from '../lib/clock.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import type { Autoscaler } from '../loop/autoscaler.ts';
import type { WithheldWrites } from '../loop/dry-run/withheld-writes.ts';
import type { MemoryStore } from '../loop/memory/memory-store.ts';
import type { TemplateStore } from '../loop/memory/template-store.ts';
import { PRIORITY_RULES_NAME } from '../observers/events/priority-rule-events.ts';
import type { NodeAnnotations } from '../observers/events/node-annotations.ts';
import type { StatusPublisher } from '../observers/status/status-publisher.ts';
import { STATUS_NAME } from '../planning/explain/scale-up-events.ts';
import { Api } from '../api/served/api.ts';
import type { ObservedReport } from '../api/documents/document-input.ts';
import type { Policy } from '../domain/policy.ts';
import type { RememberedAdvice } from '../planning/explain/advice/remembered-advice.ts';
import type { Health } from '../telemetry/health.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ConfigMapPriorityRules } from './connect/config-map-stores.ts';
import type { ReloadOutcome } from './config-reload.ts';
import type { Daemon, StartOptions } from './daemon.ts';
import { sharingOf, type ConnectedStore } from './connect/shared-texts.ts';
import { agentReport, snapshotOf, templatesOf } from './debug-documents.ts';
import { debugAccess } from './serving/debug-access.ts';
import { serveHttp, type HttpDeps, type HttpEndpoint, type RefreshResult } from './serving/http.ts';
import { readHistory } from './journal/history-entries.ts';
import type { HistoryFiles } from './journal/history-files.ts';
import type { ShadowRecord } from './journal/shadow-record.ts';
import { RefreshRequests } from './refresh-requests.ts';
import { apiInput } from './serving/api-input.ts';
import { pageReader } from './serving/page-file.ts';
import type { Stalls } from './process/stalls.ts';
import { stopInTime } from './stop-in-time.ts';

export interface DaemonDeps {
  readonly config: Config;
  readonly events: EventRecorder;
  /** Applies the settings that may change at run time. */
  readonly reconfigure: (config: Config) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cloud: AzureNodeGroups;
  readonly store: ConnectedStore;
  readonly kubernetes: Kubernetes;
  readonly loop: Autoscaler;
  readonly health: Health;
  /** undefined: no status ConfigMap is written. */
  readonly status: StatusPublisher | undefined;
  /** undefined: nodes get no annotation. */
  readonly annotations: NodeAnnotations | undefined;
  /** undefined: the priority expander is not configured. */
  readonly rules: ConfigMapPriorityRules | undefined;
  /** The policy in force; a reload may change it. */
  readonly policy: () => Policy;
  readonly templates: TemplateStore;
  readonly memory: MemoryStore;
  /** undefined: not a dry run. */
  readonly withheld: WithheldWrites | undefined;
  /** The last decisions, for people who ask why. */
  readonly decisions: LastDecision;
  /** The last day, for people. */
  readonly history: HistoryReader & { restore(entries: readonly HistoryEntry[]): void };
  /** undefined: the history is not written down. */
  readonly historyFiles: HistoryFiles | undefined;
  /** undefined: not a dry run. */
  readonly shadow: ShadowRecord | undefined;
  /** What helps pending pods, as far as it was simulated. */
  readonly advice: RememberedAdvice;
  readonly stalls: Stalls;
}

export class DaemonLifetime implements Daemon {
  readonly #deps: DaemonDeps;
  /** The signal of every call. Aborted when leadership is lost, or when a stop takes too long. */
  readonly #work = new AbortController();
  readonly #ended = Promise.withResolvers<AutoscalerError | undefined>();
  readonly #refreshes: RefreshRequests;
  #http: HttpEndpoint | undefined;
  #stopping: Promise<void> | undefined;
  #shutdownTimeoutMs: number;
  #lost = false;
  #leads = false;
  /** The node groups of the last loop that observed the cluster. */
  #groups: ReadonlySet<string> = new Set();
  /** The last loop that observed the cluster. */
  #lastReport: ObservedReport | undefined;
  readonly #api: Api;
  readonly #startedAtMs: number;
  #leadsSinceMs = 0;
  #configuration: { readonly generation: number; readonly sinceMs: number };

  constructor(deps: DaemonDeps) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.now();
    this.#configuration = { generation: 1, sinceMs: this.#startedAtMs };
    this.#api = this.#composeApi();
    this.#shutdownTimeoutMs = deps.config.loop.shutdownTimeoutMs;
    this.#refreshes = new RefreshRequests({ clock: deps.clock, signal: this.#work.signal, start: (groups) => this.#startRefresh(groups) });
  }

  get cloud(): AzureNodeGroups {
    return this.#deps.cloud;
  }

  get kubernetes(): Kubernetes {
    return this.#deps.kubernetes;
  }

  get url(): string | undefined {
    return this.#http?.url;
  }

  get ended(): Promise<AutoscalerError | undefined> {
    return this.#ended.promise;
  }

  async start(options: StartOptions = {}): Promise<void> {
    const { config, log, kubernetes, cloud, loop, templates, memory, stalls } = this.#deps;
    const { signal } = this.#work;
    stalls.start();
    this.#http = await serveHttp({ ...config.http, debug: debugAccess(config.http.debugTokenFile) }, this.#httpDeps());
    log.info({ url: this.#http.url }, 'Serving metrics and health');
    // A standby keeps its watches warm, so it can decide as soon as it leads. It reads nothing from Azure before.
    const watching = kubernetes.reader.start(signal);
    watching.catch(() => undefined);
    await kubernetes.lease.acquire(signal);
    this.#lead();
    const lockFollowed = config.kubernetes.heedResourceLocker ? kubernetes.watchForeignLock(signal) : undefined;
    const restored = [templates.restore(signal), memory.restore(signal), this.#restoreHistory(), this.#deps.shadow?.restore()];
    await Promise.all([watching, lockFollowed, this.#followPriorityRules(), ...restored, cloud.start(signal)]);
    if (options.loop === false) return;
    // The loop's promise never rejects: it carries its error as a value.
    void loop.start(signal).then((error) => {
      if (error !== undefined) this.#ended.resolve(error);
    });
  }

  /** This replica holds the lease from now on. */
  #lead(): void {
    const { clock, metrics, kubernetes, loop, health, status, templates, memory, annotations } = this.#deps;
    const { signal } = this.#work;
    kubernetes.lease.lost.addEventListener('abort', () => this.#leadershipLost(), { once: true });
    metrics.process.leader.set(1);
    this.#leads = true;
    this.#leadsSinceMs = clock.now();
    health.leading(clock.monotonic());
    status?.begin(signal);
    loop.onLoop((report) => status?.loopEnded(report, signal));
    loop.onLoop((report) => annotations?.loopEnded(report, signal));
    loop.onLoop(() => templates.loopEnded(signal));
    loop.onLoop((report) => memory.loopEnded(report, signal));
    loop.onLoop((report) => {
      const { observation } = report;
      if (observation === undefined) return;
      this.#groups = new Set(observation.cloud.groups.map(({ id }) => id));
      this.#lastReport = { ...report, observation };
      this.#api.loopEnded();
    });
  }

  /** A directory that cannot be read is a warning: then the history begins with this process. */
  async #restoreHistory(): Promise<void> {
    const { config, history, log } = this.#deps;
    const { historyDirectory: directory } = config;
    if (directory === undefined) return;
    try {
      const { entries, skippedLines } = await readHistory(directory);
      history.restore(entries);
      log.info({ directory, entries: entries.length, skippedLines }, 'History of earlier processes read');
    } catch (thrown) {
      log.warn({ directory, error: asAutoscalerError(thrown).message }, 'History of earlier processes could not be read');
    }
  }

  /** Reads the priority rules before the first loop: until then the user's order of node groups is unknown. */
  async #followPriorityRules(): Promise<void> {
    const { kubernetes, config, rules } = this.#deps;
    if (rules === undefined) return;
    const name = { namespace: config.kubernetes.namespace, name: PRIORITY_RULES_NAME };
    await kubernetes.watchConfigMap(name, (content) => rules.changed(content), this.#work.signal);
  }

  reconfigure(config: Config): void {
    this.#shutdownTimeoutMs = config.loop.shutdownTimeoutMs;
    this.#configuration = { generation: this.#configuration.generation + 1, sinceMs: this.#deps.clock.now() };
    this.#deps.reconfigure(config);
  }

  /** Only the leader records the event: every replica reads the same files. */
  announce({ kind, message }: ReloadOutcome): void {
    if (!this.#leads || this.#lost) return;
    const subject = { kind: 'ConfigMap', namespace: this.#deps.config.kubernetes.namespace, name: STATUS_NAME } as const;
    const type = kind === 'applied' ? 'Normal' : 'Warning';
    this.#deps.events.record({ subject, type, reason: kind === 'applied' ? 'ConfigReloaded' : 'ConfigRefused', message });
  }

  runOnce(trigger: LoopTriggerCause = 'manual'): Promise<LoopReport> {
    return this.#deps.loop.runOnce(trigger, this.#work.signal);
  }

  onLoop(listener: LoopListener): () => void {
    return this.#deps.loop.onLoop(listener);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopOnce();
    return this.#stopping;
  }

  #leadershipLost(): void {
    this.#deps.metrics.process.leader.set(0);
    if (this.#stopping !== undefined) return;
    this.#lost = true;
    this.#api.leadershipLost(undefined);
    this.#work.abort();
    const message = 'Leadership was lost; all writes in progress were cancelled.';
    this.#ended.resolve(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message));
  }

  async #stopOnce(): Promise<void> {
    const { clock, log, kubernetes, cloud, loop, stalls, status, templates, memory, metrics } = this.#deps;
    const overdue = new AbortController();
    // A replica that no longer leads must not write, not even to undo its drains.
    if (this.#lost) overdue.abort();
    const cancel = (): void => {
      overdue.abort();
      this.#work.abort();
    };
    await stopInTime({ clock, log, timeoutMs: this.#shutdownTimeoutMs, cancel }, [
      ['loop', () => loop.stop(overdue.signal)],
      ['writes of the status', async () => this.#settled()],
      ['writes of learned templates', () => templates.settled()],
      ['writes of the history', async () => this.#deps.historyFiles?.settled()],
      ['record of the dry run', async () => this.#deps.shadow?.close()],
      // Before the lease is released: the next leader reads the memory, and writes its own status.
      ['memory', async () => (this.#lost ? undefined : memory.end(overdue.signal))],
      ['status', async () => (this.#lost ? undefined : status?.end(overdue.signal))],
      // Other work is cancelled by then: with the lease, the next leader need not wait until it expires.
      ['lease', (signal) => kubernetes.lease.release(this.#lost ? AbortSignal.abort() : signal), 'last'],
      ['azure', () => cloud.close()],
      ['kubernetes', () => kubernetes.close()],
      ['http', async () => this.#closeHttp()],
    ]);
    stalls.stop();
    metrics.process.leader.set(0);
    this.#ended.resolve(undefined);
  }

  async #closeHttp(): Promise<void> {
    this.#api.close();
    await this.#http?.close();
  }

  #composeApi(): Api {
    const { config, policy, decisions, advice, cloud, store, history, kubernetes, clock } = this.#deps;
    const input = apiInput({
      config,
      policy,
      report: () => this.#lastReport,
      decided: () => decisions.aboutPods(),
      removals: () => decisions.aboutRemovals(),
      clock,
      advice,
      agents: () => cloud.agentStatus(),
      store: () => sharingOf(store),
      history,
      replica: () => ({
        name: kubernetes.lease.leader() ?? 'this process',
        startedAtMs: this.#startedAtMs,
        leadsSinceMs: this.#leadsSinceMs,
        configuration: this.#configuration,
      }),
    });
    return new Api({ clock, input, explain: (subject) => decisions.answer(subject) });
  }

  /** Called when no loop runs any more, so no new write of the status begins. */
  async #settled(): Promise<void> {
    this.#work.abort();
    await Promise.all([this.#deps.status?.settled(), this.#deps.annotations?.settled()]);
  }

  #duty(): Duty {
    const { config, kubernetes, policy } = this.#deps;
    return describeDuty({
      leads: this.#leads && !this.#lost,
      leader: kubernetes.lease.leader(),
      namespace: config.kubernetes.namespace,
      port: config.http.port,
      dryRun: config.dryRun,
      report: this.#lastReport,
      policy: policy(),
    });
  }

  #httpDeps(): HttpDeps {
    const { metrics, health, clock, cloud, store, stalls, withheld, shadow } = this.#deps;
    metrics.process.buildInfo.set({ version: VERSION, nodejs: process.version }, 1);
    return {
      metrics: async () => {
        metrics.process.eventLoopDelay.set(stalls.takeLongestSeconds());
        metrics.process.memory.set(process.memoryUsage.rss());
        return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
      },
      health: () => health.check(clock.monotonic()),
      ready: () => health.ready,
      duty: () => this.#duty(),
      agents: () => agentReport(cloud.agentStatus()),
      clusters: () => sharingOf(store) ?? { clusters: [] },
      templates: () => templatesOf(cloud.templateReports(), this.#lastReport),
      snapshot: () => (this.#lastReport === undefined ? undefined : snapshotOf(this.#lastReport)),
      withheld: () => withheld?.list(),
      report: (spanMs) => shadow?.report(clock.now() - spanMs),
      api: this.#api,
      page: pageReader(),
      refresh: (group) => this.#refresh(group),
    };
  }

  #refresh(group: string | undefined): RefreshResult {
    const { health } = this.#deps;
    if (!health.ready) return { kind: 'not-ready', reason: 'no loop has completed yet, or this replica is not the leader' };
    if (group !== undefined && !this.#groups.has(group)) {
      return { kind: 'unknown-group', reason: `node group "${group}" not found; node groups: ${[...this.#groups].join(', ')}` };
    }
    const startsInMs = this.#refreshes.request(group);
    return startsInMs === 0 ? { kind: 'begun' } : { kind: 'deferred', startsInMs };
  }

  #startRefresh(groups: ReadonlySet<string> | undefined): void {
    const { cloud, log, loop } = this.#deps;
    log.info({ nodeGroups: groups === undefined ? undefined : [...groups] }, 'Refresh of Azure data requested');
    if (groups === undefined) cloud.invalidate();
    for (const group of groups ?? []) cloud.invalidate(nodeGroupId(group));
    loop.releaseBackoffs(groups);
  }
}
