/**
 * What a running daemon serves over HTTP: health, metrics, the page with its documents, and refreshes by hand. Must not know how the daemon is
 * started or stopped.
 */
import { describeDuty, type Duty } from './serving/duty.ts';
import { asAutoscalerError } from '../lib/errors.ts';
import { VERSION } from '../lib/version.ts';
import { nodeGroupId } from '../domain/ids.ts';
import type { LoopReport } from '../domain/loop-report.ts';
import { Api } from '../api/served/api.ts';
import type { ObservedReport } from '../api/documents/document-input.ts';
import { sharingOf } from './connect/shared-texts.ts';
import { agentReport, snapshotOf, templatesOf } from './debug-documents.ts';
import { debugAccess } from './serving/debug-access.ts';
import { serveHttp, type HttpDeps, type RefreshResult } from './serving/http.ts';
import type { HttpEndpoint } from './serving/listener.ts';
import { serveProbes } from './serving/probes.ts';
import { RefreshRequests } from './refresh-requests.ts';
import { ApiInput } from './serving/api-input.ts';
import { turnsOf } from './process/turns.ts';
import { pageReader } from './serving/page-file.ts';
import type { DaemonDeps } from './daemon-deps.ts';

export class ServedDaemon {
  readonly #deps: DaemonDeps;
  readonly #refreshes: RefreshRequests;
  readonly #input: ApiInput;
  readonly #api: Api;
  readonly #startedAtMs: number;
  #http: HttpEndpoint | undefined;
  #probes: HttpEndpoint | undefined;
  #leads = false;
  #leadsSinceMs = 0;
  /** The node groups of the last loop that observed the cluster. */
  #groups: ReadonlySet<string> = new Set();
  /** The last loop that observed the cluster. */
  #lastReport: ObservedReport | undefined;
  #configuration: { readonly generation: number; readonly sinceMs: number };

  /** `signal` ends refreshes that have not begun. */
  constructor(deps: DaemonDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.now();
    this.#configuration = { generation: 1, sinceMs: this.#startedAtMs };
    this.#input = this.#composeInput();
    this.#api = this.#composeApi();
    this.#refreshes = new RefreshRequests({ clock: deps.clock, signal, start: (groups) => this.#startRefresh(groups) });
  }

  /** undefined before `start`. */
  get url(): string | undefined {
    return this.#http?.url;
  }

  /** undefined before `start`, and without a listener for the probes alone. */
  get probeUrl(): string | undefined {
    return this.#probes?.url;
  }

  /** Whether this replica holds the lease. */
  get leads(): boolean {
    return this.#leads;
  }

  async start(): Promise<void> {
    const { config, log } = this.#deps;
    const deps = this.#httpDeps();
    // guard: the probes have a listener of their own
    if (config.http.probes !== undefined) this.#probes = await serveProbes(config.http.probes, deps);
    this.#http = await serveHttp({ ...config.http, debug: debugAccess(config.http.debugTokenFile) }, deps);
    log.info({ url: this.#http.url, probeUrl: this.#probes?.url }, 'Serving metrics and health');
  }

  /** This replica holds the lease from now on. */
  leading(): void {
    this.#leads = true;
    this.#leadsSinceMs = this.#deps.clock.now();
  }

  leadershipLost(): void {
    this.#leads = false;
    this.#api.leadershipLost(undefined);
  }

  reconfigured(): void {
    this.#configuration = { generation: this.#configuration.generation + 1, sinceMs: this.#deps.clock.now() };
  }

  loopEnded(report: LoopReport): void {
    const { observation } = report;
    if (observation === undefined) return;
    this.#groups = new Set(observation.cloud.groups.map(({ id }) => id));
    this.#lastReport = { ...report, observation };
    this.#api.loopEnded();
    this.#recordSavings();
  }

  /** A dry run also says what repacking would save, by the search of the page. A failed search leaves the record without it. */
  #recordSavings(): void {
    const { shadow, log } = this.#deps;
    if (shadow?.wantsSavings !== true) return;
    this.#input.prepare().then(
      () => {
        const estimate = this.#input.current()?.repackEstimate;
        if (estimate !== undefined && shadow.wantsSavings) shadow.noteSavings(estimate);
      },
      (thrown: unknown) => log.warn({ error: asAutoscalerError(thrown).message }, 'What repacking would save could not be recorded'),
    );
  }

  async close(): Promise<void> {
    this.#api.close();
    await this.#http?.close();
    await this.#probes?.close();
  }

  #composeInput(): ApiInput {
    const { config, policy, decisions, advice, cloud, store, history, kubernetes, clock } = this.#deps;
    return new ApiInput({
      config,
      policy,
      report: () => this.#lastReport,
      decided: () => decisions.aboutPods(),
      removals: () => decisions.aboutRemovals(),
      clock,
      turns: turnsOf(clock),
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
  }

  #composeApi(): Api {
    const { clock, decisions } = this.#deps;
    const input = this.#input;
    return new Api({
      clock,
      input: () => input.current(),
      prepare: () => input.prepare(),
      explain: (subject) => decisions.answer(subject),
    });
  }

  #duty(): Duty {
    const { config, kubernetes, policy } = this.#deps;
    return describeDuty({
      leads: this.#leads,
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
