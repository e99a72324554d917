/** What the composition root returns: one daemon, ready to be started, embeddable in tests on a clock of their own. */
import { readFileSync } from 'node:fs';
import type { monitorEventLoopDelay } from 'node:perf_hooks';
import type { AzureNodeGroups } from '../azure/azure.ts';
import type { Config } from '../config/types/config.ts';
import { nodeGroupId } from '../domain/ids.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../domain/loop-report.ts';
import type { EventRecorder } from '../domain/ports/records.ts';
import type { Kubernetes } from '../kubernetes/kubernetes.ts';
import type { Clock } from '../lib/clock.ts';
import { AutoscalerError, asAutoscalerError } from '../lib/errors.ts';
import type { Autoscaler } from '../loop/autoscaler.ts';
import type { WithheldWrites } from '../loop/dry-run/withheld-writes.ts';
import type { TemplateKeeper } from '../loop/memory/template-store.ts';
import { PRIORITY_RULES_NAME } from '../observers/events/priority-rule-events.ts';
import type { StatusPublisher } from '../observers/status/status-publisher.ts';
import { STATUS_NAME } from '../planning/explain/scale-up-events.ts';
import type { Health } from '../telemetry/health.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ConfigMapPriorityRules } from './connect/config-map-stores.ts';
import type { ConfigNews } from './config-reload.ts';
import { agentReport, snapshotOf } from './debug-documents.ts';
import { type DebugAccess, serveHttp, type HttpEndpoint, type RefreshAnswer } from './http.ts';

export interface DaemonStart {
  /** false: nothing runs by itself; the caller says `runOnce`. Default true. */
  readonly loop?: boolean;
}

export interface Daemon {
  readonly cloud: AzureNodeGroups;
  readonly kubernetes: Kubernetes;
  /** Where /metrics and /healthz answer; undefined before `start`. */
  readonly url: string | undefined;
  /**
   * Serves HTTP, waits for leadership, fills the caches, then (unless told otherwise) begins to loop. Resolves when a
   * first loop may run. @throws AutoscalerError that prevents it.
   */
  start(options?: DaemonStart): Promise<void>;
  /** One loop now; waits for one that is under way. Never two at once. */
  runOnce(trigger?: LoopTriggerCause): Promise<LoopReport>;
  /** Ends cleanly: no new work, drains undone, lease given up, connections closed. May be called twice. */
  stop(): Promise<void>;
  /** Resolves when the daemon stopped by itself (with why) or was stopped (undefined). */
  readonly ended: Promise<AutoscalerError | undefined>;
  /** From the next loop on: what may change at run time is taken from this configuration, and nothing else. */
  reconfigure(config: Config): void;
  /** Tells the cluster what became of a changed configuration. */
  announce(news: ConfigNews): void;
  /** Called after each loop. Returns the way to stop. */
  onLoop(listener: LoopListener): () => void;
}

// The order in which a daemon comes up and goes down. Knows the parts only by what they can do.

export interface DaemonParts {
  readonly config: Config;
  readonly events: EventRecorder;
  /** Puts what may change at run time to work. */
  readonly reconfigure: (config: Config) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cloud: AzureNodeGroups;
  readonly kubernetes: Kubernetes;
  readonly loop: Autoscaler;
  readonly health: Health;
  /** undefined: no status is written. */
  readonly status: StatusPublisher | undefined;
  /** undefined: nobody asks for them. */
  readonly rules: ConfigMapPriorityRules | undefined;
  readonly templates: TemplateKeeper;
  /** undefined: what is decided is done. */
  readonly withheld: WithheldWrites | undefined;
  readonly stalls: ReturnType<typeof monitorEventLoopDelay>;
}

const NANOSECONDS = 1e9;

function debugAccess(file: string | undefined): DebugAccess {
  return { token: file === undefined ? undefined : () => readFileSync(file, 'utf8') };
}

export class DaemonLifetime implements Daemon {
  readonly #parts: DaemonParts;
  /** Bound to every call: aborted when leadership is lost, or when a stop has taken too long. */
  readonly #work = new AbortController();
  readonly #ended = Promise.withResolvers<AutoscalerError | undefined>();
  #http: HttpEndpoint | undefined;
  #stopping: Promise<void> | undefined;
  #shutdownTimeoutMs: number;
  #lost = false;
  #leads = false;
  /** Of the last loop that observed. */
  #groups: ReadonlySet<string> = new Set();
  #lastReport: LoopReport | undefined;

  constructor(parts: DaemonParts) {
    this.#parts = parts;
    this.#shutdownTimeoutMs = parts.config.loop.shutdownTimeoutMs;
  }

  get cloud(): AzureNodeGroups {
    return this.#parts.cloud;
  }

  get kubernetes(): Kubernetes {
    return this.#parts.kubernetes;
  }

  get url(): string | undefined {
    return this.#http?.url;
  }

  get ended(): Promise<AutoscalerError | undefined> {
    return this.#ended.promise;
  }

  async start(options: DaemonStart = {}): Promise<void> {
    const { config, clock, log, metrics, kubernetes, cloud, loop, health, status, templates, stalls } = this.#parts;
    stalls.enable();
    this.#http = await serveHttp({ ...config.http, debug: debugAccess(config.http.debugTokenFile) }, this.#answers());
    log.info({ url: this.#http.url }, 'serving metrics and health');
    // A standby's watches are warm, so that it can decide as soon as it leads; Azure is not asked anything before.
    const watching = kubernetes.reader.start(this.#work.signal);
    watching.catch(() => undefined);
    await kubernetes.lease.acquire(this.#work.signal);
    kubernetes.lease.lost.addEventListener('abort', () => this.#leadershipLost(), { once: true });
    metrics.process.leader.set(1);
    this.#leads = true;
    health.leading(clock.monotonic());
    status?.begin(this.#work.signal);
    loop.onLoop((report) => status?.loopEnded(report, this.#work.signal));
    loop.onLoop(() => templates.loopEnded(this.#work.signal));
    loop.onLoop(({ observation }) => {
      if (observation !== undefined) this.#groups = new Set(observation.cloud.groups.map(({ id }) => id));
    });
    loop.onLoop((report) => {
      if (report.observation !== undefined) this.#lastReport = report;
    });
    const heeding = config.kubernetes.heedResourceLocker ? kubernetes.heedForeignLock(this.#work.signal) : undefined;
    await Promise.all([watching, heeding, this.#followRules(), templates.restore(this.#work.signal), cloud.start(this.#work.signal)]);
    if (options.loop === false) return;
    // The rejection cannot happen: the loop's promise carries its error as a value.
    void loop.start(this.#work.signal).then((error) => {
      if (error !== undefined) this.#ended.resolve(error);
    });
  }

  /** No loop chooses before it is known whether the user has an order of groups. */
  async #followRules(): Promise<void> {
    const { kubernetes, config, rules } = this.#parts;
    if (rules === undefined) return;
    const name = { namespace: config.kubernetes.namespace, name: PRIORITY_RULES_NAME };
    await kubernetes.watchConfigMap(name, (content) => rules.changed(content), this.#work.signal);
  }

  reconfigure(config: Config): void {
    this.#shutdownTimeoutMs = config.loop.shutdownTimeoutMs;
    this.#parts.reconfigure(config);
  }

  /** Every replica reads the same files; the one that leads tells the cluster. */
  announce({ kind, message }: ConfigNews): void {
    if (!this.#leads || this.#lost) return;
    const subject = { kind: 'ConfigMap', namespace: this.#parts.config.kubernetes.namespace, name: STATUS_NAME } as const;
    const type = kind === 'applied' ? 'Normal' : 'Warning';
    this.#parts.events.record({ subject, type, reason: kind === 'applied' ? 'ConfigReloaded' : 'ConfigRefused', message });
  }

  runOnce(trigger: LoopTriggerCause = 'manual'): Promise<LoopReport> {
    return this.#parts.loop.runOnce(trigger, this.#work.signal);
  }

  onLoop(listener: LoopListener): () => void {
    return this.#parts.loop.onLoop(listener);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopOnce();
    return this.#stopping;
  }

  #leadershipLost(): void {
    this.#parts.metrics.process.leader.set(0);
    if (this.#stopping !== undefined) return;
    this.#lost = true;
    this.#work.abort();
    this.#ended.resolve(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Leadership was lost; every write was given up.'));
  }

  async #stopOnce(): Promise<void> {
    const { clock, kubernetes, cloud, loop, stalls } = this.#parts;
    const inTime = new AbortController();
    const overdue = new AbortController();
    // Who no longer leads must not write any more, not even to tidy up.
    if (this.#lost) overdue.abort();
    const watchdog = clock.sleep(this.#shutdownTimeoutMs, inTime.signal).then(
      () => {
        overdue.abort();
        this.#work.abort();
      },
      // Cancelled: the stop was in time.
      () => undefined,
    );
    await loop.stop(overdue.signal);
    this.#work.abort();
    await this.#parts.status?.settled();
    await this.#parts.templates.settled();
    // Before the lease is given up: the next leader writes its own.
    if (!this.#lost) await this.#quietly('status', async () => this.#parts.status?.end(overdue.signal));
    await this.#quietly('lease', () => kubernetes.lease.release(overdue.signal));
    await this.#quietly('azure', () => cloud.close());
    await this.#quietly('kubernetes', () => kubernetes.close());
    await this.#quietly('http', async () => this.#http?.close());
    stalls.disable();
    inTime.abort();
    await watchdog;
    this.#parts.metrics.process.leader.set(0);
    this.#ended.resolve(undefined);
  }

  /** One part that does not close must not keep the others open. */
  async #quietly(what: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      this.#parts.log.warn({ what, error: asAutoscalerError(thrown).message }, 'a part did not stop cleanly');
    }
  }

  #answers() {
    const { metrics, health, clock, cloud, stalls, withheld } = this.#parts;
    return {
      metrics: async () => {
        metrics.process.eventLoopDelay.set(stalls.max / NANOSECONDS);
        stalls.reset();
        metrics.process.memory.set(process.memoryUsage.rss());
        return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
      },
      health: () => health.check(clock.monotonic()),
      ready: () => health.ready,
      agents: () => agentReport(cloud.agentStatus()),
      templates: () => cloud.templateReports(),
      snapshot: () => (this.#lastReport === undefined ? undefined : snapshotOf(this.#lastReport)),
      withheld: () => withheld?.list(),
      refresh: (group: string | undefined) => this.#refresh(group),
    };
  }

  #refresh(group: string | undefined): RefreshAnswer {
    const { cloud, health, log } = this.#parts;
    if (!health.ready) return { kind: 'not-ready', reason: 'no loop has completed yet; a replica that does not lead reads nothing' };
    if (group !== undefined && !this.#groups.has(group)) {
      return { kind: 'unknown-group', reason: `there is no node group "${group}"; there are: ${[...this.#groups].join(', ')}` };
    }
    log.info({ nodeGroup: group }, 'an operator has Azure read anew');
    cloud.invalidate(group === undefined ? undefined : nodeGroupId(group));
    return { kind: 'begun' };
  }
}
