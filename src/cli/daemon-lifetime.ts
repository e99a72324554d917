/**
 * Starts and stops the parts of a daemon in order.
 * Must not know how the parts are built, nor what they decide.
 */
import type { AzureNodeGroups } from '../azure/azure.ts';
import type { Config } from '../config/types/config.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../domain/loop-report.ts';
import type { Kubernetes } from '../kubernetes/kubernetes.ts';
import { asAutoscalerError, AutoscalerError } from '../lib/errors.ts';
import { PRIORITY_RULES_NAME } from '../observers/events/priority-rule-events.ts';
import { STATUS_NAME } from '../planning/explain/scale-up-events.ts';
import type { ReloadOutcome } from './config-reload.ts';
import type { Daemon, StartOptions } from './daemon.ts';
import { followPauses } from './connect/config-map-stores.ts';
import { readHistory } from './journal/history-entries.ts';
import { stopInTime } from './stop-in-time.ts';
import type { DaemonDeps } from './daemon-deps.ts';
import { ServedDaemon } from './served-daemon.ts';

export class DaemonLifetime implements Daemon {
  readonly #deps: DaemonDeps;
  /** The signal of every call. Aborted when leadership is lost, or when a stop takes too long. */
  readonly #work = new AbortController();
  /** The signal of what a stop still does. Aborted when leadership is lost, or when the stop takes too long. */
  readonly #stopWork = new AbortController();
  readonly #ended = Promise.withResolvers<AutoscalerError | undefined>();
  readonly #served: ServedDaemon;
  #stopping: Promise<void> | undefined;
  #shutdownTimeoutMs: number;
  #lost = false;

  constructor(deps: DaemonDeps) {
    this.#deps = deps;
    this.#served = new ServedDaemon(deps, this.#work.signal);
    this.#shutdownTimeoutMs = deps.config.loop.shutdownTimeoutMs;
  }

  get cloud(): AzureNodeGroups {
    return this.#deps.cloud;
  }

  get kubernetes(): Kubernetes {
    return this.#deps.kubernetes;
  }

  get url(): string | undefined {
    return this.#served.url;
  }

  get probeUrl(): string | undefined {
    return this.#served.probeUrl;
  }

  get ended(): Promise<AutoscalerError | undefined> {
    return this.#ended.promise;
  }

  async start(options: StartOptions = {}): Promise<void> {
    const { config, kubernetes, cloud, loop, templates, memory, stalls } = this.#deps;
    const { signal } = this.#work;
    stalls.start();
    await this.#served.start();
    // A standby keeps its watches warm, so it can decide as soon as it leads. It reads nothing from Azure before.
    const watching = kubernetes.reader.start(signal);
    watching.catch(() => undefined);
    await kubernetes.lease.acquire(signal);
    this.#lead();
    const lockFollowed = config.kubernetes.heedResourceLocker ? kubernetes.watchForeignLock(signal) : undefined;
    const restored = [templates.restore(signal), memory.restore(signal), this.#restoreHistory(), this.#deps.shadow?.restore()];
    await Promise.all([watching, lockFollowed, this.#followPriorityRules(), this.#followPauses(), ...restored, cloud.start(signal)]);
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
    this.#served.leading();
    health.leading(clock.monotonic());
    status?.begin(signal);
    loop.onLoop((report) => status?.loopEnded(report, signal));
    loop.onLoop((report) => annotations?.loopEnded(report, signal));
    loop.onLoop(() => templates.loopEnded(signal));
    loop.onLoop((report) => memory.loopEnded(report, signal));
    loop.onLoop((report) => this.#served.loopEnded(report));
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

  /** Reads the pauses before the first loop: until then it is unknown what must not be changed. */
  #followPauses(): Promise<void> {
    const { kubernetes, config, pauses } = this.#deps;
    return followPauses(kubernetes, { pauses, config: config.kubernetes }, this.#work.signal);
  }

  reconfigure(config: Config): void {
    this.#shutdownTimeoutMs = config.loop.shutdownTimeoutMs;
    this.#served.reconfigured();
    this.#deps.reconfigure(config);
  }

  /** Only the leader records the event: every replica reads the same files. */
  announce({ kind, message }: ReloadOutcome): void {
    if (!this.#served.leads) return;
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

  /** Also called when a stop has released the lease: nothing is written after that either. */
  #leadershipLost(): void {
    this.#deps.metrics.process.leader.set(0);
    // guard: a lease that is lost during a stop ends what the stop still does
    this.#lost = true;
    this.#served.leadershipLost();
    // A replica that no longer leads must not write, not even to undo its drains.
    this.#stopWork.abort();
    this.#work.abort();
    if (this.#stopping !== undefined) return;
    const message = 'Leadership was lost; all writes in progress were cancelled.';
    this.#ended.resolve(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, message));
  }

  async #stopOnce(): Promise<void> {
    const { clock, log, kubernetes, cloud, loop, stalls, status, templates, memory, metrics } = this.#deps;
    const { signal: overdue } = this.#stopWork;
    const cancel = (): void => {
      this.#stopWork.abort();
      this.#work.abort();
    };
    await stopInTime({ clock, log, timeoutMs: this.#shutdownTimeoutMs, cancel }, [
      ['loop', () => loop.stop(overdue)],
      ['writes of the status', async () => this.#settled()],
      ['writes of learned templates', () => templates.settled()],
      ['writes of the history', async () => this.#deps.historyFiles?.settled()],
      ['record of the dry run', async () => this.#deps.shadow?.close()],
      // Before the lease is released: the next leader reads the memory, and writes its own status.
      ['memory', async () => (this.#lost ? undefined : memory.end(overdue))],
      ['status', async () => (this.#lost ? undefined : status?.end(overdue))],
      // Other work is cancelled by then: with the lease, the next leader need not wait until it expires.
      // guard: the lease is released although the stop takes all of its time
      ['lease', (signal) => kubernetes.lease.release(this.#lost ? AbortSignal.abort() : signal), 'last'],
      ['azure', () => cloud.close()],
      ['kubernetes', () => kubernetes.close()],
      ['http', () => this.#served.close()],
    ]);
    stalls.stop();
    metrics.process.leader.set(0);
    this.#ended.resolve(undefined);
  }

  /** Called when no loop runs any more, so no new write of the status begins. */
  async #settled(): Promise<void> {
    this.#work.abort();
    await Promise.all([this.#deps.status?.settled(), this.#deps.annotations?.settled()]);
  }
}
